import HoldfastAssistants
import HoldfastCore
import HoldfastRelayServer
import Testing

@Suite struct MCPSessionTests {
  @Test(arguments: [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25"),
  ])
  func `agrees on a version and begins a session`(offer: String, agreed: String) {
    var stage = MCPStage()
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"\#(offer)"}}"#)
    #expect(stage[id].reply?.status == 200)
    #expect(stage[id].body.contains(#""protocolVersion":"\#(agreed)""#))
    #expect(stage[id].reply?.session?.text == "01010101010101010101010101010101")
  }

  @Test func `requests that need no phone are answered at once`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let ready = stage.post(
      #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, session: session)
    #expect(stage[ready] == MCPStage.Received(reply: MCPReply(202)))
    let ping = stage.post(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session)
    #expect(stage[ping].body == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
    let list = stage.post(#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, session: session)
    #expect(stage[list].body.hasPrefix(#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"#))
    let response = stage.post(#"{"jsonrpc":"2.0","id":3,"result":{}}"#, session: session)
    #expect(stage[response].reply == MCPReply(202))
    let other = stage.post(#"{"jsonrpc":"2.0","id":4,"method":"prompts/list"}"#, session: session)
    #expect(stage[other].reply?.status == 200)
    #expect(stage[other].body.contains("-32601"))
  }

  @Test func `the token of a login is stored for its session only`() {
    var stage = MCPStage()
    let (one, two) = (stage.initialize(), stage.initialize())
    let login = stage.call("direct_login", #"{"word":"river","code":"123456"}"#, session: one)
    #expect(
      stage.asks == [
        MCPStage.Ask(
          id: login, ask: .login(word: "river", code: "123456"), bearer: nil,
          from: "198.51.100.7")
      ])
    #expect(stage[login] == MCPStage.Received())
    stage.complete(.grant, token: MCPStage.token)
    #expect(
      stage[login].body.contains(
        #""structuredContent":{"success":true,"access_token":"secret","token_type":"Bearer","#
          + #""expires_in":7200,"user_id":"u1","message":"Paired with the phone."}"#))
    stage.call("get_health_metrics", MCPStage.metrics, id: 2, session: one)
    stage.call("get_health_metrics", MCPStage.metrics, id: 2, session: two)
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token), nil])
  }

  @Test func `a token argument takes precedence over a header, and a header over the session`() {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, session: session)
    stage.complete(.grant, token: MCPStage.token)
    stage.call("logout", session: session) { $0.fields.bearer = MCPStage.hash(9) }
    stage.call("logout", #"{"access_token":"t"}"#, id: 2, session: session) {
      $0.fields.bearer = MCPStage.hash(9)
    }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.hash(9)), .text("t")])
  }

  @Test func `a logout ends the login of its session`() {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, session: session)
    stage.complete(.grant, token: MCPStage.token)
    let logout = stage.call("logout", session: session)
    stage.complete(.loggedOut)
    #expect(stage[logout].body.contains(#"{"success":true,"message":"Logged out."}"#))
    stage.call("get_health_metrics", MCPStage.metrics, session: session)
    #expect(stage.asks.map(\.bearer) == [nil])
  }

  @Test func `two concurrent assistants receive their own answers in any order`() {
    var stage = MCPStage()
    let (one, two) = (stage.initialize(), stage.initialize())
    let first = stage.call("get_health_metrics", MCPStage.metrics, session: one)
    let second = stage.call("get_health_metrics", MCPStage.metrics, session: two)
    stage.complete(1, .data(#"{"success":true,"of":"two"}"#))
    #expect(stage[first] == MCPStage.Received())
    stage.complete(.data(#"{"success":true,"of":"one"}"#))
    #expect(stage[first].body.contains(#""structuredContent":{"success":true,"of":"one"}"#))
    #expect(stage[second].body.contains(#""structuredContent":{"success":true,"of":"two"}"#))
  }

  @Test func `a client that disconnected receives nothing, and the relay call is abandoned`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    let ask = stage.asks[0].id
    stage.feed(.abandoned(id))
    #expect(stage.abandoned == [ask])
    stage.feed(.outcome(ask, .data("{}"), token: nil, wall: stage.wall))
    #expect(stage[id] == MCPStage.Received())
  }

  @Test func `a call is cancelled only by its own session`() {
    var stage = MCPStage()
    let (one, two) = (stage.initialize(), stage.initialize())
    let id = stage.call("get_health_metrics", MCPStage.metrics, id: 5, session: one)
    let cancel =
      #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#
    stage.post(cancel, session: two)
    #expect(stage.abandoned == [])
    stage.post(cancel, session: one)
    #expect(stage.abandoned.count == 1)
    #expect(
      stage[id].body
        == #"{"jsonrpc":"2.0","id":5,"error":{"code":-32800,"message":"Request cancelled"}}"#)
    let again = stage.post(cancel, session: one)
    #expect(stage.abandoned.count == 1)
    #expect(stage[again].reply == MCPReply(202))
  }

  @Test func `an id in use is refused, and available again afterwards`() {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.call("logout", id: 5, session: session)
    let again = stage.call("logout", id: 5, session: session)
    #expect(stage[again].body.contains(#""message":"id is in use""#))
    stage.complete(.loggedOut)
    stage.call("logout", id: 5, session: session)
    #expect(stage.asks.count == 1)
  }

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, nil as String?, 400, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "gone", 404, -32600),
    ("{", "gone", 400, -32700), ("[]", nil, 400, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, nil, 200, -32602),
  ])
  func `reports what is wrong with a message`(
    body: String, session: String?, status: Int, code: Int
  ) {
    var stage = MCPStage()
    let id = stage.post(body, session: session)
    #expect(stage[id].reply?.status == status)
    #expect(stage[id].body.contains(#""code":\#(code)"#))
  }

  @Test func `invalid arguments are reported to the assistant without asking the phone`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("get_health_metrics", #"{"value_type":"a mood?"}"#, session: session)
    #expect(stage.asks == [])
    #expect(stage[id].body.contains(#""error":"invalid_arguments","message":"value_type must be"#))
    #expect(stage[id].body.hasSuffix(#""isError":true}}"#))
    let unknown = stage.call("nope", session: session)
    #expect(
      stage[unknown].body.hasSuffix(
        #""structuredContent":{"success":false,"error":"unknown_tool","message":"Unknown tool: "#
          + #"nope. The tools are direct_login, list_health_types, get_health_metrics, "#
          + #"get_summary, logout."},"isError":true}}"#))
  }

  @Test(arguments: [
    (RelayRefusal.wrongPair, "invalid_credentials"), (.notSignedIn, "not_signed_in"),
    (.tokenExpired, "token_expired"), (.lockedOut(retryAfter: .seconds(9)), "locked_out"),
    (.phoneAway(since: .seconds(3), .mayReturn), "phone_away"),
    (.phoneReplaced, "phone_replaced"), (.timedOut(after: .seconds(45)), "timed_out"),
    (.cancelled, "cancelled"), (.tooManyWaiting(retryAfter: .seconds(2)), "too_many_waiting"),
    (.malformed(reason: "x"), "malformed_answer"), (.answerTooLarge(limit: 8), "answer_too_large"),
    (.storeFailed(retryAfter: .seconds(1)), "store_failed"),
    (.stopping(retryAfter: .seconds(1)), "stopping"),
  ])
  func `a refusal is reported with its name and description`(refusal: RelayRefusal, name: String) {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.complete(.refused(refusal))
    #expect(stage[id].body.contains(#""error":"\#(name)","message":"\#(refusal.description)""#))
    #expect(stage[id].body.hasSuffix(#""isError":true}}"#))
  }

  @Test(arguments: [(7_199, true), (7_200, false), (7_201, false)])
  func `a session expires two hours after its last use`(seconds: Int, isAlive: Bool) {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.pass(.seconds(100))
    stage.post(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session)
    stage.pass(.seconds(seconds))
    let id = stage.post(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session)
    #expect(stage[id].reply?.status == (isAlive ? 200 : 404))
  }

  @Test func `at the limit, the longest idle session without a login is evicted first`() {
    var stage = MCPStage { $0.maxSessions = 2 }
    let old = stage.initialize()
    stage.call("direct_login", #"{"word":"a","code":"1"}"#, session: old)
    stage.complete(.grant, token: MCPStage.token)
    let idle = stage.initialize()
    stage.pass(.seconds(1))
    let new = stage.initialize()
    func status(_ session: String) -> Int? {
      let id = stage.post(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session)
      return stage[id].reply?.status
    }
    #expect([old, idle, new].map(status) == [200, 404, 200])
    stage.call("logout", session: new)
    let refused = stage.post(
      #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x"}}"#)
    #expect(stage[refused].reply?.status == 503)
    #expect(stage[refused].reply?.retryAfter == .seconds(2))
  }

  @Test(arguments: [(15, true), (16, false)])
  func `limits the open calls of a session`(others: Int, isTaken: Bool) {
    var stage = MCPStage()
    let session = stage.initialize()
    for index in 0..<others { stage.call("logout", id: index, session: session) }
    let id = stage.call("logout", id: 99, session: session)
    #expect((stage[id].reply == nil) == isTaken)
    #expect(stage[id].body.contains("too_many_waiting") == !isTaken)
  }

  @Test func `limits the open calls of all sessions together`() {
    var stage = MCPStage { $0.maxCalls = 2 }
    let session = stage.initialize()
    for index in 0..<2 { stage.call("logout", id: index, session: session) }
    let id = stage.call("logout", id: 9, session: stage.initialize())
    #expect(stage[id].body.contains("too_many_waiting"))
  }

  @Test func `deleting a session ends its stream and its calls`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let stream = stage.request(.get, session: session)
    let call = stage.call("logout", session: session)
    let delete = stage.request(.delete, session: session)
    #expect(stage[delete].reply == MCPReply(200))
    #expect(stage[stream].hasEnded)
    #expect(stage[call].body.contains("-32800"))
    #expect(stage.abandoned.count == 1)
    let again = stage.request(.delete, session: session)
    #expect(stage[again].reply?.status == 404)
  }
}
