public import HoldfastCore
import HoldfastJSON

/// The owner of a phone's progress: a server, a user of the server, and an epoch of its stored
/// data.
public struct SyncOwner: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The address of the server.
  public var server: String
  /// The user to whom the secret belongs, or `nil` if the server does not report the user.
  public var user: String?
  /// The epoch of the server's stored data, or `nil` if the server does not report one.
  public var epoch: String?

  /// Creates an owner.
  public init(server: String, user: String? = nil, epoch: String? = nil) {
    (self.server, self.user, self.epoch) = (server, user, epoch)
  }

  /// The user, the server and the epoch, such as `ann at https://example.com (epoch e1)`.
  public var description: String {
    (user.map { "\($0) at " } ?? "") + server + (epoch.map { " (epoch \($0))" } ?? "")
  }

  /// Returns the owner after an answer from a server. Values that the answer does not contain are
  /// kept.
  package func after(_ received: SyncOwner) -> SyncOwner {
    guard server == received.server else { return received }
    return SyncOwner(server: server, user: received.user ?? user, epoch: received.epoch ?? epoch)
  }

  /// The maximum size of an accepted epoch, in bytes. It equals the limit for the epoch of a
  /// position.
  static let mostEpochBytes = 64
}

/// The information that a server returns about itself and about the phone.
public struct SyncIdentity: Sendable, Hashable, Codable {
  /// The owner of the phone's progress.
  public var owner: SyncOwner
  /// The newest timestamp of this phone's batches on the server.
  public var stamp: Timestamp?

  /// Creates an identity.
  public init(_ owner: SyncOwner, stamp: Timestamp? = nil) {
    (self.owner, self.stamp) = (owner, stamp)
  }

  /// Reads the answer to `GET /api/sync`, regardless of its status. A server of another vendor
  /// reports no identity.
  public init(_ body: [UInt8], server: String) {
    let fields = JSONFields(body, keeping: ["epoch", "user", "timestamp"])
    func text(_ name: String) -> String? { (try? fields.optionalString(name)).flatMap(\.self) }
    guard fields.fault == nil else {
      self.init(SyncOwner(server: server))
      return
    }
    let user = text("user").flatMap { (1...200).contains($0.utf8.count) ? $0 : nil }
    let epoch = text("epoch").flatMap { Self.epoch($0) }
    // Without an epoch, the time has a different meaning, such as the time of the server's clock.
    let stamp = epoch == nil ? nil : text("timestamp").flatMap { RFC3339.parse($0) }
    self.init(SyncOwner(server: server, user: user, epoch: epoch), stamp: stamp)
  }

  /// Returns the body of the answer to a known user.
  public static func ready(epoch: String, user: String, stamp: Timestamp?) -> [UInt8] {
    var writer = JSONWriter(capacity: 150)
    writer.object {
      $0.entry("status", "ok")
      $0.entry("endpoint", "sync")
      $0.entry("epoch", epoch)
      $0.entry("user", user)
      if let stamp { $0.entry("timestamp", RFC3339.format(stamp)) }
    }
    return writer.bytes
  }

  /// The header field of every answer to a known user.
  public static let epochField = "Sync-Epoch"

  /// Returns the epoch in an answer, or `nil` if there is none.
  ///
  /// - Parameter field: A closure that returns the value of a header field, given its name in lower
  ///   case.
  public static func epoch(field: (String) -> String?) -> String? {
    field(epochField.lowercased()).flatMap { epoch($0) }
  }

  private static func epoch(_ text: String) -> String? {
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return isPlain && (1...SyncOwner.mostEpochBytes).contains(text.utf8.count) ? text : nil
  }
}
