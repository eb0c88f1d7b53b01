import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests of the bounds of windows, and of the requests that follow them.
@Suite struct WindowTests {
  @Test func `a live message after the range of a subscription causes no further request`() {
    var bench = SessionBench.talking(version: .oldest)
    bench.say(.numbered([.one("x2", at: 2)], next: 3))
    #expect(bench.subscriptions.count == 1)
    bench.say(.numbered([.one("x1", at: 1), .one("x2", at: 2)], next: 3))
    #expect(bench.subscriptions.count == 1)
    #expect(bench.messages.map { $0.prefix(2) } == ["m0", "x2", "x1"])
    #expect(bench.model.isCaughtUp)
  }

  @Test func `a window with a stated range needs no numbers in its messages`() {
    var bench = SessionBench.talking(version: .oldest)
    bench.say(
      .history(
        SessionHistory(
          conversation: SessionBench.conversation, entries: [.one("x1", at: nil)],
          place: .sequence(first: 1, last: 2, next: 3), isComplete: true)))
    #expect(bench.model.conversations[SessionBench.conversation]?.sequence == 2)
  }

  @Test func `requests each hole, also after one that was filled`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("x", at: 5), .one("y", at: 6)], next: 7))
    bench.say(.window([.one("v", at: 0), .one("w", at: 1)], next: 7))
    #expect(bench.subscriptions.count == 2)
    bench.say(.window([.one("p", at: 8), .one("q", at: 9)], next: 10))
    #expect(bench.gaps == [])
    #expect(bench.subscriptions.count == 3)
  }

  @Test func `an incomplete window is history, also in a followed conversation`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.say(.window([.one("x", at: 1)], next: 2, isComplete: false))
    #expect(bench.messages == ["m0 live", "x history"])
  }

  @Test func `reports a refused history of a conversation known to the server`() {
    var bench = SessionBench.talking()
    bench.give(.follow(conversation: SessionBench.conversation))
    let error = SessionError(message: "no", conversation: SessionBench.conversation)
    bench.say(.error(error))
    #expect(bench.notices == [.refused(error)])
  }

  @Test(arguments: [
    SessionServerMessage.response(
      SessionResponse(id: "m", conversation: "c", result: .success(text: "x"))),
    .replay(id: "m", .one("m", at: nil), number: nil), .historyBatch([]), .window([], next: 0),
  ])
  func `a loss after data of the server begins a new series of attempts`(
    message: SessionServerMessage
  ) {
    var bench = SessionBench.opening()
    for _ in 1...2 { bench.lose() }
    bench.connect()
    bench.say(message)
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    #expect(bench.model.link.status.attempt == 1)
  }

  @Test func `requests a hole of one message`() {
    var bench = SessionBench.talking(version: .oldest)
    bench.say(.numbered([.one("x2", at: 2), .one("x3", at: 3)], next: 4))
    #expect(bench.subscriptions.map(\.cursor) == [.sequence(0), .sequence(0)])
    #expect(bench.gaps == [])
  }
}
