public import LinkCore

/// Times as RFC 3339 text <-> timestamps.
public enum RFC3339 {
  public static func parse(_ text: some StringProtocol) -> Timestamp? { nil }
  public static func parse(_ bytes: ArraySlice<UInt8>) -> Timestamp? { nil }
  public static func format(_ time: Timestamp) -> String { "" }
}
