/// A message on its way in, frame by frame (RFC 6455 section 5.4).
struct IncomingMessage {
  let opcode: Opcode
  let compressed: Bool
  /// Payload octets of its frames so far, by their heads.
  private(set) var wireBytes: UInt64 = 0
  private(set) var frames = 0
  private(set) var fate = Fate.kept

  private var payload: [UInt8] = []
  private var validator = UTF8Validator()

  enum Fate {
    case kept, skipped
  }

  /// The most that is set aside for a frame before its octets are here.
  private static let trustedBytes: UInt64 = 65_536

  init(opcode: Opcode, compressed: Bool) {
    self.opcode = opcode
    self.compressed = compressed
  }

  var heldBytes: Int { payload.count }

  /// Whether the one frame so far can be delivered without being collected first.
  var isSingleAndPlain: Bool { frames == 1 && !compressed && fate == .kept }

  /// Takes the head of the next frame; beyond a limit the message fails or is skipped.
  mutating func begin(_ length: UInt64, within limits: WebSocketLimits) throws(WebSocketError) {
    let (sum, overflow) = wireBytes.addingReportingOverflow(length)
    wireBytes = overflow ? .max : sum
    frames += 1
    guard fate == .kept else { return }
    if wireBytes > mostWireBytes(limits.maxMessageBytes) || frames > limits.maxFragments {
      try exceed(limits)
    }
  }

  /// The weight that proves a message too heavy before its payload is here.
  ///
  /// Compression may add to what it cannot compress; the sum bounds the work spent on empty blocks.
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

  /// Takes octets of a plain frame.
  mutating func append(
    _ bytes: UnsafeRawBufferPointer, of header: FrameHeader, at phase: Int
  ) throws(WebSocketError) {
    guard fate == .kept else { return }
    let start = payload.count
    if start == 0 { payload.reserveCapacity(Int(min(header.length, Self.trustedBytes))) }
    unsafe Masking.append(bytes, mask: header.mask, phase: phase, to: &payload)
    guard opcode == .text else { return }
    let valid = unsafe payload.withUnsafeBytes { all in
      unsafe validator.accepts(UnsafeRawBufferPointer(rebasing: all[start...]))
    }
    guard valid else { throw .inconsistent("a text that is not UTF-8") }
  }

  /// Takes a piece of inflated output.
  mutating func append(
    inflated piece: UnsafeRawBufferPointer, within limits: WebSocketLimits
  ) throws(WebSocketError) {
    guard fate == .kept else { return }
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

  /// The whole message.
  consuming func event() throws(WebSocketError) -> WebSocketEvent {
    guard fate == .kept else { return .oversized(bytes: wireBytes) }
    guard opcode == .text else { return .binary(payload) }
    guard validator.isComplete else { throw .inconsistent("a text that is not UTF-8") }
    return .text(payload)
  }
}
