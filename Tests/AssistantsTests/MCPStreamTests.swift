import HoldfastAssistants
import HoldfastCore
import HoldfastRelayServer
import Testing

@Suite struct MCPStreamTests {
  private static let progress = #"{"progressToken":"p"}"#

  @Test(arguments: [(4_999, false), (5_000, true), (5_001, true)])
  func `a slow call becomes a stream that reports progress`(wait: Int, isStream: Bool) {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call(
      "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress)
    stage.pass(.milliseconds(wait))
    #expect(stage[id].hasBegun == isStream)
    stage.complete(.data(#"{"success":true}"#))
    let answer =
      #"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"#
      + #""{\"success\":true}"}],"#
      + #""structuredContent":{"success":true},"isError":false}}"#
    guard isStream else { return #expect(stage[id].body == answer) }
    #expect(
      stage[id]
        == MCPStage.Received(
          events: #"event: message\#r\#ndata: {"jsonrpc":"2.0","method":"notifications/progress","#
            + #""params":{"progressToken":"p","progress":5,"total":45,"#
            + #""message":"Waiting for the phone"}}"# + "\r\n\r\n"
            + "event: message\r\ndata: \(answer)\r\n\r\n",
          hasBegun: true, hasEnded: true))
  }

  @Test func `reports progress until the end and not beyond`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call(
      "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress)
    stage.pass(.seconds(44))
    #expect(stage[id].events.components("notifications/progress") == 8)
    stage.complete(.refused(.timedOut(after: .seconds(45))))
    stage.pass(.seconds(60))
    #expect(stage[id].events.components("notifications/progress") == 8)
    #expect(stage[id].hasEnded)
  }

  @Test(arguments: [(14_999, 0), (15_000, 1), (30_000, 2)])
  func `without a progress token, comments are sent during a long silence`(wait: Int, count: Int) {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.pass(.milliseconds(wait))
    #expect(stage[id].events == String(repeating: ": wait\r\n\r\n", count: count))
  }

  @Test func `a client that accepts only JSON receives JSON however late`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call(
      "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress
    ) { $0.fields.accept = "application/json" }
    stage.pass(.seconds(44))
    stage.complete(.data("{}"))
    #expect(!stage[id].hasBegun)
    #expect(stage[id].reply?.status == 200)
  }

  @Test func `a client that accepts only streams receives a stream of one event`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session
    ) { $0.fields.accept = "text/event-stream" }
    #expect(
      stage[id]
        == MCPStage.Received(
          events: "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n",
          hasBegun: true, hasEnded: true))
  }

  @Test func `a call that is cancelled while it streams ends with an error`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call(
      "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress)
    stage.pass(.seconds(5))
    stage.post(
      #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
      session: session)
    #expect(stage[id].events.hasSuffix("\"message\":\"Request cancelled\"}}\r\n\r\n"))
    #expect(stage[id].hasEnded)
  }

  @Test func `an event that exceeds the size limit is replaced by a refusal`() {
    var stage = MCPStage { $0.maxEventBytes = 300 }
    let session = stage.initialize()
    let text = #"{"success":true,"x":"\#(String(repeating: "x", count: 400))"}"#
    for wait in [0, 5] {
      let id = stage.call(
        "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress)
      stage.pass(.seconds(wait))
      stage.complete(.data(text))
      #expect(stage[id].events.contains("answer_too_large") == (wait == 5))
      #expect(stage[id].body.contains("xxxx") == (wait == 0))
    }
  }

  @Test func `an event too long for two copies of the answer carries it once`() {
    var stage = MCPStage { $0.maxEventBytes = 900 }
    let session = stage.initialize()
    let id = stage.call(
      "get_health_metrics", MCPStage.metrics, session: session, meta: Self.progress)
    stage.pass(.seconds(5))
    stage.complete(.data(#"{"success":true,"x":"\#(String(repeating: "x", count: 400))"}"#))
    #expect(stage[id].events.contains("too long to repeat here"))
    #expect(stage[id].events.contains(#""structuredContent":{"success":true,"x":"xxxx"#))
    #expect(!stage[id].events.contains("answer_too_large"))
  }

  // MARK: - GET

  @Test func `the stream of a session sends only keep-alive comments`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.request(.get, session: session)
    #expect(stage[id] == MCPStage.Received(events: ": wait\r\n\r\n", hasBegun: true))
    stage.pass(.seconds(30))
    #expect(stage[id].events == String(repeating: ": wait\r\n\r\n", count: 3))
    stage.feed(.abandoned(id))
    stage.pass(.seconds(30))
    #expect(stage[id].events == String(repeating: ": wait\r\n\r\n", count: 3))
  }

  @Test func `a second stream replaces the first`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let first = stage.request(.get, session: session)
    let second = stage.request(.get, session: session)
    #expect(stage[first].hasEnded)
    #expect(!stage[second].hasEnded)
    stage.feed(.abandoned(first))
    stage.pass(.seconds(15))
    #expect(stage[second].events == ": wait\r\n\r\n: wait\r\n\r\n")
  }

  @Test func `an open stream keeps its session alive`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let stream = stage.request(.get, session: session)
    stage.pass(.seconds(20_000))
    stage.feed(.abandoned(stream))
    stage.pass(.seconds(7_199))
    let id = stage.post(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, session: session)
    #expect(stage[id].reply?.status == 200)
  }

  @Test(arguments: [
    ("application/json", "session", 406), (MCPStage.both, nil as String?, 400),
    (MCPStage.both, "gone", 404),
  ])
  func `a stream needs a session and a client that accepts event streams`(
    accept: String, session: String?, status: Int
  ) {
    var stage = MCPStage()
    let known = stage.initialize()
    let id = stage.request(.get, session: session == "session" ? known : session) {
      $0.fields.accept = accept
    }
    #expect(stage[id].reply?.status == status)
  }

  @Test func `a drain ends the streams and lets calls be answered`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let stream = stage.request(.get, session: session)
    let call = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.feed(.drain)
    #expect(stage[stream].hasEnded)
    stage.complete(.refused(.stopping(retryAfter: .seconds(5))))
    #expect(stage[call].body.contains("stopping"))
    let again = stage.request(.get, session: session)
    #expect(stage[again].reply?.status == 503)
  }
}

extension String {
  /// Returns how often a text occurs in this string.
  fileprivate func components(_ text: String) -> Int {
    var count = 0
    var rest = self[...]
    while let found = rest.firstRange(of: text) {
      count += 1
      rest = rest[found.upperBound...]
    }
    return count
  }
}
