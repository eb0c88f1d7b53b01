/// An open WebSocket, independent of a transport, that converts bytes to events (RFC 6455, RFC
/// 7692).
///
/// Either end uses it in three steps. First, pass received bytes to
/// ``receive(_:into:)-(RawSpan,_)``. Then handle the events. Finally, send the result of
/// ``takeOutput()``, which contains the frames that the protocol requires. A message that is sent
/// while events are handled comes after the pongs and before a close frame.
public struct WebSocketConnection: ~Copyable {
  /// The phase of the connection (RFC 6455 section 7.1).
  public enum State: Sendable, Equatable {
    /// Messages can be sent and received.
    case open
    /// This end has sent its close frame and awaits the peer's. Messages may still arrive.
    case closing
    /// No more data is read or written. The transport may be closed.
    case closed
  }

  /// The role of this end.
  public let role: WebSocketRole
  /// The limits on received messages.
  public let limits: WebSocketLimits
  /// The phase of the connection.
  public internal(set) var state = State.open

  /// The pongs that have not been sent yet.
  var pongs: [UInt8] = []
  /// The close frame to send in response to the peer's close frame or violation.
  var farewell: [UInt8] = []

  /// The number of complete compressed messages since the last call of `takeCompressedMessages`.
  var compressedMessages = 0

  let deflate: DeflateParameters?
  var frame: OpenFrame?
  var message: IncomingMessage?
  /// The octets of an incomplete header.
  var heldHead: [UInt8] = []
  /// The payload of the control frame that is being read.
  var control: [UInt8] = []
  /// The decompressor. It is kept between messages only if its window is.
  var inflater: Inflater?
  var deflater: Deflater?
  var masks: MaskSource

  /// Creates a connection after a completed handshake.
  ///
  /// `maskSeed` must be secret, random, and new for every connection (RFC 6455 section 10.3). A
  /// server does not mask its frames and may pass 0.
  public init(
    role: WebSocketRole, limits: WebSocketLimits, extensions: DeflateParameters?, maskSeed: UInt64
  ) {
    self.role = role
    self.limits = limits
    deflate = extensions
    masks = MaskSource(seed: maskSeed)
  }

  /// A function that receives one event at a time.
  public typealias Report = (consuming WebSocketEvent) -> Void

  /// Feeds bytes and reports the events. After a failure or a close frame, no more bytes are read.
  public mutating func receive(_ bytes: RawSpan, _ report: Report) {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe read(buffer, report)
    }
  }

  /// Feeds bytes and appends the events. After a failure or a close frame, no more bytes are read.
  public mutating func receive(_ bytes: RawSpan, into events: inout [WebSocketEvent]) {
    receive(bytes) { events.append($0) }
  }

  /// Feeds bytes and appends the events. After a failure or a close frame, no more bytes are read.
  public mutating func receive(_ bytes: [UInt8], into events: inout [WebSocketEvent]) {
    let slice = bytes[...]
    unsafe receive(slice.span.bytes, into: &events)
  }

  /// Handles the end of the transport. Appends ``WebSocketEvent/ended`` unless a close frame
  /// arrived before it.
  public mutating func receiveEnd(into events: inout [WebSocketEvent]) {
    guard state != .closed else { return }
    end()
    events.append(.ended)
  }

  /// The frames required by the protocol that have not been sent yet.
  public var output: [UInt8] { pongs + farewell }

  /// Returns the number of complete compressed messages (RFC 7692 section 6) since the last call,
  /// including skipped ones.
  public mutating func takeCompressedMessages() -> Int {
    defer { compressedMessages = 0 }
    return compressedMessages
  }

  /// Removes and returns the frames that the protocol requires. After a close frame, no more frames
  /// are sent.
  public mutating func takeOutput() -> [UInt8] {
    let taken = output
    (pongs, farewell) = ([], [])
    if state == .closed { deflater = nil }
    return taken
  }
}

/// An event of a WebSocket connection.
public enum WebSocketEvent: Equatable, Sendable {
  /// A complete text message in valid UTF-8.
  case text([UInt8])
  /// A complete binary message.
  case binary([UInt8])
  /// A ping of 0 to 125 bytes. While the connection is open, its pong is already in the output.
  case ping([UInt8])
  /// A solicited or unsolicited pong of 0 to 125 bytes (RFC 6455 section 5.5.3).
  case pong([UInt8])
  /// A message over the limits was skipped. `bytes` is the length of its payload as transmitted.
  case oversized(bytes: UInt64)
  /// The peer's close frame. The code is 1005 if it had none (RFC 6455 section 7.1.5).
  case closed(code: UInt16, reason: String)
  /// The peer violated the protocol or a limit. The corresponding close frame is in the output.
  case failed(WebSocketError)
  /// The transport ended before a close frame arrived.
  case ended
}

/// A violation of the protocol by the peer, or a lack of memory on this side.
public struct WebSocketError: Error, Equatable, Sendable {
  /// The close code of RFC 6455 section 7.4.1: 1002, 1007 or 1009, or 1011 if there is no memory
  /// for decompression.
  public var code: UInt16
  /// A human-readable description of the problem, which never contains payload bytes.
  public var detail: String

  static func violation(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1002, detail: detail)
  }

  static func inconsistent(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1007, detail: detail)
  }

  static func tooBig(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1009, detail: detail)
  }
}

/// The role of an end of a WebSocket. A client masks its frames (RFC 6455 section 5.1).
public enum WebSocketRole: Sendable, Equatable {
  case client, server

  var peer: WebSocketRole { self == .client ? .server : .client }
}

/// The limits on the size of one message, and the action for a larger message.
public struct WebSocketLimits: Sendable, Equatable {
  /// The maximum size of a message in bytes, after reassembly and decompression.
  ///
  /// An uncompressed frame is rejected based on its header, before memory is allocated for it.
  public var maxMessageBytes: Int
  /// The maximum number of frames in one message.
  public var maxFragments: Int
  /// The action for a message over a limit.
  public var oversize: Oversize

  /// The action for a message over a limit.
  public enum Oversize: Sendable, Equatable {
    /// Read past the message without storing it, report ``WebSocketEvent/oversized(bytes:)``, and
    /// keep the connection open.
    case skip
    /// Close the connection with code 1009 (RFC 6455 section 7.4.1).
    case close
  }

  /// Creates limits. The defaults for a message are 1 MiB and 1024 frames.
  public init(
    maxMessageBytes: Int = 1_048_576, maxFragments: Int = 1024, oversize: Oversize
  ) {
    self.maxMessageBytes = max(0, maxMessageBytes)
    self.maxFragments = max(1, maxFragments)
    self.oversize = oversize
  }
}
