import HoldfastCore
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync
@testable import HoldfastUploads

/// Tests of the constants of a sync, and of the device conditions under which it works.
@Suite struct SyncNumberTests {
  @Test func `retry delays grow up to one minute`() {
    let waits = (0...9).map { SyncSettings.pause(after: $0) }
    #expect(waits == [1, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
  }

  @Test func `the constants match the requirements, the contract and common practice`() {
    #expect(SyncSettings.firstSpan == .seconds(2_592_000))
    #expect(SyncSettings.pageLimit == 2_000)
    #expect(SyncSettings.mostBatches == 64)
    #expect(SyncSettings.gathering == .milliseconds(50))
    #expect(SyncSettings.mostFailures == 4)
    #expect(SyncSettings.secretPause == .seconds(60))
    #expect(SyncSettings.longestPause == .seconds(900))
    #expect(SyncSettings.flushTimeout == .seconds(2))
    #expect([-1, 0, 1, 2].map { SyncSettings(depth: $0).depth } == [1, 1, 1, 2])
    #expect(SyncSettings() == SyncSettings(policy: .healthSync, depth: 1))
    #expect(ResumableUpload.usualLeast == 65_536)
    #expect(ResumableUpload.mostPiece == 262_144)
    #expect(ResumableUpload.mostDetours == 3)
    #expect(
      [1_000, 1_999, 2_000, 30_000].map { SyncSettings.margin(of: .milliseconds($0)) }
        == [.milliseconds(500), .microseconds(999_500), .seconds(1), .seconds(1)])
  }

  @Test func `default conditions allow background work, constrained or low-power ones forbid it`() {
    #expect(
      SyncConditions()
        == SyncConditions(
          isConstrained: false, isExpensive: false, isLowPower: false, isUnlocked: true))
    for (isConstrained, isExpensive, isLowPower, isAllowed) in [
      (false, false, false, true), (true, false, false, false), (false, true, false, true),
      (false, false, true, false), (true, true, true, false),
    ] {
      let conditions = SyncConditions(
        isConstrained: isConstrained, isExpensive: isExpensive, isLowPower: isLowPower)
      #expect(conditions.allowsBackground == isAllowed)
    }
  }

  @Test func `a queue returns the batches that are ready to be sent, in order`() {
    var queue = TypeQueue("t", (0..<5).map { TypeQueue.Batch(queued: SyncHarness.batch("\($0)")) })
    #expect(queue.ready(depth: 1) == [0])
    #expect(queue.ready(depth: 3) == [0, 1, 2])
    #expect(queue.ready(depth: 9) == [0, 1, 2, 3, 4])
    #expect(queue.handOver(0, at: .zero).file == "0")
    queue.quarantine(1, "400")
    #expect(queue.split(3) == "3")
    #expect(queue.sending == ["0"])
    #expect((queue.quarantined, queue.pending) == (1, 4))
    #expect(queue.ready(depth: 1) == [])
    #expect(queue.ready(depth: 9) == [2], "later batches wait for the parts of a split one")
    #expect(queue.note(.refused) == 1)
    #expect(queue.ready(depth: 9) == [], "one try at a time")
    queue.acknowledge(0)
    #expect(queue.ready(depth: 9) == [2])
    #expect(queue.pending == 3)
    queue.wait(until: .second(5))
    #expect(queue.ready(depth: 9) == [], "it waits")
    queue.endWait(at: .second(4))
    #expect(queue.ready(depth: 9) == [])
    queue.endWait(at: .second(5))
    #expect(queue.ready(depth: 9) == [2])
  }

  @Test func `the end of a retry schedule is reported once until the next manual retry`() {
    var queue = TypeQueue("t")
    #expect(queue.note(.refused) == 1)
    #expect(!queue.isExhausted)
    #expect([queue.exhaust(), queue.exhaust()] == [true, false])
    #expect(queue.note(.reset) == 2)
    #expect(
      queue.failureStreak == TypeQueue.FailureStreak(failures: 2, last: .reset, isExhausted: true))
    queue.tryNow(at: .zero, earliest: .zero)
    #expect([queue.exhaust(), queue.exhaust()] == [true, false])
  }

  @Test func `a type counts as read once a run has ended and no callout has come since`() {
    var queue = TypeQueue("t")
    #expect(queue.isRead, "the type is not requested")
    queue.setReadsSource(true)
    #expect(!queue.isRead)
    #expect(queue.fire(at: .zero) == 1)
    #expect(queue.advance(at: .second(1), isUnlocked: false) == nil)
    #expect(queue.advance(at: .second(1), isUnlocked: true) == .fetch)
    #expect(!queue.isRead)
    queue.endRun(at: .second(1))
    #expect(queue.isRead)
    #expect(queue.hasEnded(1) && !queue.hasEnded(2))
    #expect(queue.fire(at: .second(2)) == 2)
    #expect(!queue.isRead)
  }
}
