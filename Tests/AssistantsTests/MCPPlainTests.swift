import HoldfastAssistants
import HoldfastCore
import HoldfastRelayServer
import HoldfastServerFixtures
import Testing

@Suite struct MCPPlainTests {
  private func login(_ stage: inout MCPStage, conversation: String?) -> RequestID {
    stage.request(.post, .directLogin) {
      $0.fields.conversation = conversation
      $0.query = [MCPCall.Pair("word", "river"), MCPCall.Pair("code", "123456")]
    }
  }

  private func metrics(_ stage: inout MCPStage, conversation: String?) -> RequestID {
    stage.request(.get, .healthMetrics) {
      $0.fields.conversation = conversation
      $0.query = [
        MCPCall.Pair("value_type", "STEPS"), MCPCall.Pair("start_time", "2026-03-01"),
        MCPCall.Pair("end_time", "2026-03-02"),
      ]
    }
  }

  private func call(_ stage: inout MCPStage, _ body: String) -> RequestID {
    stage.request(.post, .toolCall) { $0.body = Array(body.utf8) }
  }

  @Test func `only a conversation that logged in is recognized again`() {
    var stage = MCPStage()
    let id = login(&stage, conversation: "one")
    #expect(stage.asks.map(\.ask) == [.login(word: "river", code: "123456")])
    stage.complete(.grant, token: MCPStage.token)
    #expect(stage[id].reply?.status == 200)
    #expect(stage[id].body.hasPrefix(#"{"success":true,"access_token":"secret""#))
    _ = metrics(&stage, conversation: "one")
    _ = metrics(&stage, conversation: "two")
    _ = metrics(&stage, conversation: nil)
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token), nil, nil])
  }

  @Test func `metrics are returned as the bare object`() {
    var stage = MCPStage()
    let id = metrics(&stage, conversation: nil)
    stage.complete(.data(#"{"success":true,"count":0,"health_data":[]}"#))
    #expect(
      stage[id]
        == MCPStage.Received(
          reply: MCPReply(200, Array(#"{"success":true,"count":0,"healthData":[]}"#.utf8))))
  }

  @Test(arguments: [
    (RelayRefusal.wrongPair, 401), (.notSignedIn, 401), (.lockedOut(retryAfter: .seconds(9)), 429),
    (.phoneAway(since: .seconds(3), .pairAgain), 503), (.timedOut(after: .seconds(45)), 504),
    (.malformed(reason: "x"), 502), (.answerTooLarge(limit: 8), 422), (.cancelled, 409),
  ])
  func `each kind of refusal has its own status`(refusal: RelayRefusal, status: Int) {
    var stage = MCPStage()
    let id = login(&stage, conversation: nil)
    stage.complete(.refused(refusal))
    #expect(stage[id].reply?.status == status)
    #expect(stage[id].body.hasPrefix(#"{"success":false,"error":""#))
  }

  @Test func `a logout forgets the conversation's token`() {
    var stage = MCPStage()
    _ = login(&stage, conversation: "one")
    stage.complete(.grant, token: MCPStage.token)
    let id = stage.request(.get, .logout) { $0.fields.conversation = "one" }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    stage.complete(.loggedOut)
    #expect(stage[id].body == #"{"success":true,"message":"Logged out."}"#)
    _ = metrics(&stage, conversation: "one")
    #expect(stage.asks.map(\.bearer) == [nil])
  }

  @Test func `the number of conversations is limited like that of sessions`() {
    var stage = MCPStage { $0.maxSessions = 1 }
    _ = login(&stage, conversation: "one")
    stage.complete(.grant, token: MCPStage.token)
    let id = login(&stage, conversation: "two")
    #expect(stage[id].reply?.status == 429)
    #expect(stage.asks == [])
  }

  @Test func `no conversation begins during a drain`() {
    var stage = MCPStage()
    stage.feed(.drain)
    let id = login(&stage, conversation: "one")
    #expect(stage[id].reply?.status == 429)
    #expect(stage.asks == [])
    let refusal = RelayRefusal.tooManyWaiting(retryAfter: .seconds(2)).name
    let line = #"tool_calls_total{tool="direct_login",outcome="\#(refusal)"} 1"#
    #expect(stage.server.metricsText.contains("holdfast_mcp_\(line)\n"))
  }

  @Test(arguments: [(256, true), (257, false)])
  func `the name of a conversation has at most 256 bytes`(bytes: Int, isKnown: Bool) {
    var stage = MCPStage()
    let name = String(repeating: "n", count: bytes)
    _ = login(&stage, conversation: name)
    stage.complete(.grant, token: MCPStage.token)
    _ = metrics(&stage, conversation: name)
    let bearer: MCPServer.Bearer? = isKnown ? .hash(MCPStage.token) : nil
    #expect(stage.asks.map(\.bearer) == [bearer])
  }

  @Test func `a known conversation can log in again at the limit`() {
    var stage = MCPStage { $0.maxSessions = 1 }
    _ = login(&stage, conversation: "one")
    stage.complete(.grant, token: MCPStage.token)
    let id = login(&stage, conversation: "one")
    #expect(stage[id] == MCPStage.Received())
    #expect(stage.asks.map(\.ask) == [.login(word: "river", code: "123456")])
  }

  @Test(arguments: [
    #"{"method":"call_tool","params":{"name":"logout","arguments":{"access_token":"t"}}}"#,
    #"{"name":"logout","arguments":{"access_token":"t"}}"#,
  ])
  func `both forms of a call have the same meaning`(body: String) {
    var stage = MCPStage()
    let id = call(&stage, body)
    #expect(stage.asks.map(\.ask) == [.logout])
    #expect(stage.asks.map(\.bearer) == [.text("t")])
    stage.complete(.loggedOut)
    #expect(
      stage[id].body
        == #"{"content":[{"type":"text","text":"{\"success\":true,\"message\":\"Logged out.\"}"}],"#
        + #""structuredContent":{"success":true,"message":"Logged out."},"isError":false}"#)
  }

  @Test func `a wrong pair is a tool result, and a missing login is an HTTP error`() {
    var stage = MCPStage()
    let wrong = call(&stage, #"{"name":"direct_login","arguments":{"word":"a","code":"1"}}"#)
    stage.complete(.refused(.wrongPair))
    #expect(stage[wrong].reply?.status == 200)
    #expect(
      stage[wrong].body.hasSuffix(#""isError":true,"success":false,"error":"invalid_credentials"}"#)
    )
    let unsigned = call(&stage, #"{"name":"get_health_metrics","arguments":\#(MCPStage.metrics)}"#)
    stage.complete(.refused(.notSignedIn))
    #expect(stage[unsigned].reply?.status == 401)
    #expect(stage[unsigned].body.hasPrefix(#"{"detail":{"error":"not_signed_in","message":""#))
  }

  @Test func `a lock-out is an HTTP error with a retry-after`() {
    var stage = MCPStage()
    let id = call(&stage, #"{"name":"direct_login","arguments":{"word":"a","code":"1"}}"#)
    stage.complete(.refused(.lockedOut(retryAfter: .seconds(9))))
    #expect(stage[id].reply?.status == 429)
    #expect(stage[id].reply?.retryAfter == .seconds(9))
    #expect(stage[id].body.hasPrefix(#"{"detail":{"error":"locked_out","message":""#))
  }

  @Test(arguments: [
    ("{", 400), (#"{"name":"nope"}"#, 404), (#"{"name":"direct_login"}"#, 400),
    (#"{"method":"initialize","params":{}}"#, 200),
  ])
  func `answers without the relay if possible`(body: String, status: Int) {
    var stage = MCPStage()
    let id = call(&stage, body)
    #expect(stage[id].reply?.status == status)
    #expect(stage.asks == [])
  }

  @Test func `lists the tools and reports the allowed methods of each route`() {
    var stage = MCPStage()
    let list = stage.request(.get, .toolList)
    #expect(stage[list].body.hasPrefix(#"{"metadata":{"description":""#))
    for (route, allow) in [
      (MCPRoute.toolList, "GET"), (.toolCall, "POST"), (.directLogin, "POST"),
      (.healthMetrics, "GET"), (.logout, "GET, POST"),
    ] {
      let id = stage.request(.delete, route)
      #expect(stage[id].reply?.status == 405)
      #expect(stage[id].reply?.allow == allow)
    }
  }

  @Test func `a client that disconnects receives nothing, and the relay call is abandoned`() {
    var stage = MCPStage()
    let id = metrics(&stage, conversation: nil)
    stage.feed(.abandoned(id))
    #expect(stage.abandoned.count == 1)
    #expect(stage[id] == MCPStage.Received())
  }
}
