extension WebSocketConnection {
  /// Appends a text message to `out`; the caller answers for valid UTF-8.
  ///
  /// Returns whether it was: behind a close nothing may be sent (RFC 6455 section 5.5.1).
  @discardableResult
  public mutating func send(text: [UInt8], into out: inout [UInt8]) -> Bool {
    send(.text, text, into: &out)
  }

  /// Appends a binary message to `out`; returns whether it was.
  @discardableResult
  public mutating func send(binary: [UInt8], into out: inout [UInt8]) -> Bool {
    send(.binary, binary, into: &out)
  }

  /// Appends a ping; what is beyond 125 bytes of `payload` is cut (RFC 6455 section 5.5).
  @discardableResult
  public mutating func ping(_ payload: [UInt8], into out: inout [UInt8]) -> Bool {
    guard state == .open else { return false }
    append(.ping, Array(payload.prefix(FrameHeader.longestControl)), to: &out)
    return true
  }

  /// Appends a close frame, once; later calls add nothing.
  ///
  /// 1005 sends a frame without a body; a code that may not be sent becomes 1000. The reason is cut
  /// to 123 bytes at the end of a character.
  public mutating func close(code: UInt16, reason: String, into out: inout [UInt8]) {
    guard state == .open else { return }
    append(.close, CloseFrame.body(code: code, reason: reason), to: &out)
    state = .closing
  }

  private mutating func send(
    _ opcode: Opcode, _ payload: [UInt8], into out: inout [UInt8]
  ) -> Bool {
    guard state == .open else { return false }
    if let shorter = compressed(payload) {
      append(opcode, compressed: true, shorter, to: &out)
    } else {
      append(opcode, payload, to: &out)
    }
    return true
  }

  /// Appends one final frame, masked if this end masks.
  mutating func append(
    _ opcode: Opcode, compressed: Bool = false, _ payload: [UInt8], to out: inout [UInt8]
  ) {
    let mask = role == .client ? masks.next() : nil
    FrameHeader.append(
      opcode, compressed: compressed, length: payload.count, mask: mask, to: &out)
    let start = out.count
    out.append(contentsOf: payload)
    if let mask { Masking.apply(mask, to: &out, from: start) }
  }

  /// Appends a frame that the protocol asks for by itself.
  mutating func answer(_ opcode: Opcode, _ payload: [UInt8]) {
    var frames = output
    output = []
    append(opcode, payload, to: &frames)
    output = frames
  }

  /// Below this, deflate saves too little to pay for its stream.
  static var leastCompressed: Int { 128 }

  /// The payload deflated, when that was agreed and makes it shorter.
  private mutating func compressed(_ payload: [UInt8]) -> [UInt8]? {
    guard let deflate, payload.count >= Self.leastCompressed else { return nil }
    let limit = deflate.windowBits(of: role)
    // A peer that wants a window of 8 bits gets plain messages, which is always allowed.
    guard limit >= Deflater.smallestWindowBits else { return nil }
    var stream: Deflater
    if let kept = deflater.take() {
      stream = kept
    } else {
      let alone = deflate.endsContext(of: role)
      let bits = alone ? Deflater.windowBits(for: payload.count, atMost: limit) : limit
      guard let fresh = Deflater(windowBits: bits) else { return nil }
      stream = fresh
    }
    // A stream whose output is not sent is not kept: its window would not be the peer's.
    guard let shorter = stream.message(payload), shorter.count < payload.count else { return nil }
    if !deflate.endsContext(of: role) { deflater = consume stream }
    return shorter
  }
}
