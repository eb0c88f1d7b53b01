import HoldfastCore
import Testing

/// Tests of the rules for the retries of policies that are created in code.
@Suite struct RetryBoundsTests {
  /// A change to a valid retry policy, and the problem that it causes, if any.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var problem: String?
    var change: @Sendable (inout RetryPolicy) -> Void

    init(
      _ name: String, _ problem: String?, _ change: @escaping @Sendable (inout RetryPolicy) -> Void
    ) {
      testDescription = name
      self.problem = problem
      self.change = change
    }
  }

  /// A second window that is slow enough to satisfy the limit on the overall rate, whatever the
  /// first window allows.
  private static let slow = AttemptWindow(attempts: 1, per: .seconds(60))

  private static func window(
    _ attempts: Int, _ per: Duration, _ problem: String?
  ) -> Case {
    Case("\(attempts) in \(per)", problem) {
      $0.windows = [AttemptWindow(attempts: attempts, per: per), slow]
    }
  }

  private static func breaker(
    _ failures: Int, _ within: Duration, _ pause: Duration, _ problem: String?
  ) -> Case {
    Case("\(failures) failures within \(within), a pause of \(pause)", problem) {
      $0.breaker = Breaker(failures: failures, within: within, pause: pause)
    }
  }

  @Test(arguments: [
    Case("no window", "retry.windows must hold at least one window") { $0.windows = [] },
    window(0, .seconds(1), "retry.windows must allow at least 1 attempt"),
    window(1, .seconds(1), nil), window(1_000, .seconds(1), nil),
    window(1_001, .seconds(1), "retry.windows must not remember more than 1000 attempts"),
    window(1, .nanoseconds(-1), "retry.windows must last longer than 0s"),
    window(1, .zero, "retry.windows must last longer than 0s"),
    window(1, .nanoseconds(1), nil),
    breaker(0, .seconds(1), .seconds(1), "retry.breaker must count at least 1 failure"),
    breaker(1, .seconds(1), .seconds(1), nil), breaker(1_000, .seconds(1), .seconds(1), nil),
    breaker(
      1_001, .seconds(1), .seconds(1), "retry.breaker must not count over 1000 failures"),
    breaker(1, .zero, .seconds(1), "retry.breaker must last longer than 0s"),
    breaker(1, .seconds(1), .zero, "retry.breaker must last longer than 0s"),
    breaker(1, .nanoseconds(1), .nanoseconds(1), nil),
    Case("no stability", "retry.stability must be longer than 0s") { $0.stability.after = .zero },
    Case("the least stability", nil) { $0.stability.after = .nanoseconds(1) },
    Case("no spread", "retry.serverJitter must be longer than 0s") { $0.serverJitter = .zero },
    Case("the least spread", nil) { $0.serverJitter = .nanoseconds(1) },
    Case("a wish below the spread", "retry.maxRetryAfter must be at least retry.serverJitter") {
      $0.maxRetryAfter = $0.serverJitter - .nanoseconds(1)
    },
    Case("a wish like the spread", nil) { $0.maxRetryAfter = $0.serverJitter },
  ])
  func `each retry bound is enforced below, at and above its value`(example: Case) {
    let policy = LinkPolicy.messageStream
    var retry = policy.retry
    example.change(&retry)
    var problems: [String] = []
    do throws(PolicyError) {
      _ = try LinkPolicy(
        name: policy.name, retry: retry, gate: policy.gate, liveness: policy.liveness,
        establish: policy.establish, standby: policy.standby, actions: policy.actions)
    } catch {
      problems = error.problems
    }
    #expect(problems == [example.problem].compactMap { $0 })
  }
}
