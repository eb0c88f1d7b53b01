/// The opcodes of RFC 6455 section 5.2. Every other value is reserved.
enum Opcode: UInt8 {
  case continuation = 0x0
  case text = 0x1
  case binary = 0x2
  case close = 0x8
  case ping = 0x9
  case pong = 0xA

  var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The header of one frame (RFC 6455 section 5.2).
struct FrameHeader: Equatable {
  var final: Bool
  var compressed: Bool
  var opcode: Opcode
  var length: UInt64
  /// The masking key as a little-endian number, whose lowest byte masks the first octet.
  var mask: UInt32?
  /// The number of octets of this header.
  var size: Int

  /// The maximum length of a header: 2 octets, 8 octets of extended length, and 4 octets of masking
  /// key.
  static let longest = 14

  /// The maximum payload of a control frame in bytes (RFC 6455 section 5.5).
  static let longestControl = 125

  /// The state that determines which frames are valid.
  struct Context {
    var receiver: WebSocketRole
    var compression: Bool
    var insideMessage: Bool
  }

  /// Parses a header and fails at the first invalid octet. Returns `nil` if more octets are needed.
  static func parse(
    _ bytes: UnsafeRawBufferPointer, in context: Context
  ) throws(WebSocketError) -> FrameHeader? {
    guard bytes.count >= 1 else { return nil }
    var header = try unsafe first(bytes[0], in: context)
    guard bytes.count >= 2 else { return nil }
    let second = unsafe bytes[1]
    let masked = second & 0x80 != 0
    guard masked == (context.receiver == .server) else {
      throw .violation(masked ? "a server's frame is masked" : "a client's frame is not masked")
    }
    let short = second & 0x7F
    if header.opcode.isControl, short > UInt8(longestControl) {
      throw .violation("a control frame is longer than 125 bytes")
    }
    guard let length = try unsafe extendedLength(bytes, short: short) else { return nil }
    header.length = length
    header.size = 2 + (short < 126 ? 0 : short == 126 ? 2 : 8)
    guard masked else { return header }
    guard bytes.count >= header.size + 4 else { return nil }
    header.mask = unsafe UInt32(
      littleEndian: bytes.loadUnaligned(fromByteOffset: header.size, as: UInt32.self))
    header.size += 4
    return header
  }

  private static func first(
    _ octet: UInt8, in context: Context
  ) throws(WebSocketError) -> FrameHeader {
    guard octet & 0x30 == 0 else { throw .violation("a reserved bit is set") }
    guard let opcode = Opcode(rawValue: octet & 0x0F) else {
      throw .violation("a reserved opcode")
    }
    let compressed = octet & 0x40 != 0
    let final = octet & 0x80 != 0
    switch opcode {
    case .text, .binary:
      if context.insideMessage { throw .violation("a new message inside a fragmented one") }
    case .continuation:
      guard context.insideMessage else {
        throw .violation("a continuation frame outside a fragmented message")
      }
    case .close, .ping, .pong:
      guard final else { throw .violation("a fragmented control frame") }
    }
    let mayCompress = context.compression && (opcode == .text || opcode == .binary)
    guard mayCompress || !compressed else { throw .violation("a reserved bit is set") }
    return FrameHeader(
      final: final, compressed: compressed, opcode: opcode, length: 0, mask: nil, size: 0)
  }

  /// Parses the payload length, which must be in its shortest form.
  private static func extendedLength(
    _ bytes: UnsafeRawBufferPointer, short: UInt8
  ) throws(WebSocketError) -> UInt64? {
    if short < 126 { return UInt64(short) }
    let width = short == 126 ? 2 : 8
    guard bytes.count >= 2 + width else {
      // The highest bit is known once its octet has arrived.
      if width == 8, bytes.count > 2, unsafe bytes[2] & 0x80 != 0 {
        throw .violation("a payload length with its highest bit set")
      }
      return nil
    }
    var length: UInt64 = 0
    for index in 2..<(2 + width) {
      length = unsafe length << 8 | UInt64(bytes[index])
    }
    guard length >> 63 == 0 else {
      throw .violation("a payload length with its highest bit set")
    }
    guard length > (width == 2 ? 125 : 0xFFFF) else {
      throw .violation("a payload length not in its shortest form")
    }
    return length
  }

  /// Appends the header of a final frame.
  static func append(
    _ opcode: Opcode, compressed: Bool, length: Int, mask: UInt32?, to out: inout [UInt8]
  ) {
    out.append(0x80 | (compressed ? 0x40 : 0) | opcode.rawValue)
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    if length < 126 {
      out.append(maskBit | UInt8(length))
    } else if length <= 0xFFFF {
      out.append(maskBit | 126)
      out.append(UInt8(length >> 8))
      out.append(UInt8(length & 0xFF))
    } else {
      out.append(maskBit | 127)
      for shift in stride(from: 56, through: 0, by: -8) {
        out.append(UInt8(truncatingIfNeeded: length >> shift))
      }
    }
    guard let mask else { return }
    for shift in stride(from: 0, through: 24, by: 8) {
      out.append(UInt8(truncatingIfNeeded: mask >> UInt32(shift)))
    }
  }
}

/// Frames that are encoded once and sent to many connections.
public enum WebSocketFrame {
  /// Returns a complete text message as a server sends it: unmasked, uncompressed and final.
  ///
  /// The caller must ensure that `payload` is valid UTF-8.
  public static func text(_ payload: [UInt8]) -> [UInt8] {
    unmasked(.text, payload)
  }

  /// Returns a complete binary message as a server sends it: unmasked, uncompressed and final.
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
