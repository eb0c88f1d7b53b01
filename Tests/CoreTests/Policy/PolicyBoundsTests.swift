import Testing

@testable import HoldfastCore

/// The largest negative duration.
private let early = Duration.nanoseconds(-1)

/// Tests of the rules for policies that are created in code, which can have values that no text can
/// express.
@Suite struct PolicyBoundsTests {
  /// A change to a valid policy, and the problem that it causes, if any.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var policy: LinkPolicy
    var problem: String?
    var change: @Sendable (inout PolicyDraft) -> Void

    init(
      _ name: String, of policy: LinkPolicy, _ problem: String?,
      _ change: @escaping @Sendable (inout PolicyDraft) -> Void
    ) {
      testDescription = name
      self.policy = policy
      self.problem = problem
      self.change = change
    }
  }

  private static func waits(_ count: Int, _ problem: String?) -> Case {
    Case("\(count) waits", of: .messageStream, problem) {
      $0.retry.first = .list(Array(repeating: .seconds(1), count: count))
    }
  }

  private static func schedule(
    _ name: String, jitter: Double, floor: Duration, _ problem: String
  ) -> Case {
    Case(name, of: .messageStream, problem) {
      $0.retry.first = .exponential(
        first: .seconds(1), factor: 2, cap: .seconds(9), jitter: jitter, floor: floor, attempts: 3)
    }
  }

  private static let gates = [
    Case("a late refresh", of: .session, "gate.refreshLead must not be negative") {
      $0.gate.refreshLead = early
    },
    Case("an early end of settling", of: .session, "gate.debounce must not be negative") {
      $0.gate.debounce = early
    },
    Case(
      "an early leave", of: .session, "gate.background must not leave after a negative time"
    ) {
      $0.gate.background = .leave(after: early, then: .hold)
    },
    Case("a leave for no standby", of: .session, "gate.background=standby needs a standby") {
      $0.gate.background = .leave(after: .zero, then: .standby)
    },
    Case("a leave for a standby", of: .messageStream, nil) {
      $0.gate.background = .leave(after: .zero, then: .standby)
    },
    Case("an early connect", of: .session, "gate.foreground must not be negative") {
      $0.gate.foreground = .connect(after: early)
    },
    Case("a connect at once", of: .session, nil) { $0.gate.foreground = .connect(after: .zero) },
  ]

  private static let liveness = [
    Case(
      "a ping like the silence", of: .messageStream,
      "liveness.ping must be shorter than liveness.silence"
    ) {
      $0.liveness.silence = .seconds(60)
      $0.liveness.ping = .seconds(60)
    },
    Case("a ping below the silence", of: .messageStream, nil) {
      $0.liveness.silence = .seconds(60)
      $0.liveness.ping = Duration.seconds(60) + early
    },
    Case("an idle link for no standby", of: .session, "liveness.idle=standby needs a standby") {
      $0.liveness.idle = IdleRule(after: .seconds(60), then: .standby)
    },
    Case(
      "a slow standby that is none", of: .session,
      "failure.unavailable needs a standby, and there is none"
    ) {
      $0.actions[.unavailable] = .standbySlow
    },
  ]

  private static let retries = [
    waits(1_000, nil), waits(1_001, "retry.first must not hold over 1000 waits"),
    schedule(
      "too much jitter", jitter: 1.5, floor: .seconds(1), "retry.first: jitter must be 0 to 1"),
    schedule(
      "a floor below zero", jitter: 0, floor: early, "retry.first: floor must be 0s to cap"),
    Case("one problem twice", of: .session, "retry.windows must allow at least 1 attempt") {
      let window = AttemptWindow(attempts: 0, per: .seconds(60))
      $0.retry.windows = [window, window]
    },
  ]

  @Test(arguments: gates + liveness + retries)
  func `a policy that breaks one rule is rejected with exactly that problem`(example: Case) {
    var draft = PolicyDraft(example.policy)
    example.change(&draft)
    var problems: [String] = []
    do throws(PolicyError) {
      _ = try draft.checked()
    } catch {
      problems = error.problems
    }
    #expect(problems == [example.problem].compactMap { $0 })
  }
}
