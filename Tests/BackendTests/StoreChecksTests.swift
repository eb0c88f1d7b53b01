import HoldfastCore
import HoldfastWire
import Testing

@testable import HoldfastBackend

/// Tests of the store checks whose results `/healthz` reports.
struct StoreChecksTests {
  private var checks = StoreChecks(of: 2)
  private let full = StoreFailure.full(detail: "disk")

  @Test mutating func `a round of checks ends when every store has answered`() {
    #expect(checks.deadline == nil)
    #expect(checks.begin(at: .zero) == [0, 1])
    #expect(checks.begin(at: .zero) == [])
    #expect(checks.answered(1, full) == nil)
    #expect(checks.answered(0, nil) == [.checked(nil), .checked(full)])
    #expect(checks.deadline == nil)
    #expect(checks.begin(at: .zero) == [0, 1])
  }

  @Test(arguments: [(-1, false), (0, true), (1, true)])
  mutating func `a round of checks ends after 5 s even if a store hangs`(past: Int64, isOver: Bool)
  {
    _ = checks.begin(at: .zero)
    _ = checks.answered(0, nil)
    let due = Instant.zero.advanced(by: .seconds(5))
    #expect(checks.deadline == due)
    let outcome = checks.tick(at: due.advanced(by: .nanoseconds(past)))
    #expect(outcome == (isOver ? [.checked(nil), .unanswered] : nil))
    #expect((checks.deadline == nil) == isOver)
  }

  @Test mutating func `a running check is not started again and counts when it ends`() {
    let due = Instant.zero.advanced(by: .seconds(5))
    _ = checks.begin(at: .zero)
    #expect(checks.tick(at: due) == [.unanswered, .unanswered])
    #expect(checks.answered(0, nil) == nil)
    #expect(checks.begin(at: due) == [0])
    #expect(checks.answered(1, full) == nil)
    #expect(checks.answered(0, nil) == [.checked(nil), .checked(full)])
    #expect(checks.tick(at: .zero.advanced(by: .seconds(100))) == nil)
  }
}
