public import LinkCore

/// The numbers and rules of a phone's sync; coded, they hold no secret.
public struct SyncSettings: Sendable, Hashable, Codable {
  /// When to try again, and when trying is allowed.
  public var policy: LinkPolicy
  /// How many uploads of one type are handed over at once. With 1 they are sent in order. A system
  /// that uploads while the app is suspended is given more: servers tell the order by the stamps.
  public var depth: Int

  /// Settings with a policy.
  public init(policy: LinkPolicy = .healthSync, depth: Int = 1) {
    (self.policy, self.depth) = (policy, max(1, depth))
  }

  /// How far the first sync of a type reaches back (contract 5.4).
  static let firstSpan = Duration.seconds(30 * 86_400)
  /// Samples and deletions of one page; ours: two batches, so that little is read twice.
  static let pageLimit = 2 * SyncPacking.mostRecords
  /// Batches of a type that may wait; at the bound its source is not read until half are gone.
  package static let mostBatches = 64
  /// How long callouts are gathered before the source is read; ours: between the 16 ms and the 2 s
  /// of peers, and little beside the budget of a wake-up.
  static let gathering = Duration.milliseconds(50)
  /// Waits after a source, a file or the store failed, the last one again and again.
  static let pauses: [Duration] = [1, 2, 4, 8, 16, 32, 60].map { .seconds($0) }
  /// So many failures in a row mean that it does not work now; ours: 7 s of pauses.
  static let mostFailures = 4
  /// How often a refused secret is read again; ours.
  static let secretPause = Duration.seconds(60)
  /// The wait between tries when the policy's schedule has none; ours.
  static let longestPause = Duration.seconds(900)
  /// How long `stop` waits for what is being stored.
  static let flushTimeout = Duration.seconds(2)

  /// How long before its end granted time is given back. It began before the model heard of it, and
  /// the system ends an app that is late; ours: a second, or half of a shorter grant.
  static func margin(of budget: Duration) -> Duration { min(.seconds(1), budget / 2) }

  static func pause(after failures: Int) -> Duration {
    pauses[min(max(failures, 1), pauses.count) - 1]
  }
}

/// What the device says about the cost of uploads.
public struct SyncConditions: Sendable, Hashable, Codable {
  /// The network asks apps to use little (Low Data Mode).
  public var isConstrained: Bool
  /// The network costs money, such as a cellular one.
  public var isExpensive: Bool
  /// The battery is to be spared (Low Power Mode).
  public var isLowPower: Bool
  /// Health data can be read: the device was unlocked.
  public var isUnlocked: Bool

  /// Conditions that allow everything by default.
  public init(
    isConstrained: Bool = false, isExpensive: Bool = false, isLowPower: Bool = false,
    isUnlocked: Bool = true
  ) {
    (self.isConstrained, self.isExpensive) = (isConstrained, isExpensive)
    (self.isLowPower, self.isUnlocked) = (isLowPower, isUnlocked)
  }

  /// Whether uploads may begin while the app is in background: not if the user or the system asked
  /// to save data or power. An expensive network alone is used, since a sync takes little.
  var allowsBackground: Bool { !isConstrained && !isLowPower }
}
