/// Frames made once and sent to many.
public enum WebSocketFrame {
  /// One whole text message as a server sends it: unmasked, uncompressed, final.
  ///
  /// The caller answers for `payload` being valid UTF-8.
  public static func text(_ payload: [UInt8]) -> [UInt8] {
    unmasked(.text, payload)
  }

  /// One whole binary message as a server sends it: unmasked, uncompressed, final.
  public static func binary(_ payload: [UInt8]) -> [UInt8] {
    unmasked(.binary, payload)
  }

  private static func unmasked(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
    var frame: [UInt8] = []
    frame.reserveCapacity(FrameHeader.longest + payload.count)
    FrameHeader.append(
      opcode, compressed: false, length: payload.count, mask: nil, to: &frame)
    frame.append(contentsOf: payload)
    return frame
  }
}
