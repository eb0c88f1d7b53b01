import HoldfastAssistants
import HoldfastCore
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for calls from web pages, for tokens that replace sessions, and for assistants' names.
@Suite struct MCPWebTests {
  private static let page = "https://app.example"

  private static func stage() -> MCPStage { MCPStage { $0.originPolicy.origins = [page] } }

  /// The sign-in page is for people: no other page may read it.
  @Test(arguments: MCPRoute.allCases.filter { $0 != .signIn })
  func `a preflight request from an allowed page is accepted`(route: MCPRoute) {
    var stage = Self.stage()
    let id = stage.request(.options, route) { $0.fields.origin = Self.page }
    var reply = MCPReply(204)
    (reply.origin, reply.isPreflight) = (Self.page, true)
    #expect(stage[id].reply == reply)
  }

  @Test func `a page of another origin is refused`() {
    var stage = Self.stage()
    let id = stage.request(.options) { $0.fields.origin = "https://evil.example" }
    #expect(stage[id].reply?.status == 403)
    #expect(stage[id].reply?.origin == nil)
  }

  @Test func `every answer to a page names its origin, and answers to programs name none`() {
    var stage = Self.stage()
    let list = stage.request(.get, .toolList) { $0.fields.origin = Self.page }
    #expect(stage[list].reply?.origin == Self.page)
    let session = stage.initialize()
    let call = stage.call("get_health_metrics", MCPStage.metrics, session: session) {
      $0.fields.origin = Self.page
    }
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage[call].reply?.origin == Self.page)
    let program = stage.request(.get, .toolList)
    #expect(stage[program].reply?.origin == nil)
    let options = stage.request(.options)
    #expect(stage[options].reply?.status == 405)
  }

  @Test func `once a client has sent a token, its session alone is not a login`() {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, session: session)
    stage.complete(.grant, token: MCPStage.token)
    stage.call("get_health_metrics", MCPStage.metrics, id: 2, session: session)
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    stage.complete(.data(#"{"success":true}"#))
    stage.call("logout", #"{"access_token":"secret"}"#, id: 3, session: session)
    stage.complete(.data(#"{"success":true}"#))
    stage.call("get_health_metrics", MCPStage.metrics, id: 4, session: session)
    // Even after another login, the session alone is not a login.
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, id: 5, session: session)
    stage.complete(1, .grant, token: MCPStage.token)
    stage.call("get_health_metrics", MCPStage.metrics, id: 6, session: session)
    #expect(stage.asks.map(\.bearer) == [nil, nil])
  }

  @Test func `once a conversation has sent a token, its id alone is not a login`() {
    var stage = MCPStage()
    stage.request(.post, .directLogin) {
      $0.fields.conversation = "one"
      $0.query = [MCPCall.Pair("word", "river"), MCPCall.Pair("code", "123456")]
    }
    stage.complete(.grant, token: MCPStage.token)
    stage.request(.get, .logout) {
      $0.fields.conversation = "one"
      $0.fields.bearer = MCPStage.hash(9)
    }
    stage.request(.get, .logout) { $0.fields.conversation = "one" }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.hash(9)), nil])
  }

  @Test func `an assistant's name comes from its handshake, else from its user agent`() {
    var stage = MCPStage()
    let begun = stage.post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#
        + #""clientInfo":{"name":"claude-ai","version":"1.4","title":"x"}}}"#)
    let session = stage[begun].reply?.session?.text
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, session: session) {
      $0.fields.userAgent = "node"
    }
    stage.request(.post, .directLogin) {
      $0.fields.userAgent = "ChatGPT-User/1.0 (+https://example)"
      $0.query = [MCPCall.Pair("word", "a"), MCPCall.Pair("code", "1")]
    }
    stage.post(
      #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"direct_login","#
        + #""arguments":{"word":"a","code":"1"},"_meta":{"#
        + #""io.modelcontextprotocol/protocolVersion":"2026-07-28","#
        + #""io.modelcontextprotocol/clientInfo":{"name":"newer"},"#
        + #""io.modelcontextprotocol/clientCapabilities":{}}}}"#
    ) {
      $0.fields.version = "2026-07-28"
      $0.fields.rpcMethod = "tools/call"
      $0.fields.rpcName = "direct_login"
    }
    let names = stage.asks.map { ask -> AssistantName? in
      if case .login(_, _, let name) = ask.ask { name } else { nil }
    }
    #expect(
      names == [
        AssistantName("claude-ai", version: "1.4"), AssistantName("ChatGPT-User", version: "1.0"),
        AssistantName("newer"),
      ])
  }

  @Test(arguments: [
    ("a\u{1B}[31mb", "a[31mb"), ("\u{202E}evil", "evil"), (" ", nil), ("", nil), ("\n", nil),
    (String(repeating: "x", count: 65), String(repeating: "x", count: 64)),
  ])
  func `a name is short and contains no control characters`(text: String, name: String?) {
    #expect(AssistantName(text)?.name == name)
  }
}
