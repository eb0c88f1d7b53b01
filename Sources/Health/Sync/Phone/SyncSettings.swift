public import HoldfastCore

/// The settings of a phone's sync. Their encoded form contains no secret.
public struct SyncSettings: Sendable, Hashable, Codable {
  /// The policy, which sets the retries and the conditions of attempts.
  public var policy: LinkPolicy
  /// The maximum number of uploads of one type that are handed over at once.
  ///
  /// If the value is 1, batches are sent in order. A system that uploads while the app is suspended
  /// is given more uploads at once, because servers order the samples by timestamp.
  public var depth: Int

  /// Creates settings with a policy.
  public init(policy: LinkPolicy = .healthSync, depth: Int = 1) {
    (self.policy, self.depth) = (policy, max(1, depth))
  }

  /// The time span of the first sync of a type (the original app's).
  static let firstSpan = Duration.seconds(30 * 86_400)
  /// The maximum number of samples and deletions in one page. Project choice: two batches, which
  /// limits how much is read again after a failure.
  static let pageLimit = 2 * SyncPacking.mostRecords
  /// The maximum number of waiting batches of a type. At the limit, the source is not read until
  /// half of the batches are gone.
  package static let mostBatches = 64
  /// The debounce interval of change callbacks. Project choice: between the 16 ms and 2 s that
  /// similar clients use, and short compared with the budget of a wake-up.
  static let gathering = Duration.milliseconds(50)
  /// The waits after failures of a source, a file or the store: 1, 2, 4 … 60 s.
  private static let pauses = Schedule.doubling(from: .seconds(1), to: .seconds(60))
  /// The number of consecutive failures that counts as an outage. Project choice: the waits before
  /// it add up to 7 s.
  static let mostFailures = 4
  /// The interval at which a refused secret is read again. Project choice.
  static let secretPause = Duration.seconds(60)
  /// The wait between attempts if the policy's schedule has no waits. Project choice.
  static let longestPause = Duration.seconds(900)
  /// The longest time that `stop` waits for transactions in progress.
  static let flushTimeout = Duration.seconds(2)

  /// Returns how long before its expiry a grant of background time is given back.
  ///
  /// The grant began before the model received it, and the system terminates an app that is late.
  /// Project choice: a second, or half of a shorter grant.
  package static func margin(of budget: Duration) -> Duration { min(.seconds(1), budget / 2) }

  static func pause(after failures: Int) -> Duration { pauses.wait(after: failures) }
}

/// The device conditions that determine the cost of uploads.
public struct SyncConditions: Sendable, Hashable, Codable {
  /// Whether the network asks apps to use little data (Low Data Mode).
  public var isConstrained: Bool
  /// Whether the network charges for data, such as a cellular network.
  public var isExpensive: Bool
  /// Whether the device saves power (Low Power Mode).
  public var isLowPower: Bool
  /// Whether the device has been unlocked, so that health data can be read.
  public var isUnlocked: Bool

  /// Creates conditions. The defaults allow everything.
  public init(
    isConstrained: Bool = false, isExpensive: Bool = false, isLowPower: Bool = false,
    isUnlocked: Bool = true
  ) {
    (self.isConstrained, self.isExpensive) = (isConstrained, isExpensive)
    (self.isLowPower, self.isUnlocked) = (isLowPower, isUnlocked)
  }

  /// Whether uploads may begin while the app is in the background.
  ///
  /// Uploads wait if the user or the system asked to save data or power. An expensive network alone
  /// is acceptable, since a sync sends little.
  var allowsBackground: Bool { !isConstrained && !isLowPower }
}
