import HoldfastCore
import HoldfastJSON
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

/// Tests of questions and pairings after the socket has been lost.
struct RelayResumeTests {
  @Test func `a reconnect presents the resume token of the newest code`() {
    var harness = RelayHarness(.service)
    harness.give(.start)
    harness.connect()
    harness.reconnect(.resumed)
    harness.lose()
    harness.pass(.seconds(2))
    let tokens: [String?] = harness.log.compactMap {
      if case .open(_, let resume) = $0 { resume?.text } else { nil }
    }
    #expect(tokens == ["t1", "t2"])
    #expect(opens(harness) == [nil, Secret("t1"), Secret("t2")])
  }

  @Test func `an error or idleness keeps the pairing, and the user's stop ends it`() {
    var harness = RelayHarness.running(.service)
    harness.pass(.seconds(900))
    harness.give(.start)
    harness.connect(.resumed)
    for _ in 0...11 {
      harness.lose(.refused)
      harness.pass(.seconds(9))
    }
    #expect(harness.state == .error)
    harness.give(.start)
    harness.give(.stop)
    harness.give(.start)
    // Eleven retries and the user's next start send the newer token.
    let resumed = Array<Secret?>(repeating: Secret("t2"), count: 12)
    #expect(opens(harness) == [Secret("t1")] + resumed + [nil])
  }

  @Test(arguments: [Int64(1), 60])
  func `a service resumes after its backend restarts for up to a minute`(
    seconds: Int64
  ) {
    for seed in 0..<50 {
      var harness = RelayHarness(.service, seed: UInt64(seed))
      harness.give(.start)
      harness.connect()
      harness.pass(.seconds(60))
      harness.forget()
      harness.lose(.closed(code: 1001, reason: "going away"))
      let back = harness.now.advanced(by: .seconds(seconds))
      for _ in 0..<200 where harness.model.status.state == .reconnecting && harness.now < back {
        harness.pass(.milliseconds(500))
        if harness.now < back, harness.model.link.currentAttempt != nil { harness.lose(.refused) }
      }
      for _ in 0..<40 where harness.model.link.currentAttempt == nil {
        harness.pass(.milliseconds(500))
      }
      harness.connect(.resumed)
      #expect(harness.state == .running)
      #expect(opens(harness).last == Secret("t1"))
    }
  }

  @Test func `the foreground profile has two retries, and its next connect resumes`() {
    var harness = RelayHarness.running(.foreground)
    for _ in 0..<3 {
      harness.lose(.refused)
      harness.pass(.seconds(4))
    }
    #expect(harness.state == .error)
    harness.give(.start)
    harness.connect(.resumed)
    #expect(harness.state == .running)
    #expect(opens(harness) == Array(repeating: Secret("t1"), count: 3))
  }

  @Test func `a question repeated before the code of a new session is answered after the code`() {
    var harness = RelayHarness.running()
    for id in ["a", "b"] { harness.ask(id) }
    harness.lose()
    harness.pass(.seconds(2))
    harness.give(.opened(harness.attempt))
    harness.ask("b")
    harness.say(.paired(.first))
    harness.prepare()
    #expect(harness.receipts.map(\.id.text) == ["a", "b"])
    #expect(
      harness.receipts.map(\.outcome) == [.dropped, .answered(points: 3, isTruncated: false)])
  }

  @Test func `a token of an earlier process is presented, unless there is a newer one`() {
    var harness = RelayHarness(.service)
    harness.give(.resume(Secret("old")))
    harness.give(.start)
    #expect(opens(harness) == [Secret("old")])
    harness.connect(.first)
    harness.give(.resume(Secret("old")))
    #expect(harness.model.resume == Secret("t1"))
  }

  @Test func `a resume token is kept until a code replaces it or a new session has none`() {
    var harness = RelayHarness.running(.service)
    harness.say(.paired(.plain))
    #expect(harness.model.resume == Secret("t1"))
    var known = RelayModel.Welcome.plain
    known.isResumed = true
    harness.reconnect(known)
    #expect(harness.model.resume == Secret("t1"))
    harness.pass(.seconds(30))
    harness.reconnect(.resumed)
    #expect(harness.model.resume == Secret("t2"))
    harness.pass(.seconds(30))
    harness.reconnect(.plain)
    #expect(harness.model.resume == nil)
  }

  @Test func `a resumed session sends an unconfirmed answer again`() {
    var harness = RelayHarness.running()
    harness.answersPings = false
    harness.ask("a")
    harness.prepare(parts: 2)
    harness.lose()
    harness.pass(.seconds(2))
    harness.forget()
    harness.connect(.resumed)
    #expect(
      harness.take() == [.send(AttemptID(2), WorkID(1), part: 0), .notify(RelayStatus(.running))])
    #expect(harness.receipts == [])
  }

  @Test func `reading continues while the socket is disconnected`() {
    var harness = RelayHarness.asked()
    harness.ask("b")
    harness.lose()
    harness.prepare()
    #expect(harness.receipts == [])
    harness.pass(.seconds(2))
    harness.connect(.resumed)
    harness.prepare()
    #expect(harness.receipts.map(\.id.text) == ["a", "b"])
  }

  @Test func `a new session drops the questions of the previous one`() {
    var harness = RelayHarness.asked()
    harness.ask("b")
    harness.lose()
    harness.prepare()
    harness.pass(.seconds(2))
    harness.forget()
    harness.connect(.first)
    #expect(harness.take() == [.discard(WorkID(1)), .notify(RelayStatus(.running))])
    #expect(harness.receipts.map(\.id.text) == ["b", "a"])
    #expect(harness.receipts.map(\.outcome) == [.dropped, .dropped])
    harness.ask("a")
    harness.prepare()
    #expect(harness.receipts.count == 3)
  }

  @Test
  func `a question that arrives before the code of a new session is answered in that session`() {
    var harness = RelayHarness.running()
    harness.ask("old")
    harness.lose()
    harness.pass(.seconds(2))
    harness.give(.opened(harness.attempt))
    harness.ask("new")
    harness.say(.paired(.plain))
    #expect(harness.receipts.map(\.id.text) == ["old"])
    harness.prepare()
    #expect(harness.receipts.map(\.id.text) == ["old", "new"])
  }

  @Test func `a question repeated on another connection is answered there once`() {
    var harness = RelayHarness.running()
    harness.answersPings = false
    harness.ask("a")
    harness.prepare()
    harness.give(.pong(AttemptID(1), 1 << 63 | 1))
    harness.reconnect(.resumed)
    harness.forget()
    harness.ask("a")
    harness.ask("a")
    harness.prepare()
    harness.give(.pong(AttemptID(2), 1 << 63 | 2))
    harness.ask("a")
    #expect(harness.receipts.map(\.id.text) == ["a"])
  }

  @Test func `a backend that no longer accepts parts gets a newly prepared answer`() {
    var harness = RelayHarness.asked()
    harness.lose()
    harness.prepare(parts: 3)
    harness.pass(.seconds(2))
    var next = RelayModel.Welcome.resumed
    next.acceptsParts = false
    harness.forget()
    harness.connect(next)
    #expect(
      harness.take() == [
        .discard(WorkID(1)), .read(WorkID(2), .of("a"), .steps, inParts: false),
        .notify(RelayStatus(.running)),
      ])
  }

  @Test(arguments: [RelayModel.Input.stop, .link(.device(.lifecycle(.background)))])
  func `the end of a session drops its questions`(end: RelayModel.Input) {
    var harness = RelayHarness.asked(.foreground)
    harness.ask("b")
    harness.forget()
    harness.give(end)
    #expect(harness.receipts.map(\.outcome) == [.dropped, .dropped])
    #expect(harness.take().contains(.discard(WorkID(1))))
    #expect(harness.model.questions.items == [])
  }

  @Test func `events of an older attempt change nothing`() {
    var harness = RelayHarness.asked()
    harness.reconnect(.resumed)
    let before = harness.model
    harness.forget()
    let old = AttemptID(1)
    let inputs: [RelayModel.Input] = [
      .opened(old), .link(.ping(old)), .link(.pong(old, 1)), .link(.oversized(old, bytes: 1)),
      .link(.lost(old, .reset)),
      .unsent(old), .closed(old), .message(old, .paired(.first)),
      .message(old, .asked(.of("b"), .steps)), .message(old, .cancelled(.of("a"))),
      .message(old, .unknown(type: "x", nil)),
      .message(old, .malformed(RelayWireError(.tooLong(bytes: 1)))),
    ]
    for input in inputs { harness.give(input) }
    #expect(harness.log == [])
    #expect(harness.model.link == before.link)
    #expect(harness.model.questions == before.questions)
  }

  @Test func `a socket that fails to send is closed, and the relay reconnects`() {
    var harness = RelayHarness.asked()
    harness.prepare()
    harness.give(.unsent(harness.attempt))
    #expect(harness.state == .reconnecting)
    #expect(harness.take().contains(.close(AttemptID(1), .rejected)))
  }

  @Test func `a second code on the same connection keeps the session and its question`() {
    var harness = RelayHarness.asked()
    harness.forget()
    harness.say(.paired(.plain))
    #expect(harness.log == [.update(.pair(RelayModel.Welcome.plain.pair))])
    #expect(harness.state == .running)
    harness.prepare()
    #expect(harness.receipts.count == 1)
  }

  private func opens(_ harness: RelayHarness) -> [Secret?] {
    harness.log.compactMap { if case .open(_, let resume) = $0 { resume } else { nil } }
  }
}
