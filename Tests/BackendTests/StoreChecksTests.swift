import HoldfastCore
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

  @Test mutating func `what is known is the last result of each store, if there is one`() {
    #expect(checks.known(at: .zero) == [.unanswered, .unanswered])
    _ = checks.begin(at: .zero)
    _ = checks.answered(0, nil)
    #expect(checks.known(at: .zero) == [.checked(nil), .unanswered])
    _ = checks.answered(1, full)
    _ = checks.begin(at: .zero)
    _ = checks.answered(0, full)
    #expect(checks.known(at: .zero) == [.checked(full), .checked(full)])
  }

  @Test(arguments: [(-1, false), (0, true), (1, true)])
  mutating func `a store that does not answer for 3 s is known as such until it does`(
    past: Int64, isOverdue: Bool
  ) {
    _ = checks.begin(at: .zero)
    for store in 0...1 { _ = checks.answered(store, nil) }
    _ = checks.begin(at: .zero)
    _ = checks.answered(1, nil)
    let due = Instant.zero.advanced(by: .seconds(3)).advanced(by: .nanoseconds(past))
    #expect(checks.known(at: due) == [isOverdue ? .unanswered : .checked(nil), .checked(nil)])
    _ = checks.tick(at: .zero.advanced(by: .seconds(5)))
    _ = checks.begin(at: .zero.advanced(by: .seconds(5)))
    #expect(checks.known(at: .zero.advanced(by: .seconds(5))).first == .unanswered)
    _ = checks.answered(0, nil)
    #expect(checks.known(at: .zero.advanced(by: .seconds(5))).first == .checked(nil))
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
