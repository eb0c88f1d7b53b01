/// A version of the session protocol: `major.minor.patch`.
public struct SessionVersion: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
  /// The major version. It increases with changes that are incompatible with older versions.
  public var major: Int
  /// The minor version. It increases with changes that older versions can work around.
  public var minor: Int
  /// The patch version. It increases with corrections.
  public var patch: Int

  public init(_ major: Int, _ minor: Int, _ patch: Int) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// Parses `major.minor.patch`, with each number from 0 to 999,999. Returns `nil` for any other
  /// text.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let digits = parts.allSatisfy { part in
      (1...6).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
    let numbers = parts.compactMap { Int($0) }
    guard digits, numbers.count == 3 else { return nil }
    self.init(numbers[0], numbers[1], numbers[2])
  }

  public static func < (left: SessionVersion, right: SessionVersion) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }

  public var description: String { "\(major).\(minor).\(patch)" }

  /// The oldest supported version. A peer that sends no version is treated as having this one.
  public static let oldest = SessionVersion(0, 4, 0)
  /// The newest version.
  public static let newest = SessionVersion(0, 5, 0)

  /// Returns the version for a session with a client.
  ///
  /// - Parameters:
  ///   - text: The client's version. A version that cannot be read is treated as the oldest
  ///     version.
  ///   - newest: The newest version of the server.
  /// - Returns: The version, or `nil` if the client's version is not supported any more.
  public static func negotiated(
    _ text: String?, newest: SessionVersion = .newest
  ) -> SessionVersion? {
    let client = text.flatMap { SessionVersion($0) } ?? oldest
    return client < oldest ? nil : min(client, newest)
  }
}

/// An extension of the session protocol. It is used if both ends list it.
public enum SessionFeature: String, Sendable, Hashable, Codable, CaseIterable {
  /// The guarantee that the server stores each prompt's idempotency key durably before the prompt
  /// has an effect.
  case idempotency
  /// The numbering of messages that must arrive. During the handshake, both ends report the last
  /// message that they received.
  case resume
  /// Subscriptions to several conversations in one message, `subscribe_batch`.
  case batch = "subscribe_batch"
  /// Responses that arrive in parts while they are created.
  case parts = "response_parts"
  /// A `heartbeat` from the server every 45 s.
  case heartbeat
  /// A `draining` message from the server before it stops.
  case draining
  /// An answer to a challenge that also signs the other values of `connect`.
  case boundProof = "bound_proof"
}
