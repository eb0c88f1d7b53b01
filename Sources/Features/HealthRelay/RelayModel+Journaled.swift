public import LinkCore

extension RelayModel: Journaled {
  public static var journalName: String { "health-relay" }

  /// The policy of a relay, and whether it shows a notification.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy
    var extra: Extra

    struct Extra: Codable, Hashable {
      /// "true" or "false".
      var notification: String?
    }

    public init(_ settings: RelaySettings) {
      policy = settings.policy
      extra = Extra(notification: settings.hasNotification ? "true" : "false")
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    let hasNotification = birth.extra.notification == "true"
    self.init(
      settings: RelaySettings(policy: birth.policy, hasNotification: hasNotification), seed: seed)
  }
}
