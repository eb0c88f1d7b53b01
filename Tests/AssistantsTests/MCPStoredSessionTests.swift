import HoldfastAssistants
import HoldfastCore
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests of sessions that are stored, so that assistants go on after a restart.
@Suite struct MCPStoredSessionTests {
  private static let pair = #"{"word":"anchor","code":"000001"}"#

  /// The hash of a name, which the caller of the rules computes.
  private func hash(_ name: String) -> TokenHash? {
    TokenHash(Array((name + String(repeating: "-", count: 32)).utf8.prefix(32)))
  }

  /// Calls a tool, with the hash of the session's name.
  @discardableResult
  private func call(
    _ tool: String, _ arguments: String = MCPStage.metrics, in session: String,
    on stage: inout MCPStage, _ change: (inout MCPCall) -> Void = { _ in }
  ) -> RequestID {
    stage.call(tool, arguments, session: session) {
      $0.fields.sessionHash = hash(session)
      change(&$0)
    }
  }

  /// Returns a stage with a session that has logged in.
  private func signedIn(_ stage: inout MCPStage) -> String {
    let session = stage.initialize()
    call("direct_login", Self.pair, in: session, on: &stage)
    stage.complete(.grant, token: MCPStage.token)
    return session
  }

  @Test func `a session that has logged in goes on after a restart`() {
    var stage = MCPStage()
    let session = signedIn(&stage)
    #expect(stage.stored.sessions.map(\.bearer) == [MCPStage.token])
    stage.restart()
    let id = call("get_health_metrics", in: session, on: &stage)
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage[id].body.contains("success"))
  }

  @Test func `a session without a login is not stored`() {
    var stage = MCPStage()
    let session = stage.initialize()
    call("get_health_metrics", in: session, on: &stage)
    stage.complete(.refused(.notSignedIn))
    #expect(stage.stored.sessions.isEmpty)
    stage.restart()
    let id = call("get_health_metrics", in: session, on: &stage)
    #expect(stage[id].reply?.status == 404)
  }

  @Test func `the result of a login waits until the session is stored`() {
    var stage = MCPStage()
    stage.holdsStore = true
    let session = stage.initialize()
    let login = call("direct_login", Self.pair, in: session, on: &stage)
    stage.complete(.grant, token: MCPStage.token)
    #expect(stage[login] == MCPStage.Received())
    stage.confirmStores()
    #expect(stage[login].reply?.status == 200)
    // What is stored already is not stored again.
    let id = call("get_health_metrics", in: session, on: &stage)
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage[id].reply?.status == 200)
    #expect(stage.storing.isEmpty)
  }

  @Test func `a client that leaves while its session is stored gets no answer`() {
    var stage = MCPStage()
    stage.holdsStore = true
    let session = stage.initialize()
    let login = call("direct_login", Self.pair, in: session, on: &stage)
    stage.complete(.grant, token: MCPStage.token)
    stage.feed(.abandoned(login))
    stage.confirmStores()
    #expect(stage[login] == MCPStage.Received())
    #expect(stage.stored.sessions.count == 1)
  }

  @Test func `a drain ends after the responses that wait for the store`() {
    var stage = MCPStage()
    stage.holdsStore = true
    let session = stage.initialize()
    call("direct_login", Self.pair, in: session, on: &stage)
    stage.complete(.grant, token: MCPStage.token)
    stage.feed(.drain)
    #expect(!stage.server.isFinished)
    stage.confirmStores()
    #expect(stage.server.isFinished)
  }

  @Test func `a session of a grant is stored with its first answer, and is of that grant only`() {
    let url = PublicURL("https://relay.example")
    var stage = MCPStage { ($0.publicURL, $0.originPolicy.isLocal) = (url, false) }
    func grant(_ byte: UInt8) -> (inout MCPCall) -> Void {
      { $0.fields.permission = .granted(MCPStage.hash(byte)) }
    }
    let first = stage.post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
      grant(1))
    let session = stage[first].reply?.session?.text ?? ""
    call("get_health_metrics", in: session, on: &stage, grant(1))
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage.stored.sessions.map(\.owner) == [MCPStage.hash(1)])
    #expect(stage.stored.sessions.map(\.showsTokens) == [true])
    stage.restart()
    let other = call("get_health_metrics", in: session, on: &stage, grant(2))
    #expect(stage[other].reply?.status == 404)
    call("get_health_metrics", in: session, on: &stage, grant(1))
    #expect(stage.asks.count == 1)
  }

  @Test func `the end of a session is stored`() {
    var stage = MCPStage()
    let session = signedIn(&stage)
    stage.request(.delete, session: session)
    #expect(stage.stored.sessions.isEmpty)
    _ = signedIn(&stage)
    #expect(stage.stored.sessions.count == 1)
    stage.pass(.seconds(7_200))
    #expect(stage.stored.sessions.isEmpty)
  }

  @Test(arguments: [7_199, 7_200, 7_201])
  func `a stored session ends if nobody uses it after a restart`(seconds: Int) {
    var stage = MCPStage()
    let session = signedIn(&stage)
    stage.restart()
    stage.pass(.seconds(seconds))
    #expect(stage.stored.sessions.isEmpty == (seconds >= 7_200))
    let id = call("get_health_metrics", in: session, on: &stage)
    #expect((stage[id].reply?.status == 404) == (seconds >= 7_200))
  }

  @Test(arguments: [1, 2, 3])
  func `stored sessions beyond the bound are removed`(bound: Int) {
    var stage = MCPStage { $0.maxSessions = 3 }
    let sessions = (1...3).map { _ in signedIn(&stage) }
    #expect(stage.stored.sessions.count == 3)
    var small = MCPStage { $0.maxSessions = bound }
    small.feed(.restored(stage.stored.sessions))
    #expect(small.server.deadline != nil)
    let found = sessions.count { session in
      let id = call("get_health_metrics", in: session, on: &small)
      return small[id].reply == nil
    }
    #expect(found == bound)
    // A session of an unknown version cannot go on.
    var odd = stage.stored.sessions
    for index in odd.indices { odd[index].version = "1999-01-01" }
    var other = MCPStage()
    other.feed(.restored(odd))
    #expect(other.server.deadline == nil)
  }

  @Test func `a conversation of the plain endpoints goes on after a restart`() {
    var stage = MCPStage()
    func fields(_ call: inout MCPCall) {
      call.fields.conversation = "c1"
      call.fields.conversationHash = hash("c1")
    }
    stage.request(.post, .directLogin) {
      fields(&$0)
      $0.query = [MCPCall.Pair("word", "anchor"), MCPCall.Pair("code", "000001")]
    }
    stage.complete(.grant, token: MCPStage.token)
    stage.restart()
    stage.request(.post, .logout) { fields(&$0) }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    stage.complete(.loggedOut)
    #expect(stage.stored.sessions.map(\.bearer) == [nil])
  }

  @Test func `a state that could not be stored is stored with the next call`() {
    var stage = MCPStage()
    stage.holdsStore = true
    let session = stage.initialize()
    let login = call("direct_login", Self.pair, in: session, on: &stage)
    stage.complete(.grant, token: MCPStage.token)
    stage.confirmStores(failure: .full(detail: "no room"))
    #expect(stage[login].reply?.status == 200)
    call("get_health_metrics", in: session, on: &stage)
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage.storing.count == 1)
    stage.confirmStores()
    call("get_health_metrics", in: session, on: &stage)
    stage.complete(.data(#"{"success":true}"#))
    #expect(stage.storing.isEmpty)
  }

  @Test func `a client that shows its token once needs it after a restart, too`() {
    var stage = MCPStage()
    let session = signedIn(&stage)
    call("get_health_metrics", in: session, on: &stage) { $0.fields.bearer = MCPStage.hash(9) }
    stage.complete(.refused(.tokenExpired))
    #expect(stage.stored.sessions.map(\.showsTokens) == [true])
    stage.restart()
    call("get_health_metrics", in: session, on: &stage)
    #expect(stage.asks.map(\.bearer) == [nil])
  }

  @Test func `the answer to a deletion waits until it is stored`() {
    var stage = MCPStage()
    let session = signedIn(&stage)
    stage.holdsStore = true
    let deletion = stage.request(.delete, session: session)
    #expect(stage[deletion] == MCPStage.Received())
    stage.confirmStores()
    #expect(stage[deletion].reply?.status == 200)
  }

  @Test func `a full table replaces stored sessions that need no sign-in`() {
    var stage = MCPStage { $0.maxSessions = 1 }
    let id = MCPStage.hash(1)
    stage.feed(.restored([StoredAssistantSession(id: id, version: "2025-11-25", bearer: id)]))
    #expect(stage.initialize() == "")
    stage = MCPStage { $0.maxSessions = 1 }
    stage.feed(.restored([StoredAssistantSession(id: id, version: "2025-11-25")]))
    #expect(stage.initialize() != "")
  }
}
