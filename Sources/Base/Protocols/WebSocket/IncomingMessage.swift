/// A message that is being received frame by frame (RFC 6455 section 5.4).
struct IncomingMessage {
  let opcode: Opcode
  let compressed: Bool
  /// The total payload length of the message's frames so far, according to their headers.
  private(set) var wireBytes: UInt64 = 0
  private(set) var frames = 0
  private(set) var fate = Fate.collected

  private var payload: [UInt8] = []
  private var validator = UTF8Validator()

  enum Fate {
    case collected, skipped
  }

  /// The maximum memory in bytes that is reserved for a frame before its octets have arrived.
  private static let trustedBytes: UInt64 = 65_536

  init(opcode: Opcode, compressed: Bool) {
    self.opcode = opcode
    self.compressed = compressed
  }

  var heldBytes: Int { payload.count }

  /// Whether the message has one frame so far, which can be delivered without being collected
  /// first.
  var isSingleAndPlain: Bool { frames == 1 && !compressed && fate == .collected }

  /// Begins the next frame. If the message exceeds a limit, the method throws an error or skips the
  /// message.
  mutating func begin(_ length: UInt64, within limits: WebSocketLimits) throws(WebSocketError) {
    let (sum, overflow) = wireBytes.addingReportingOverflow(length)
    wireBytes = overflow ? .max : sum
    frames += 1
    guard fate == .collected else { return }
    if wireBytes > mostWireBytes(limits.maxMessageBytes) || frames > limits.maxFragments {
      try exceed(limits)
    }
  }

  /// Returns the maximum number of payload bytes that a message within the limit can have.
  ///
  /// Compression may enlarge incompressible data. The limit on the sum also limits the work caused
  /// by empty blocks.
  private func mostWireBytes(_ limit: Int) -> UInt64 {
    UInt64(limit) + (compressed ? UInt64(limit / 8) + 16_384 : 0)
  }

  private mutating func exceed(_ limits: WebSocketLimits) throws(WebSocketError) {
    switch limits.oversize {
    case .close: throw .tooBig("a message beyond the limits")
    case .skip:
      fate = .skipped
      payload = []
    }
  }

  /// Adds octets of an uncompressed frame.
  mutating func append(
    _ bytes: UnsafeRawBufferPointer, of header: FrameHeader, at phase: Int
  ) throws(WebSocketError) {
    guard fate == .collected else { return }
    let start = payload.count
    if start == 0 { payload.reserveCapacity(Int(min(header.length, Self.trustedBytes))) }
    unsafe Masking.append(bytes, mask: header.mask, phase: phase, to: &payload)
    guard opcode == .text else { return }
    let valid = unsafe payload.withUnsafeBytes { all in
      unsafe validator.accepts(UnsafeRawBufferPointer(rebasing: all[start...]))
    }
    guard valid else { throw .inconsistent("a text that is not UTF-8") }
  }

  /// Adds a piece of inflated output.
  mutating func append(
    inflated piece: UnsafeRawBufferPointer, within limits: WebSocketLimits
  ) throws(WebSocketError) {
    guard fate == .collected else { return }
    let room = limits.maxMessageBytes - payload.count
    let fitting = unsafe UnsafeRawBufferPointer(rebasing: piece[..<min(room, piece.count)])
    if opcode == .text, unsafe !validator.accepts(fitting) {
      throw .inconsistent("a text that is not UTF-8")
    }
    if fitting.count < piece.count {
      try exceed(limits)
    } else {
      unsafe payload.append(contentsOf: fitting)
    }
  }

  /// Returns the complete message.
  consuming func event() throws(WebSocketError) -> WebSocketEvent {
    guard fate == .collected else { return .oversized(bytes: wireBytes) }
    guard opcode == .text else { return .binary(payload) }
    guard validator.isComplete else { throw .inconsistent("a text that is not UTF-8") }
    return .text(payload)
  }
}
