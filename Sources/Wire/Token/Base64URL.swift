/// Base64 with the URL-safe alphabet and without padding (RFC 4648 section 5, RFC 7515 section 2).
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> String { "" }
  /// `nil` for padding, other characters, impossible lengths and bits left over that are not zero.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? { nil }
}
