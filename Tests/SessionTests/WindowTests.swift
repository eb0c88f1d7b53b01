import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the bounds of windows, and of the requests that follow them.
@Suite struct WindowTests {
  @Test func `a live message after the range of a subscription causes no further request`() {
    var harness = SessionHarness.talking(version: .oldest)
    harness.say(.numbered([.one("x2", at: 2)], next: 3))
    #expect(harness.subscriptions.count == 1)
    harness.say(.numbered([.one("x1", at: 1), .one("x2", at: 2)], next: 3))
    #expect(harness.subscriptions.count == 1)
    #expect(harness.messages.map { $0.prefix(2) } == ["m0", "x2", "x1"])
    #expect(harness.model.isCaughtUp)
  }

  @Test func `a window with a stated range needs no numbers in its messages`() {
    var harness = SessionHarness.talking(version: .oldest)
    harness.say(
      .history(
        SessionHistory(
          conversation: SessionHarness.conversation, entries: [.one("x1", at: nil)],
          extent: .sequence(first: 1, last: 2, next: 3), isComplete: true)))
    #expect(harness.model.conversations[SessionHarness.conversation]?.sequence == 2)
  }

  @Test func `requests each hole, also after one that was filled`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("x", at: 5), .one("y", at: 6)], next: 7))
    harness.say(.window([.one("v", at: 0), .one("w", at: 1)], next: 7))
    #expect(harness.subscriptions.count == 2)
    harness.say(.window([.one("p", at: 8), .one("q", at: 9)], next: 10))
    #expect(harness.gaps == [])
    #expect(harness.subscriptions.count == 3)
  }

  @Test func `an incomplete window is history, also in a followed conversation`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.say(.window([.one("x", at: 1)], next: 2, isComplete: false))
    #expect(harness.messages == ["m0 live", "x history"])
  }

  @Test func `reports a refused history of a conversation known to the server`() {
    var harness = SessionHarness.talking()
    harness.give(.follow(conversation: SessionHarness.conversation))
    let error = SessionError(message: "no", conversation: SessionHarness.conversation)
    harness.say(.error(error))
    #expect(harness.notices == [.refused(error)])
  }

  @Test(arguments: [
    SessionServerMessage.response(
      SessionResponse(id: "m", conversation: "c", result: .success(text: "x"))),
    .replay(id: "m", .one("m", at: nil), number: nil), .historyBatch([]), .window([], next: 0),
  ])
  func `a loss after data of the server begins a new series of attempts`(
    message: SessionServerMessage
  ) {
    var harness = SessionHarness.opening()
    for _ in 1...2 { harness.lose() }
    harness.connect()
    harness.say(message)
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    #expect(harness.model.link.status.attempt == 1)
  }

  @Test func `requests a hole of one message`() {
    var harness = SessionHarness.talking(version: .oldest)
    harness.say(.numbered([.one("x2", at: 2), .one("x3", at: 3)], next: 4))
    #expect(harness.subscriptions.map(\.cursor) == [.sequence(0), .sequence(0)])
    #expect(harness.gaps == [])
  }
}
