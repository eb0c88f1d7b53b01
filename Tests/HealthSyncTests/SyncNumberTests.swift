import LinkCore
import LinkHealth
import LinkStorage
import Testing

@testable import HealthSync

/// The numbers of a sync, and what the device lets it do.
@Suite struct SyncNumberTests {
  @Test func `waits grow to a minute`() {
    let waits = (0...9).map { SyncSettings.pause(after: $0) }
    #expect(waits == [1, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
  }

  @Test func `the numbers are those of the seed, the contract and the field`() {
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

  @Test func `a device allows all unless it says otherwise`() {
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

  @Test func `a lane gives what may be sent, in order`() {
    var lane = SyncLane("t")
    lane.batches = (0..<5).map { SyncLane.Batch(queued: SyncBench.batch("\($0)")) }
    #expect(lane.ready(depth: 1) == [0])
    #expect(lane.ready(depth: 3) == [0, 1, 2])
    #expect(lane.ready(depth: 9) == [0, 1, 2, 3, 4])
    lane.batches[0].state = .sending(since: .zero)
    lane.batches[1].queued.parked = "400"
    lane.batches[3].state = .halving
    #expect((lane.sending, lane.parked, lane.pending) == (1, 1, 4))
    #expect(lane.ready(depth: 1) == [])
    #expect(lane.ready(depth: 9) == [2], "the parts of the next one come first")
    lane.failures = 1
    #expect(lane.ready(depth: 9) == [], "one try at a time")
    lane.batches[0].state = .acknowledged
    #expect(lane.ready(depth: 9) == [2])
    #expect(lane.pending == 3)
    lane.retryAt = .second(5)
    #expect(lane.ready(depth: 9) == [], "it waits")
  }

  @Test func `a lane is read once a run has ended, and nothing fired since`() {
    var lane = SyncLane("t")
    #expect(lane.isRead, "it is not asked for")
    lane.isAsked = true
    #expect(!lane.isRead)
    (lane.begun, lane.ended) = (1, 1)
    #expect(lane.isRead)
    lane.isAgain = true
    #expect(!lane.isRead)
    (lane.isAgain, lane.run) = (false, .full)
    #expect(!lane.isRead)
  }
}
