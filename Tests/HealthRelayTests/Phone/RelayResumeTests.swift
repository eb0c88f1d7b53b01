import LinkCore
import LinkJSON
import LinkWire
import Testing

@testable import HealthRelay

/// Questions and pairings after the socket is lost.
struct RelayResumeTests {
  @Test func `a reconnect presents the resume token of the newest code`() {
    var bench = RelayBench(.service)
    bench.give(.start)
    bench.connect()
    bench.reconnect(.resumed)
    bench.lose()
    bench.pass(.seconds(2))
    let tokens: [String?] = bench.log.compactMap {
      if case .open(_, let resume) = $0 { resume?.text } else { nil }
    }
    #expect(tokens == ["t1", "t2"])
    #expect(opens(bench) == [nil, Secret("t1"), Secret("t2")])
  }

  @Test func `an error or idleness keeps the pairing, and the user's stop ends it`() {
    var bench = RelayBench.running(.service)
    bench.pass(.seconds(900))
    bench.give(.start)
    bench.connect(.resumed)
    for _ in 0...11 {
      bench.lose(.refused)
      bench.pass(.seconds(9))
    }
    #expect(bench.state == .error)
    bench.give(.start)
    bench.give(.stop)
    bench.give(.start)
    // Eleven retries and the user's next start.
    let resumed = Array<Secret?>(repeating: Secret("t2"), count: 12)
    #expect(opens(bench) == [Secret("t1")] + resumed + [nil])
  }

  @Test(arguments: [Int64(1), 60])
  func `a service resumes after its backend restarts for up to a minute`(
    seconds: Int64
  ) {
    for seed in 0..<50 {
      var bench = RelayBench(.service, seed: UInt64(seed))
      bench.give(.start)
      bench.connect()
      bench.pass(.seconds(60))
      bench.forget()
      bench.lose(.closed(code: 1001, reason: "going away"))
      let back = bench.now.advanced(by: .seconds(seconds))
      for _ in 0..<200 where bench.model.status.state == .reconnecting && bench.now < back {
        bench.pass(.milliseconds(500))
        if bench.now < back, bench.model.link.currentAttempt != nil { bench.lose(.refused) }
      }
      for _ in 0..<40 where bench.model.link.currentAttempt == nil {
        bench.pass(.milliseconds(500))
      }
      bench.connect(.resumed)
      #expect(bench.state == .running)
      #expect(opens(bench).last == Secret("t1"))
    }
  }

  @Test func `the foreground profile has two retries, and its next connect resumes`() {
    var bench = RelayBench.running(.foreground)
    for _ in 0..<3 {
      bench.lose(.refused)
      bench.pass(.seconds(4))
    }
    #expect(bench.state == .error)
    bench.give(.start)
    bench.connect(.resumed)
    #expect(bench.state == .running)
    #expect(opens(bench) == Array(repeating: Secret("t1"), count: 3))
  }

  @Test func `a question repeated before the code of a new session is answered after the code`() {
    var bench = RelayBench.running()
    for id in ["a", "b"] { bench.ask(id) }
    bench.lose()
    bench.pass(.seconds(2))
    bench.give(.opened(bench.attempt))
    bench.ask("b")
    bench.say(.paired(.first))
    bench.prepare()
    #expect(bench.receipts.map(\.id.text) == ["a", "b"])
    #expect(
      bench.receipts.map(\.outcome) == [.dropped, .answered(points: 3, isTruncated: false)])
  }

  @Test func `a token of an earlier process is presented, unless there is a newer one`() {
    var bench = RelayBench(.service)
    bench.give(.resume(Secret("old")))
    bench.give(.start)
    #expect(opens(bench) == [Secret("old")])
    bench.connect(.first)
    bench.give(.resume(Secret("old")))
    #expect(bench.model.resume == Secret("t1"))
  }

  @Test func `a resume token is kept until a code replaces it or a new session has none`() {
    var bench = RelayBench.running(.service)
    bench.say(.paired(.plain))
    #expect(bench.model.resume == Secret("t1"))
    var known = RelayModel.Welcome.plain
    known.isResumed = true
    bench.reconnect(known)
    #expect(bench.model.resume == Secret("t1"))
    bench.pass(.seconds(30))
    bench.reconnect(.resumed)
    #expect(bench.model.resume == Secret("t2"))
    bench.pass(.seconds(30))
    bench.reconnect(.plain)
    #expect(bench.model.resume == nil)
  }

  @Test func `a resumed session sends an unconfirmed answer again`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    bench.prepare(parts: 2)
    bench.lose()
    bench.pass(.seconds(2))
    bench.forget()
    bench.connect(.resumed)
    #expect(
      bench.take() == [.send(AttemptID(2), WorkID(1), part: 0), .notify(RelayStatus(.running))])
    #expect(bench.receipts == [])
  }

  @Test func `reading continues while the socket is disconnected`() {
    var bench = RelayBench.asked()
    bench.ask("b")
    bench.lose()
    bench.prepare()
    #expect(bench.receipts == [])
    bench.pass(.seconds(2))
    bench.connect(.resumed)
    bench.prepare()
    #expect(bench.receipts.map(\.id.text) == ["a", "b"])
  }

  @Test func `a new session drops the questions of the previous one`() {
    var bench = RelayBench.asked()
    bench.ask("b")
    bench.lose()
    bench.prepare()
    bench.pass(.seconds(2))
    bench.forget()
    bench.connect(.first)
    #expect(bench.take() == [.discard(WorkID(1)), .notify(RelayStatus(.running))])
    #expect(bench.receipts.map(\.id.text) == ["b", "a"])
    #expect(bench.receipts.map(\.outcome) == [.dropped, .dropped])
    bench.ask("a")
    bench.prepare()
    #expect(bench.receipts.count == 3)
  }

  @Test
  func `a question that arrives before the code of a new session is answered in that session`() {
    var bench = RelayBench.running()
    bench.ask("old")
    bench.lose()
    bench.pass(.seconds(2))
    bench.give(.opened(bench.attempt))
    bench.ask("new")
    bench.say(.paired(.plain))
    #expect(bench.receipts.map(\.id.text) == ["old"])
    bench.prepare()
    #expect(bench.receipts.map(\.id.text) == ["old", "new"])
  }

  @Test func `a question repeated on another connection is answered there once`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    bench.prepare()
    bench.give(.pong(AttemptID(1), 1 << 63 | 1))
    bench.reconnect(.resumed)
    bench.forget()
    bench.ask("a")
    bench.ask("a")
    bench.prepare()
    bench.give(.pong(AttemptID(2), 1 << 63 | 2))
    bench.ask("a")
    #expect(bench.receipts.map(\.id.text) == ["a"])
  }

  @Test func `a backend that no longer accepts parts gets a newly prepared answer`() {
    var bench = RelayBench.asked()
    bench.lose()
    bench.prepare(parts: 3)
    bench.pass(.seconds(2))
    var next = RelayModel.Welcome.resumed
    next.acceptsParts = false
    bench.forget()
    bench.connect(next)
    #expect(
      bench.take() == [
        .discard(WorkID(1)), .read(WorkID(2), .of("a"), .steps, inParts: false),
        .notify(RelayStatus(.running)),
      ])
  }

  @Test(arguments: [RelayModel.Input.stop, .link(.device(.lifecycle(.background)))])
  func `the end of a session drops its questions`(end: RelayModel.Input) {
    var bench = RelayBench.asked(.foreground)
    bench.ask("b")
    bench.forget()
    bench.give(end)
    #expect(bench.receipts.map(\.outcome) == [.dropped, .dropped])
    #expect(bench.take().contains(.discard(WorkID(1))))
    #expect(bench.model.line.items == [])
  }

  @Test func `events of an older attempt change nothing`() {
    var bench = RelayBench.asked()
    bench.reconnect(.resumed)
    let before = bench.model
    bench.forget()
    let old = AttemptID(1)
    let inputs: [RelayModel.Input] = [
      .opened(old), .link(.ping(old)), .link(.pong(old, 1)), .link(.oversized(old, bytes: 1)),
      .link(.lost(old, .reset)),
      .unsent(old), .closed(old), .message(old, .paired(.first)),
      .message(old, .asked(.of("b"), .steps)), .message(old, .cancelled(.of("a"))),
      .message(old, .unknown(type: "x", nil)),
      .message(old, .malformed(RelayWireError(.tooLong(bytes: 1)))),
    ]
    for input in inputs { bench.give(input) }
    #expect(bench.log == [])
    #expect(bench.model.link == before.link)
    #expect(bench.model.line == before.line)
  }

  @Test func `a socket that fails to send is closed, and the relay reconnects`() {
    var bench = RelayBench.asked()
    bench.prepare()
    bench.give(.unsent(bench.attempt))
    #expect(bench.state == .reconnecting)
    #expect(bench.take().contains(.close(AttemptID(1), code: 1002)))
  }

  @Test func `a second code on the same connection keeps the session and its question`() {
    var bench = RelayBench.asked()
    bench.forget()
    bench.say(.paired(.plain))
    #expect(bench.log == [.update(.pair(RelayModel.Welcome.plain.pair))])
    #expect(bench.state == .running)
    bench.prepare()
    #expect(bench.receipts.count == 1)
  }

  private func opens(_ bench: RelayBench) -> [Secret?] {
    bench.log.compactMap { if case .open(_, let resume) = $0 { resume } else { nil } }
  }
}
