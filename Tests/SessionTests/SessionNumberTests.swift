import HoldfastCore
import Testing

@testable import HoldfastSession

/// Tests that pin every constant of a session, so that a change is deliberate.
@Suite struct SessionNumberTests {
  @Test func `the times of a session`() {
    let times = [
      "stale": SessionSettings.staleAfter, "turn": SessionSettings.usualAnswerTimeout,
      "ack": SessionSettings.ackTimeout, "upload": SessionSettings.uploadTime,
      "longest upload": SessionSettings.longestUpload,
      "subscribe": SessionSettings.subscribeTimeout, "flush": SessionSettings.flushTimeout,
      "skew": SessionSettings.skewLimit,
    ]
    #expect(
      times == [
        "stale": .seconds(60), "turn": .seconds(300), "ack": .seconds(30), "upload": .seconds(10),
        "longest upload": .seconds(60), "subscribe": .seconds(10), "flush": .seconds(2),
        "skew": .seconds(30),
      ])
  }

  @Test func `the counts of a session`() {
    let counts = [
      "outbox": SessionSettings.outboxLimit, "failed": SessionSettings.failedLimit,
      "prompt": SessionSettings.longestPrompt, "message": SessionSettings.longestMessage,
      "upload": SessionSettings.uploadRate, "malformed": SessionSettings.malformedLimit,
      "ahead": SessionSettings.numbersAhead, "owed": SessionSettings.pendingAckLimit,
      "together": SessionSettings.subscriptionsTogether, "pieces": ResponsePieces.limit,
      "window": SessionSettings.uploadWindow, "message bytes": SessionSettings.messageBytes,
    ]
    #expect(
      counts == [
        "outbox": 1_000, "failed": 100, "prompt": 524_288, "message": 983_040, "upload": 16_384,
        "malformed": 5, "ahead": 1_000, "owed": 1_000, "together": 100, "pieces": 16_777_216,
        "window": 16_384, "message bytes": 256,
      ])
    #expect(
      SessionSettings.retries
        == .exponential(
          first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
          attempts: 20))
  }

  @Test func `the sizes of messages`() {
    #expect(
      [PayloadSize.usual, PayloadSize.window, PayloadSize.untold]
        == [200, 20, 100])
    #expect(PayloadSize.range == 50...250)
  }
}
