/// The trace to which a request belongs, as its `traceparent` header field names it (W3C Trace
/// Context, level 1).
public struct TraceParent: Sendable, Hashable {
  /// The ID of the trace, 32 lowercase hexadecimal digits that are not all zero.
  public let traceID: String

  /// Parses the value of the field. Returns `nil` unless it has version `00` and its form:
  /// `00-TRACE-PARENT-FLAGS` with 32, 16 and 2 lowercase hexadecimal digits.
  ///
  /// The IDs of the trace and of the parent are not all zero. The specification asks to ignore a
  /// field of another form.
  public init?(_ value: some StringProtocol) {
    let parts = value.split(separator: "-", omittingEmptySubsequences: false)
    guard value.utf8.count == 55, parts.count == 4, parts[0] == "00",
      Self.isID(parts[1], digits: 32), Self.isID(parts[2], digits: 16),
      parts[3].utf8.allSatisfy(Self.isDigit)
    else { return nil }
    traceID = String(parts[1])
  }

  private static func isID(_ text: some StringProtocol, digits: Int) -> Bool {
    text.utf8.count == digits && text.utf8.allSatisfy(isDigit)
      && text.utf8.contains { $0 != UInt8(ascii: "0") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}
