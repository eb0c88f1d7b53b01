public import LinkCore

/// What a relay is told once: its policy, and its numbers from seed 000.
public struct RelaySettings: Sendable, Hashable, Codable {
  /// How the link under it behaves.
  public var policy: LinkPolicy
  /// Whether a notification stands while it is wanted, as a foreground service must have one.
  public var hasNotification: Bool

  /// Problems are told to the user at most once in this time (seed: 30 s).
  public static let problemInterval = Duration.seconds(30)
  /// A stop that takes longer is over (contracts 1.8: 5 s).
  public static let stopTimeout = Duration.seconds(5)
  /// Reading for one answer may take this long: under the 45 s that askers wait (contracts 1.9.5),
  /// so that they hear the cause.
  public static let readTimeout = Duration.seconds(40)
  /// Questions that may stand in line; one more is refused at once.
  public static let lineLimit = 32
  /// Ids of answered questions that are remembered while a connection lasts.
  public static let answeredLimit = 256
  /// At most 20 replies a minute to messages that are not understood; others get no reply. Ours.
  public static let refusals = AttemptWindow(attempts: 20, per: .seconds(60))

  /// Settings with a policy of one's own.
  public init(policy: LinkPolicy, hasNotification: Bool) {
    self.policy = policy
    self.hasNotification = hasNotification
  }

  /// The settings of a profile, with its preset.
  public init(_ profile: RelayProfile) {
    self.init(policy: profile.policy, hasNotification: profile != .foreground)
  }
}

/// What hosts a relay.
public enum RelayProfile: String, Sendable, Hashable, Codable, CaseIterable {
  /// A foreground service keeps the process and the socket alive in background.
  case service
  /// The same, which ends with an error after two quick retries, as the seed has it.
  case quick
  /// Only an app in front keeps the socket; background ends it.
  case foreground

  /// The preset that it goes by.
  public var policy: LinkPolicy {
    switch self {
    case .service: .healthRelayService
    case .quick: .healthRelayQuick
    case .foreground: .healthRelayForeground
    }
  }
}
