import HoldfastJSON

/// The body of `POST /relay/sync`: whether assistants read the samples that the phone's user syncs,
/// while the phone is away.
public enum SyncedOrder: Sendable, Hashable, CustomStringConvertible {
  /// Read the samples of the user of health sync who has this secret.
  ///
  /// Days are those of `zone`, the phone's time zone, or of the user's if it is `nil`.
  case read(secret: String, zone: String?)
  /// Read no synced samples from now on.
  case stop

  /// The maximum size of a secret, in bytes, as in the backend's file of secrets.
  static let maxSecretBytes = 1_024
  /// The maximum size of the name of a time zone, in bytes. The limit is Holdfast's own.
  static let maxZoneBytes = 64

  /// A description without the secret.
  public var description: String {
    switch self {
    case .read: "read synced samples"
    case .stop: "read no synced samples"
    }
  }

  /// Reads the body. A missing `secret`, or `null`, is `stop`.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> SyncedOrder {
    let fields = JSONFields(bytes, keeping: ["secret", "time_zone"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      guard let secret = try fields.optionalString("secret") else { return .stop }
      guard (1...maxSecretBytes).contains(secret.utf8.count) else {
        throw .outOfBounds(field: "secret")
      }
      let zone = try fields.optionalString("time_zone")
      guard zone.map({ (1...maxZoneBytes).contains($0.utf8.count) }) ?? true else {
        throw .outOfBounds(field: "time_zone")
      }
      return .read(secret: secret, zone: zone)
    }
  }

  /// The body of the request.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 120)
    writer.object {
      switch self {
      case .stop: $0.entry("secret", nil as String?)
      case .read(let secret, let zone):
        $0.entry("secret", secret)
        if let zone { $0.entry("time_zone", zone) }
      }
    }
    return writer.bytes
  }
}

/// The body of the answer to `POST /relay/sync`.
public struct SyncedAnswer: Sendable, Hashable {
  /// The name of the user whose samples are read, or `nil` if none are.
  public var user: String?

  /// Creates an answer.
  public init(user: String?) {
    self.user = user
  }

  /// The maximum size of a received name, in bytes. The limit is Holdfast's own.
  static let maxNameBytes = 1_024

  /// Reads the body.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> SyncedAnswer {
    let fields = JSONFields(bytes, keeping: ["user"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      let user = try fields.optionalString("user")
      guard (user?.utf8.count ?? 0) <= maxNameBytes else { throw .outOfBounds(field: "user") }
      return SyncedAnswer(user: user)
    }
  }

  /// The body of the answer.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 80)
    writer.object {
      $0.entry("success", true)
      $0.entry("user", user)
    }
    return writer.bytes
  }
}
