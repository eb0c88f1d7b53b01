extension WebSocketConnection {
  /// Appends a text message, which must be valid UTF-8, to `out`.
  ///
  /// - Returns: Whether the message was appended. No frame may follow this end's close frame (RFC
  ///   6455 section 5.5.1).
  @discardableResult
  public mutating func send(text: [UInt8], into out: inout [UInt8]) -> Bool {
    send(.text, text, into: &out)
  }

  /// Appends a binary message to `out`. Returns whether it was appended.
  @discardableResult
  public mutating func send(binary: [UInt8], into out: inout [UInt8]) -> Bool {
    send(.binary, binary, into: &out)
  }

  /// Appends a ping. Its `payload` is cut to 125 bytes (RFC 6455 section 5.5).
  @discardableResult
  public mutating func ping(_ payload: [UInt8], into out: inout [UInt8]) -> Bool {
    guard maySend else { return false }
    moveOutPongs(to: &out)
    append(.ping, Array(payload.prefix(FrameHeader.longestControl)), to: &out)
    return true
  }

  /// Appends a close frame, unless one was sent before.
  ///
  /// If the code is 1005, the frame has no body. A code that must not be sent is replaced by 1000.
  /// The reason is cut to at most 123 bytes, at the end of a character.
  public mutating func close(code: UInt16, reason: String, into out: inout [UInt8]) {
    guard state == .open else { return }
    moveOutPongs(to: &out)
    append(.close, CloseFrame.body(code: code, reason: reason), to: &out)
    state = .closing
  }

  /// Whether messages may be sent. They may be until this end's close frame is taken.
  private var maySend: Bool { state == .open || !farewell.isEmpty }

  /// Appends the pongs, which must precede frames sent later.
  private mutating func moveOutPongs(to out: inout [UInt8]) {
    out.append(contentsOf: pongs)
    pongs = []
  }

  private mutating func send(
    _ opcode: Opcode, _ payload: [UInt8], into out: inout [UInt8]
  ) -> Bool {
    guard maySend else { return false }
    moveOutPongs(to: &out)
    if let shorter = compressed(payload) {
      append(opcode, compressed: true, shorter, to: &out)
    } else {
      append(opcode, payload, to: &out)
    }
    return true
  }

  /// Prepares the close frame that responds to the peer's close frame or violation, unless one was
  /// sent.
  mutating func answerClose(code: UInt16, reason: String) {
    guard state == .open else { return }
    var frame: [UInt8] = []
    append(.close, CloseFrame.body(code: code, reason: reason), to: &frame)
    farewell = frame
  }

  /// Prepares a pong, unless a close frame was sent.
  mutating func answerPing(_ payload: [UInt8]) {
    guard state == .open else { return }
    var frames: [UInt8] = []
    swap(&frames, &pongs)
    append(.pong, payload, to: &frames)
    swap(&frames, &pongs)
  }

  /// Appends a final frame, which is masked if this end is a client.
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

  /// The range of payload lengths that are compressed.
  ///
  /// Compression of shorter payloads saves too little to justify a stream. Longer payloads are sent
  /// uncompressed, since zlib uses 32-bit counts and its output can be longer than its input.
  static let compressible = 128...Int(Int32.max)

  /// Returns the compressed payload; `nil` if compression was not negotiated or does not make the
  /// payload shorter.
  private mutating func compressed(_ payload: [UInt8]) -> [UInt8]? {
    guard let deflate, Self.compressible.contains(payload.count) else { return nil }
    let limit = deflate.windowBits(of: role)
    // A peer that requires a window of 8 bits gets uncompressed messages, which are always allowed.
    guard limit >= Deflater.smallestWindowBits else { return nil }
    var stream: Deflater
    if let retained = deflater.take() {
      stream = retained
    } else {
      let alone = deflate.endsContext(of: role)
      let bits = alone ? Deflater.windowBits(for: payload.count, atMost: limit) : limit
      guard let fresh = Deflater(windowBits: bits) else { return nil }
      stream = fresh
    }
    // If the output is not sent, the stream is not kept, since its window would differ from the
    // peer's.
    guard let shorter = stream.message(payload), shorter.count < payload.count else { return nil }
    if !deflate.endsContext(of: role) { deflater = consume stream }
    return shorter
  }
}
