/// The SHA-256 hash of a token (FIPS 180-4), which is stored instead of the token.
public struct TokenHash: Sendable, Hashable, Comparable, Codable {
  /// The 32 bytes of the hash.
  public let bytes: [UInt8]

  /// Creates a hash. Returns `nil` unless there are 32 bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Orders hashes by their bytes, from first to last.
  public static func < (left: TokenHash, right: TokenHash) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
