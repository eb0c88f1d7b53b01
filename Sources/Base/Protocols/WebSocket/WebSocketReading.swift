/// A frame whose header has been read and whose payload is being read.
struct OpenFrame {
  let header: FrameHeader
  var taken: UInt64 = 0

  var remaining: UInt64 { header.length - taken }

  /// The offset of the next octet in the frame, which is used for masking.
  var phase: Int { Int(taken) }
}

extension WebSocketConnection {
  mutating func read(
    _ input: UnsafeRawBufferPointer, _ report: WebSocketConnection.Report
  ) {
    var offset = 0
    do throws(WebSocketError) {
      while state != .closed {
        if frame == nil {
          offset += try unsafe readHead(UnsafeRawBufferPointer(rebasing: input[offset...]))
          guard frame != nil else { return }
        }
        let rest = unsafe UnsafeRawBufferPointer(rebasing: input[offset...])
        offset += try unsafe readPayload(rest, report)
        guard frame == nil else { return }
      }
    } catch {
      fail(error, report)
    }
  }

  /// Reads a header, which may be continued from earlier input. Returns the number of octets read.
  private mutating func readHead(
    _ input: UnsafeRawBufferPointer
  ) throws(WebSocketError) -> Int {
    let context = FrameHeader.Context(
      receiver: role, compression: deflate != nil, insideMessage: message != nil)
    if heldHead.isEmpty {
      guard let header = try unsafe FrameHeader.parse(input, in: context) else {
        unsafe heldHead.append(contentsOf: input)
        return input.count
      }
      try begin(header)
      return header.size
    }
    for taken in 0..<input.count {
      unsafe heldHead.append(input[taken])
      let held = heldHead[...]
      let header = try unsafe held.span.bytes.withUnsafeBytes {
        bytes throws(WebSocketError) in
        try unsafe FrameHeader.parse(bytes, in: context)
      }
      guard let header else { continue }
      heldHead = []
      try begin(header)
      return taken + 1
    }
    return input.count
  }

  private mutating func begin(_ header: FrameHeader) throws(WebSocketError) {
    frame = OpenFrame(header: header)
    if header.opcode.isControl { return }
    if header.opcode != .continuation {
      message = IncomingMessage(opcode: header.opcode, compressed: header.compressed)
    }
    try message?.begin(header.length, within: limits)
  }

  /// Reads the available part of the payload. Returns the number of octets read.
  private mutating func readPayload(
    _ input: UnsafeRawBufferPointer, _ report: WebSocketConnection.Report
  ) throws(WebSocketError) -> Int {
    guard let open = frame else { return 0 }
    let count = Int(min(UInt64(input.count), open.remaining))
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: input[..<count])
    let header = open.header
    let whole = UInt64(count) == header.length
    if header.opcode.isControl {
      unsafe Masking.append(bytes, mask: header.mask, phase: open.phase, to: &control)
    } else if whole, header.final, message?.isSingleAndPlain == true {
      frame = nil
      message = nil
      report(try unsafe Self.single(bytes, of: header))
      return count
    } else {
      try unsafe append(bytes, of: open)
    }
    if UInt64(count) == open.remaining {
      frame = nil
      try finish(header, report)
    } else {
      frame?.taken += UInt64(count)
    }
    return count
  }

  /// Returns a message that consists of one uncompressed frame and arrived in one piece.
  private static func single(
    _ bytes: UnsafeRawBufferPointer, of header: FrameHeader
  ) throws(WebSocketError) -> WebSocketEvent {
    let payload = unsafe Masking.copy(bytes, mask: header.mask)
    guard header.opcode == .text else { return .binary(payload) }
    guard unsafe payload.withUnsafeBytes({ unsafe UTF8Validator.isValid($0) }) else {
      throw .inconsistent("a text that is not UTF-8")
    }
    return .text(payload)
  }

  private mutating func append(
    _ bytes: UnsafeRawBufferPointer, of open: OpenFrame
  ) throws(WebSocketError) {
    guard message?.compressed == true else {
      try unsafe message?.append(bytes, of: open.header, at: open.phase)
      return
    }
    guard let mask = open.header.mask else {
      try unsafe inflate(bytes)
      return
    }
    let clear = unsafe Masking.copy(bytes, mask: mask, phase: open.phase)[...]
    try unsafe clear.span.bytes.withUnsafeBytes { bytes throws(WebSocketError) in
      try unsafe inflate(bytes)
    }
  }

  private mutating func inflate(_ bytes: UnsafeRawBufferPointer?) throws(WebSocketError) {
    guard let deflate, var growing = message.take() else { return }
    // A skipped message must be decompressed only if the window is kept for the next message.
    let outlives = !deflate.endsContext(of: role.peer)
    if growing.fate == .skipped, !outlives {
      inflater = nil
      message = growing
      return
    }
    var stream: Inflater
    if let retained = inflater.take() {
      stream = retained
    } else {
      stream = try Inflater()
    }
    let limits = limits
    let take: Inflater.Take = { piece throws(WebSocketError) in
      try unsafe growing.append(inflated: piece, within: limits)
      return growing.fate == .collected || outlives
    }
    if let bytes = unsafe bytes {
      try unsafe stream.inflate(bytes, take: take)
    } else {
      try unsafe stream.finishMessage(take: take)
    }
    inflater = consume stream
    message = growing
  }

  private mutating func finish(
    _ header: FrameHeader, _ report: WebSocketConnection.Report
  ) throws(WebSocketError) {
    switch header.opcode {
    case .continuation, .text, .binary:
      guard header.final else { return }
      if let message, message.compressed, message.wireBytes > 0 { try unsafe inflate(nil) }
      if deflate?.endsContext(of: role.peer) == true { inflater = nil }
      guard let whole = message.take() else { return }
      if whole.compressed { compressedMessages += 1 }
      report(try whole.event())
    case .ping:
      let payload = takeControl()
      answerPing(payload)
      report(.ping(payload))
    case .pong:
      report(.pong(takeControl()))
    case .close:
      let (code, reason) = try CloseFrame.parse(takeControl())
      answerClose(code: code, reason: "")
      end()
      report(.closed(code: code, reason: reason))
    }
  }

  private mutating func takeControl() -> [UInt8] {
    let taken = control
    control = []
    return taken
  }

  /// Fails the connection (RFC 6455 section 7.1.7): prepares a close frame unless one was sent, and
  /// ends the connection.
  private mutating func fail(_ error: WebSocketError, _ report: WebSocketConnection.Report) {
    answerClose(code: error.code, reason: error.detail)
    end()
    report(.failed(error))
  }

  /// Ends reading and writing, and frees memory.
  mutating func end() {
    state = .closed
    frame = nil
    message = nil
    inflater = nil
    heldHead = []
    control = []
  }
}
