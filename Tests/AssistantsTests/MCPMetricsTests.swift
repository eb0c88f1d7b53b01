import HoldfastAssistants
import HoldfastCore
import HoldfastRelayServer
import HoldfastServerFixtures
import Testing

struct MCPMetricsTests {
  private static let smallDay = [
    "holdfast_mcp_sessions 1",
    "holdfast_mcp_conversations 1",
    "holdfast_mcp_waiting 1",
    "holdfast_mcp_streams 1",
    #"holdfast_mcp_requests_total{route="direct_login"} 1"#,
    #"holdfast_mcp_requests_total{route="mcp"} 9"#,
    #"holdfast_mcp_requests_total{route="mcp_call"} 1"#,
    #"holdfast_mcp_requests_total{route="mcp_tools"} 1"#,
    #"holdfast_mcp_answers_total{status="200"} 6"#,
    #"holdfast_mcp_answers_total{status="401"} 1"#,
    #"holdfast_mcp_answers_total{status="404"} 1"#,
    #"holdfast_mcp_answers_total{status="421"} 2"#,
    #"holdfast_mcp_tool_calls_total{tool="direct_login",outcome="invalid_credentials"} 1"#,
    #"holdfast_mcp_tool_calls_total{tool="direct_login",outcome="logged_in"} 1"#,
    #"holdfast_mcp_tool_calls_total{tool="get_health_metrics",outcome="answered"} 1"#,
    #"holdfast_mcp_tool_calls_total{tool="get_health_metrics",outcome="cancelled"} 1"#,
    #"holdfast_mcp_tool_calls_total{tool="get_summary",outcome="invalid_arguments"} 1"#,
    #"holdfast_mcp_tool_calls_total{tool="unknown",outcome="unknown_tool"} 2"#,
  ]

  @Test func `reports the metrics of a small day`() {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.request(.get, session: session)
    let pair = #"{"word":"apple","code":"123456"}"#
    stage.call("direct_login", pair, session: session)
    stage.complete(.grant, token: MCPStage.token)
    stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.complete(.data("{}"))
    let left = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.feed(.abandoned(left))
    stage.call("get_health_metrics", MCPStage.metrics, id: 2, session: session)
    stage.call("get_summary", session: session)
    stage.call("made up by the client", session: session)
    stage.request(.post, .toolCall) { $0.body = Array(#"{"name":"x","arguments":{}}"#.utf8) }
    stage.request(.post, .directLogin) {
      $0.fields.conversation = "c"
      $0.query = [.init("word", "apple"), .init("code", "000000")]
    }
    stage.complete(1, .refused(.wrongPair))
    stage.request(.get, .toolList) { $0.fields.host = "evil.example" }
    stage.post("{}", session: session) { $0.fields.host = "evil.example" }
    let lines = stage.server.metricsText.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0.hasPrefix("holdfast_mcp") } == Self.smallDay)
    let explained = lines.filter { $0.hasPrefix("# HELP holdfast_mcp") }
    #expect(explained.count == 7)
  }
}
