import HoldfastTestKit
import Testing

@testable import HoldfastCore

struct ExplorationTests {
  /// A policy whose rate limit of three tries per minute is exhausted during the exploration.
  ///
  /// A limit of ten tries per minute would not be exhausted.
  static let narrow: LinkPolicy? = try? LinkPolicy.messageStream.setting([
    ("retry.windows", "3/1m"), ("retry.first", "1s,2s"), ("retry.reconnect", "0s,1s"),
  ])

  /// Returns a policy whose exponential schedules end after two attempts.
  ///
  /// Schedules with twenty or unlimited attempts differ only in the number of attempts.
  private static func shortened(_ policy: LinkPolicy) throws -> LinkPolicy {
    let changes = policy.values.filter { $0.value.contains("*") }.map { key, value in
      (key: key, value: value.replacing(/x([0-9]+|unlimited)$/, with: "x2"))
    }
    return try policy.setting(changes)
  }

  /// All presets and the narrow policy, or one preset in a run without all seeds.
  private static let explored =
    PlayedSeeds.areAll
    ? LinkPolicy.presets.map(\.name) + ["narrow"] : [LinkPolicy.messageStream.name]

  @Test(arguments: explored)
  func `every reachable state and transition of a preset satisfies the guarantees of a link`(
    name: String
  ) async throws {
    let policy = try Self.shortened(
      #require(name == "narrow" ? Self.narrow : LinkPolicy.preset(named: name)))
    var explorer = Explorer(policy)
    await explorer.run()
    print("\(name): \(explorer.states) states, \(explorer.edges) edges")
    #expect(explorer.violations.prefix(5) == [])
    #expect(explorer.states > 100, "the exploration reaches many states")
  }

  @Test func `the explorer detects a machine that accepts late events`() async {
    var explorer = Explorer(.messageStream) { link, event, now in
      guard case .input(.lost(_, let failure)) = event, let current = link.currentAttempt else {
        return Explorer.honest(&link, event, now)
      }
      return link.handle(.lost(current, failure), at: now)
    }
    await explorer.run(stopAtFirst: true)
    #expect(explorer.violations.contains { $0.hasPrefix("6") })
  }

  @Test func `the explorer detects a machine that forgets its standby`() async {
    var explorer = Explorer(.bottleLink) { link, event, now in
      let effects = Explorer.honest(&link, event, now)
      if case .resting = link.state { link.standby.disarm() }
      return effects
    }
    await explorer.run(stopAtFirst: true)
    #expect(explorer.violations.contains { $0.hasPrefix("2") })
  }

  @Test func `the explorer detects a machine that forgets its attempt windows`() async throws {
    var explorer = Explorer(try #require(Self.narrow)) { link, event, now in
      let effects = Explorer.honest(&link, event, now)
      link.retry = Retry(link.policy.retry)
      return effects
    }
    await explorer.run(stopAtFirst: true)
    #expect(explorer.violations.contains { $0.hasPrefix("3") })
  }

  @Test func `the explorer detects a machine that treats an open socket as a connection`() async {
    var explorer = Explorer(.healthRelayService) { link, event, now in
      var effects = Explorer.honest(&link, event, now)
      if case .establishing(let trying) = link.state {
        effects += link.handle(.established(trying.attempt), at: now)
      }
      return effects
    }
    await explorer.run(stopAtFirst: true)
    #expect(explorer.violations.contains { $0.hasPrefix("4") })
  }
}
