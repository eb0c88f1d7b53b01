/// A version of the session protocol: `major.minor.patch`.
public struct SessionVersion: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
  /// The major version, which increases with changes that older ends do not understand.
  public var major: Int
  /// The minor version, which increases with changes that older ends can work around.
  public var minor: Int
  /// The patch version, which increases with corrections.
  public var patch: Int

  public init(_ major: Int, _ minor: Int, _ patch: Int) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// Reads `major.minor.patch`, each from 0 to 999,999. Returns `nil` for anything else.
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

  /// The oldest supported version, which also applies to a peer that names none.
  public static let oldest = SessionVersion(0, 4, 0)
  /// The newest version.
  public static let newest = SessionVersion(0, 5, 0)

  /// Returns the version for a session with a client.
  ///
  /// - Parameters:
  ///   - text: The client's version. A version that cannot be read counts as the oldest one.
  ///   - newest: The newest version of the server.
  /// - Returns: The version, or `nil` if the client's version is older than the oldest supported
  ///   one.
  public static func negotiated(
    _ text: String?, newest: SessionVersion = .newest
  ) -> SessionVersion? {
    let client = text.flatMap { SessionVersion($0) } ?? oldest
    return client < oldest ? nil : min(client, newest)
  }
}

/// An extension of the session protocol, which is used if both ends name it.
public enum SessionFeature: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server's durable storage of each prompt's idempotency key before the prompt has an effect.
  case idempotency
  /// The numbering of messages that must arrive. Both ends report on `connect` the last one
  /// received.
  case resume
  /// Requests for several conversations at once with `subscribe_batch`.
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
