import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastHealthRelay

/// Tests that the invariant check of a pull detects broken states and accepts valid ones.
@Suite struct PullInvariantTests {
  private static let plants: [PlantedFault<PullModel>] = [
    ("pull: questions are leased only while they are worked on", { $0.phase = .ended }),
    ("pull: work is for the first in line", { $0.line = [] }),
    ("pull: the step under way was numbered", { $0.lastStep = 0 }),
    (
      "pull: the part that is posted is one of the answer",
      { $0.phase = .posting(StepID(2), .part(of: StepID(2), index: 2, count: 2), tries: 0) }
    ),
    (
      "pull: the part that is posted is one of the answer",
      { $0.phase = .posting(StepID(2), .part(of: StepID(2), index: -1, count: 2), tries: 0) }
    ),
    (
      "pull: it waits for no answer beyond the lease",
      { $0.phase = .reading(StepID(2), until: $0.limit.advanced(by: .nanoseconds(1))) }
    ),
    (
      "pull: it pauses within its budget",
      {
        $0.line = []
        $0.phase = .pausing(until: $0.end.advanced(by: .nanoseconds(1)), .lease, tries: 1)
      }
    ),
    ("pull: its counts only grow", { $0.report.left = -1 }),
  ]

  @Test func `the invariants detect every broken pull state`() {
    #expect(unnoticed(Self.plants, in: PullHarness.leased(2).pull) == [])
  }

  @Test func `a pause that lasts until the end of the budget breaks no invariant`() {
    var pull = PullHarness.leased(2).pull
    pull.line = []
    pull.phase = .pausing(until: pull.end, .lease, tries: 1)
    #expect(pull.brokenInvariants(.thorough) == [])
  }
}
