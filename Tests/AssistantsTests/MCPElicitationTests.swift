import HoldfastCore
import HoldfastRelayData
import HoldfastRelayServer
import Testing

@testable import HoldfastAssistants

/// Tests of the sign-in on a page that a client opens for its user.
struct MCPElicitationTests {
  private static let place = "https://relay.example/mcp/sign-in?id="
  private static let ability = #"{"elicitation":{"url":{}}}"#

  private var stage: MCPStage { MCPStage { $0.publicURL = OAuthStage.url } }

  /// Begins a session of `/mcp/code`, and returns its id.
  private func begin(
    _ stage: inout MCPStage, _ abilities: String = ability, version: String = "2025-11-25"
  ) -> String {
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"\#(version)","#
        + #""capabilities":\#(abilities),"clientInfo":{"name":"<b>Pad</b>","version":"1"}}}"#
    ) { $0.route = .code }
    return stage[id].reply?.session?.text ?? ""
  }

  @discardableResult
  private func ask(_ stage: inout MCPStage, _ session: String) -> String {
    let id = stage.call("get_health_metrics", MCPStage.metrics, session: session) {
      $0.route = .code
    }
    return stage[id].body
  }

  /// Asks without a session. `more` contains further members of the parameters.
  @discardableResult
  private func askOnce(
    _ stage: inout MCPStage, _ more: String = "", from address: String = "198.51.100.7"
  ) -> String {
    let meta =
      #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
      + #""io.modelcontextprotocol/clientCapabilities":\#(Self.ability)}"#
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_health_metrics","#
        + #""arguments":\#(MCPStage.metrics),\#(meta)\#(more)}}"#
    ) {
      ($0.route, $0.address) = (.code, address)
      $0.fields.version = "2026-07-28"
      ($0.fields.rpcMethod, $0.fields.rpcName) = ("tools/call", "get_health_metrics")
    }
    return stage[id].body
  }

  /// Returns the id in the address of the page that an answer names.
  private func page(_ body: String) throws -> String {
    let address = try #require(body.firstRange(of: Self.place))
    return String(body[address.upperBound...].prefix { $0 != "\"" })
  }

  private func state(_ body: String) throws -> String {
    let member = try #require(body.firstRange(of: #""requestState":""#))
    return String(body[member.upperBound...].prefix { $0 != "\"" })
  }

  /// Opens the page or sends its form. Returns the page.
  private func visit(
    _ stage: inout MCPStage, _ method: MCPCall.Method, _ fields: [(String, String)],
    origin: String? = nil, site: String? = nil
  ) -> MCPStage.Received {
    let id = stage.request(method, .signIn) {
      $0.query = fields.map { MCPCall.Pair($0.0, $0.1) }
      ($0.fields.origin, $0.fields.site) = (origin, site)
    }
    return stage[id]
  }

  /// Sends the form with words and code. Returns the request, which waits for the relay.
  private func signIn(_ stage: inout MCPStage, _ id: String) -> RequestID {
    stage.request(.post, .signIn) {
      $0.query = [("id", id), ("word", "calm fox"), ("code", "123456")]
        .map { MCPCall.Pair($0.0, $0.1) }
      ($0.fields.origin, $0.fields.site) = ("null", "same-origin")
    }
  }

  @Test func `a session is signed in by its page, and the token is in no answer`() throws {
    var stage = stage
    let session = begin(&stage)
    let first = ask(&stage, session)
    #expect(first.contains(#""code":-32042"#) && first.contains(#""mode":"url""#))
    let id = try page(first)
    #expect(first.contains(#""elicitationId":"\#(id)""#))
    #expect(try page(ask(&stage, session)) == id)
    #expect(stage.asks == [])
    let form = visit(&stage, .get, [("id", id)])
    #expect(form.reply?.isPage == true && form.reply?.status == 200)
    #expect(form.body.contains("&lt;b&gt;Pad&lt;/b&gt;"))
    let sent = signIn(&stage, id)
    let name = AssistantName("<b>Pad</b>", version: "1")
    #expect(
      stage.asks.map(\.ask) == [.login(word: "calm fox", code: "123456", assistant: name)])
    stage.complete(.grant, token: MCPStage.token)
    #expect(stage[sent].reply?.status == 200)
    #expect(!stage[sent].body.contains("<form") && !stage[sent].body.contains("secret"))
    ask(&stage, session)
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    // When the login has ended, the next call asks again.
    stage.complete(.refused(.tokenExpired))
    #expect(try page(ask(&stage, session)) != id)
  }

  @Test func `a call without a session goes on with the state of its first try`() throws {
    var stage = stage
    let first = askOnce(&stage)
    #expect(first.contains(#""resultType":"input_required""#))
    #expect(first.contains(#""method":"elicitation/create""#) && !first.contains("elicitationId"))
    let (id, state) = (try page(first), try state(first))
    #expect(!state.isEmpty && state != id)
    let accepted = #","inputResponses":{"sign_in":{"action":"accept"}},"requestState":""#
    #expect(try page(askOnce(&stage, accepted + state + "\"")) == id)
    _ = signIn(&stage, id)
    stage.complete(.grant, token: MCPStage.token)
    askOnce(&stage, accepted + state + "\"")
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    // The id alone, which is in the address of the page, gives no access.
    #expect(try page(askOnce(&stage, accepted + id + "\"")) != id)
  }

  @Test(arguments: ["decline", "cancel"])
  func `a user who refuses is not asked again by the same call`(action: String) throws {
    var stage = stage
    let state = try state(askOnce(&stage))
    let refused =
      #","inputResponses":{"sign_in":{"action":"\#(action)"}},"requestState":"\#(state)""#
    #expect(askOnce(&stage, refused).contains("not_signed_in"))
    #expect(stage.asks == [])
  }

  @Test func `a person who refuses on the page ends the sign-in`() throws {
    var stage = stage
    let first = askOnce(&stage)
    let (id, state) = (try page(first), try state(first))
    #expect(visit(&stage, .post, [("id", id), ("deny", "1")]).body.contains("You refused"))
    #expect(visit(&stage, .get, [("id", id)]).body.contains("You refused"))
    let again = #","requestState":"\#(state)""#
    #expect(askOnce(&stage, again).contains("not_signed_in"))
  }

  @Test(arguments: [
    ("{}", "2025-11-25"), (#"{"elicitation":{}}"#, "2025-11-25"),
    (#"{"elicitation":{"form":{}}}"#, "2025-11-25"), (ability, "2025-06-18"),
  ])
  func `a client that cannot open a page is told to log in`(abilities: String, version: String) {
    var stage = stage
    ask(&stage, begin(&stage, abilities, version: version))
    #expect(stage.asks.map(\.bearer) == [nil])
  }

  @Test func `a wrong code shows the form again, with the lock-out's status`() throws {
    var stage = stage
    let id = try page(askOnce(&stage))
    for (refusal, status) in [
      (RelayRefusal.wrongPair, 400), (.lockedOut(retryAfter: .seconds(9)), 429),
    ] {
      let sent = signIn(&stage, id)
      stage.complete(.refused(refusal))
      #expect(stage[sent].reply?.status == status)
      #expect(stage[sent].body.contains("<form") && stage[sent].body.contains("Error: "))
    }
    #expect(visit(&stage, .post, [("id", id), ("word", "x")]).reply?.status == 400)
  }

  @Test func `the page is for its own form and for known sign-ins`() throws {
    var stage = stage
    let id = try page(askOnce(&stage))
    let fields = [("id", id)]
    for origin in [nil, "null", "https://relay.example"] {
      #expect(visit(&stage, .get, fields, origin: origin).reply?.status == 200)
    }
    #expect(visit(&stage, .get, fields, site: "cross-site").reply?.status == 200)
    let foreign: [(String?, String?)] = [
      ("https://evil.example", nil), ("null", nil), ("null", "cross-site"), (nil, "cross-site"),
    ]
    for (origin, site) in foreign {
      #expect(visit(&stage, .post, fields, origin: origin, site: site).reply?.status == 403)
    }
    #expect(visit(&stage, .get, [("id", "unknown")]).reply?.status == 404)
    #expect(visit(&stage, .delete, fields).reply?.status == 405)
  }

  @Test(arguments: [
    (0, "less than a minute"), (59_999, "less than a minute"), (60_000, "a minute"),
    (119_999, "a minute"), (120_000, "2 minutes"), (599_999, "9 minutes"),
  ])
  func `the page says how old its link is`(milliseconds: Int, age: String) throws {
    var stage = stage
    let id = try page(askOnce(&stage))
    stage.pass(.milliseconds(milliseconds))
    let form = visit(&stage, .get, [("id", id)]).body
    #expect(form.contains("asked your assistant yourself, \(age) ago, and never with a link"))
  }

  @Test func `a sign-in is forgotten after ten minutes`() throws {
    var stage = stage
    let id = try page(askOnce(&stage))
    stage.pass(.milliseconds(599_999))
    #expect(visit(&stage, .get, [("id", id)]).reply?.status == 200)
    stage.pass(.milliseconds(1))
    #expect(visit(&stage, .get, [("id", id)]).reply?.status == 404)
  }

  @Test func `beyond the bound, the oldest sign-in that was not completed ends`() throws {
    var stage = MCPStage {
      ($0.publicURL, $0.maxElicitations) = (OAuthStage.url, 3)
    }
    let signedIn = try page(askOnce(&stage))
    _ = signIn(&stage, signedIn)
    stage.complete(.grant, token: MCPStage.token)
    var ids: [String] = []
    for _ in 0..<3 {
      stage.pass(.milliseconds(1))
      ids.append(try page(askOnce(&stage)))
    }
    let status = ([signedIn] + ids).map { visit(&stage, .get, [("id", $0)]).reply?.status }
    #expect(status == [200, 404, 200, 200])
  }

  @Test func `if all sign-ins are complete, clients are asked to log in with a tool`() throws {
    var stage = MCPStage {
      ($0.publicURL, $0.maxElicitations) = (OAuthStage.url, 1)
    }
    _ = signIn(&stage, try page(askOnce(&stage)))
    stage.complete(.grant, token: MCPStage.token)
    askOnce(&stage)
    #expect(stage.asks.map(\.bearer) == [nil])
  }

  @Test func `an address that asks often keeps no other out`() {
    var stage = stage
    for _ in 0..<20 { #expect(askOnce(&stage).contains("input_required")) }
    #expect(!askOnce(&stage).contains("input_required"))
    #expect(stage.asks.map(\.bearer) == [nil])
    #expect(askOnce(&stage, from: "198.51.100.8").contains("input_required"))
    stage.pass(.milliseconds(9_999))
    #expect(!askOnce(&stage).contains("input_required"))
    stage.pass(.milliseconds(1))
    #expect(askOnce(&stage).contains("input_required"))
  }
}
