extension WebSocketConnection {
  /// Appends a text message to `out`; the caller answers for valid UTF-8.
  ///
  /// Returns whether it was: behind our close frame nothing may be sent (RFC 6455 section 5.5.1).
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
    guard maySend else { return false }
    moveOutPongs(to: &out)
    append(.ping, Array(payload.prefix(FrameHeader.longestControl)), to: &out)
    return true
  }

  /// Appends a close frame, once; later calls add nothing.
  ///
  /// 1005 sends a frame without a body; a code that may not be sent becomes 1000. The reason is cut
  /// to 123 bytes at the end of a character.
  public mutating func close(code: UInt16, reason: String, into out: inout [UInt8]) {
    guard state == .open else { return }
    moveOutPongs(to: &out)
    append(.close, CloseFrame.body(code: code, reason: reason), to: &out)
    state = .closing
  }

  /// Until our close frame is taken, messages may go before it.
  private var maySend: Bool { state == .open || !farewell.isEmpty }

  /// Pongs keep their place before what is sent later.
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

  /// Prepares the close frame that answers the peer's close or fault, unless ours is out.
  mutating func answerClose(code: UInt16, reason: String) {
    guard state == .open else { return }
    var frame: [UInt8] = []
    append(.close, CloseFrame.body(code: code, reason: reason), to: &frame)
    farewell = frame
  }

  /// Prepares a pong, unless our close frame is out.
  mutating func answerPing(_ payload: [UInt8]) {
    guard state == .open else { return }
    var frames: [UInt8] = []
    swap(&frames, &pongs)
    append(.pong, payload, to: &frames)
    swap(&frames, &pongs)
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

  /// The lengths of payloads that are deflated: below, it saves too little to pay for its stream;
  /// zlib counts in 32 bits, its output too, which may be longer, so what is beyond goes plain.
  static let compressible = 128...Int(Int32.max)

  /// The payload deflated, when that was agreed and makes it shorter.
  private mutating func compressed(_ payload: [UInt8]) -> [UInt8]? {
    guard let deflate, Self.compressible.contains(payload.count) else { return nil }
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
