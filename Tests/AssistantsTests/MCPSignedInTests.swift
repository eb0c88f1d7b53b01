import HoldfastCore
import Testing

@testable import HoldfastAssistants

/// Tests of `/mcp` for clients that sign in with OAuth.
struct MCPSignedInTests {
  private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
  private static let hello =
    #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#
  private static let place =
    "resource_metadata=\"https://relay.example/.well-known/oauth-protected-resource/mcp\""

  private func stage() -> MCPStage { MCPStage { $0.publicURL = OAuthStage.url } }

  @Test(arguments: [MCPCall.Method.get, .post, .delete])
  func `without a token the challenge names the metadata (RFC 9728 section 5.1)`(
    method: MCPCall.Method
  ) {
    var stage = stage()
    let reply = stage.received { $0.request(method) }.reply
    #expect(reply?.status == 401)
    #expect(reply?.challenge == "Bearer \(Self.place), scope=\"health:read\"")
    #expect(stage.received { $0.request(method) }.body.contains("not_signed_in"))
  }

  @Test func `a token that is not valid is told as such (RFC 6750 section 3.1)`() {
    var stage = stage()
    let reply = stage.received { $0.post(Self.hello) { $0.fields.permission = .invalid } }.reply
    #expect(reply?.status == 401)
    #expect(
      reply?.challenge
        == "Bearer error=\"invalid_token\", \(Self.place), scope=\"health:read\"")
  }

  @Test func `a token without the scope is refused with 403 (RFC 6750 section 3.1)`() {
    var stage = stage()
    let reply = stage.received { $0.post(Self.hello) { $0.fields.permission = .insufficient } }
      .reply
    #expect(reply?.status == 403)
    #expect(
      reply?.challenge
        == "Bearer error=\"insufficient_scope\", scope=\"health:read\", \(Self.place)")
  }

  @Test func `without a public address nothing changes`() {
    var stage = MCPStage()
    #expect(!stage.initialize().isEmpty)
    let reply = stage.received { $0.post(Self.hello) { $0.fields.permission = .invalid } }.reply
    #expect(reply?.status == 200 && reply?.challenge == nil)
    let code = stage.received { $0.request(.post, .code) }
    #expect(code.reply?.status == 404)
    #expect(code.body.contains("the login by word and code, are at /mcp"))
  }

  @Test func `the tools of a client that signed in have no login and no token`() {
    var stage = stage()
    let grant = OAuthPermission.granted(MCPStage.hash(1))
    let session = stage.post(Self.hello) { $0.fields.permission = grant }
    let name = stage[session].reply?.session?.text
    #expect(!stage[session].body.contains("direct_login"))
    let list = #"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
    let tools = stage.received { $0.post(list, session: name) { $0.fields.permission = grant } }
      .body
    #expect(tools.contains("get_health_metrics") && tools.contains("get_summary"))
    for word in ["direct_login", "logout", "access_token"] { #expect(!tools.contains(word)) }
    let login = stage.call("direct_login", session: name) { $0.fields.permission = grant }
    #expect(stage[login].body.contains("Unknown tool"))
  }

  @Test func `sessions of other clients do not end one of a grant`() {
    var stage = MCPStage { ($0.publicURL, $0.maxSessions) = (OAuthStage.url, 2) }
    func begin(_ grant: UInt8) -> String? {
      let id = stage.post(Self.hello) { $0.fields.permission = .granted(MCPStage.hash(grant)) }
      return stage[id].reply?.session?.text
    }
    func isKnown(_ session: String?, _ grant: UInt8) -> Bool {
      let id = stage.post(Self.ping, session: session) {
        $0.fields.permission = .granted(MCPStage.hash(grant))
      }
      return stage[id].reply?.status == 200
    }
    let first = begin(1)
    for _ in 0..<4 {
      stage.pass(.seconds(1))
      let id = stage.post(Self.hello) { $0.route = .code }
      #expect(stage[id].reply?.status == 200)
    }
    #expect(isKnown(first, 1))
    let second = begin(2)
    #expect(isKnown(first, 1) && isKnown(second, 2) && begin(3) == nil)
    let full = stage.post(Self.hello) { $0.route = .code }
    #expect(stage[full].reply?.status == 503)
    // A grant replaces its own sessions.
    let third = begin(1)
    #expect(!isKnown(first, 1) && isKnown(second, 2) && isKnown(third, 1))
  }

  @Test func `a call shows the grant, whatever its arguments say`() {
    var stage = stage()
    let grant = OAuthPermission.granted(MCPStage.hash(1))
    let session = stage.received { $0.post(Self.hello) { $0.fields.permission = grant } }
    let arguments = MCPStage.metrics.dropLast() + #","access_token":"other"}"#
    stage.call(
      "get_health_metrics", String(arguments), session: session.reply?.session?.text
    ) {
      $0.fields.permission = grant
      $0.fields.bearer = MCPStage.hash(9)
    }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.hash(1))])
  }

  @Test func `a session belongs to the grant that began it`() {
    var stage = stage()
    let (mine, other) = (MCPStage.hash(1), MCPStage.hash(2))
    let session = stage.received { $0.post(Self.hello) { $0.fields.permission = .granted(mine) } }
    let name = session.reply?.session?.text
    let foreign = stage.post(Self.ping, session: name) { $0.fields.permission = .granted(other) }
    #expect(stage[foreign].reply?.status == 404)
    let code = stage.post(Self.ping, session: name) { $0.route = .code }
    #expect(stage[code].reply?.status == 404)
    let stolen = stage.post(Self.ping, session: name)
    #expect(stage[stolen].reply?.status == 401)
    let own = stage.post(Self.ping, session: name) { $0.fields.permission = .granted(mine) }
    #expect(stage[own].reply?.status == 200)
  }

  @Test func `the other route has the login as a tool, as without OAuth`() {
    var stage = stage()
    let session = stage.post(Self.hello) { $0.route = .code }
    let name = stage[session].reply?.session?.text
    stage.call("direct_login", #"{"word":"a-b","code":"123456"}"#, session: name) {
      $0.route = .code
    }
    stage.complete(.grant, token: MCPStage.token)
    stage.call("get_health_metrics", MCPStage.metrics, id: 2, session: name) { $0.route = .code }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
  }
}

extension MCPStage {
  /// Sends a request and returns the response.
  fileprivate mutating func received(_ send: (inout MCPStage) -> RequestID) -> Received {
    let id = send(&self)
    return self[id]
  }
}
