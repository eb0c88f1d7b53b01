/// The body of a close frame (RFC 6455 section 5.5.1).
enum CloseFrame {
  /// The code that represents a close frame without a body. It is never sent (RFC 6455 section
  /// 7.4.1).
  static let noCode: UInt16 = 1005

  /// The maximum length of a reason: 125 bytes of control payload, minus two bytes for the code.
  static let longestReason = FrameHeader.longestControl - 2

  /// Returns whether a code may be sent in a close frame (RFC 6455 section 7.4 and its IANA
  /// registry).
  static func mayBeSent(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    case _: false
    }
  }

  static func parse(_ body: [UInt8]) throws(WebSocketError) -> (code: UInt16, reason: String) {
    if body.isEmpty { return (noCode, "") }
    guard body.count >= 2 else { throw .violation("half a close code") }
    let code = UInt16(body[0]) << 8 | UInt16(body[1])
    guard mayBeSent(code) else { throw .violation("a close code that may not be sent") }
    guard let reason = String(validating: body[2...], as: UTF8.self) else {
      throw .inconsistent("a close reason that is not UTF-8")
    }
    return (code, reason)
  }

  static func body(code: UInt16, reason: String) -> [UInt8] {
    if code == noCode { return [] }
    let sent = mayBeSent(code) ? code : 1000
    return [UInt8(sent >> 8), UInt8(sent & 0xFF)] + cut(reason)
  }

  private static func cut(_ reason: String) -> [UInt8] {
    var bytes = Array(reason.utf8.prefix(longestReason + 1))
    guard bytes.count > longestReason else { return bytes }
    // Removes the scalar that does not fit completely.
    while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
    return bytes
  }
}
