/// A version of the session protocol: `major.minor.patch`.
public struct SessionVersion: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
  /// Changes that older ends do not understand.
  public var major: Int
  /// Changes that older ends can speak around.
  public var minor: Int
  /// Corrections.
  public var patch: Int

  public init(_ major: Int, _ minor: Int, _ patch: Int) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// Reads `major.minor.patch`, each 0 to 999,999; `nil` if the text is anything else.
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

  /// The oldest version that is served; a peer that names none has this one.
  public static let oldest = SessionVersion(0, 4, 0)
  /// The newest version.
  public static let newest = SessionVersion(0, 5, 0)

  /// Returns the version to speak with a client.
  ///
  /// - Parameters:
  ///   - text: What the client named; a version that cannot be read counts as the oldest one.
  ///   - newest: The newest version of the server.
  /// - Returns: `nil` if the client's version is older than the oldest that is served.
  public static func negotiated(
    _ text: String?, newest: SessionVersion = .newest
  ) -> SessionVersion? {
    let client = text.flatMap { SessionVersion($0) } ?? oldest
    return client < oldest ? nil : min(client, newest)
  }
}

/// An extension of the session protocol, named by both ends; a peer without it ignores its members.
public enum SessionFeature: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server remembers the idempotency key of each prompt durably before it has an effect.
  case idempotency
  /// Both ends number what must arrive, and say on `connect` up to where it came.
  case resume
  /// `subscribe_batch` asks for several conversations at once.
  case batch = "subscribe_batch"
  /// Responses come in pieces as they are made.
  case parts = "response_parts"
  /// The server sends `heartbeat` every 45 s.
  case heartbeat
  /// The server sends `draining` before it stops.
  case draining
  /// The answer to a challenge signs the rest of `connect` too, not the challenge alone.
  case boundProof = "bound_proof"
}
