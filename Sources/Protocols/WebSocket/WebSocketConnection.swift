/// An open WebSocket, without its transport: bytes in, events out (RFC 6455, RFC 7692).
///
/// Both ends use it, in three steps: hand received bytes to ``receive(_:into:)-(RawSpan,_)``, act
/// on
/// the events, then send what ``takeOutput()`` holds, the frames that the protocol asks for by
/// itself. A message sent while acting goes out behind the pongs and before a closing frame.
public struct WebSocketConnection: ~Copyable {
  /// How far the connection is on its way to its end (RFC 6455 section 7.1).
  public enum State: Sendable, Equatable {
    /// Messages go both ways.
    case open
    /// Our close frame is out, the peer's is awaited; messages may still come.
    case closing
    /// Nothing more is read or written; the transport may be shut.
    case closed
  }

  /// Which end this is.
  public let role: WebSocketRole
  /// What a message may weigh.
  public let limits: WebSocketLimits
  /// How far the connection is on its way to its end.
  public internal(set) var state = State.open

  /// The pongs still to be sent.
  var pongs: [UInt8] = []
  /// The close frame that the peer's close or fault calls for, still to be sent.
  var farewell: [UInt8] = []

  /// How many whole messages came compressed since that was asked for.
  var compressedMessages = 0

  let deflate: DeflateParameters?
  var frame: OpenFrame?
  var message: IncomingMessage?
  /// The octets of a head that came in pieces.
  var heldHead: [UInt8] = []
  /// The payload of the control frame that is being read.
  var control: [UInt8] = []
  /// Held between messages only where the window outlives them.
  var inflater: Inflater?
  var deflater: Deflater?
  var masks: MaskSource

  /// A connection behind a finished handshake.
  ///
  /// `maskSeed` is secret and random, new for every connection (RFC 6455 section 10.3); a server
  /// masks nothing and may pass 0.
  public init(
    role: WebSocketRole, limits: WebSocketLimits, extensions: DeflateParameters?, maskSeed: UInt64
  ) {
    self.role = role
    self.limits = limits
    deflate = extensions
    masks = MaskSource(seed: maskSeed)
  }

  /// Takes what bytes meant, one event after the other.
  public typealias Tell = (consuming WebSocketEvent) -> Void

  /// Feeds bytes and tells what they meant; behind a failure or a close nothing is read.
  public mutating func receive(_ bytes: RawSpan, _ tell: Tell) {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe read(buffer, tell)
    }
  }

  /// Feeds bytes and appends what they meant; behind a failure or a close nothing is read.
  public mutating func receive(_ bytes: RawSpan, into events: inout [WebSocketEvent]) {
    receive(bytes) { events.append($0) }
  }

  /// Feeds bytes and appends what they meant; behind a failure or a close nothing is read.
  public mutating func receive(_ bytes: [UInt8], into events: inout [WebSocketEvent]) {
    let slice = bytes[...]
    unsafe receive(slice.span.bytes, into: &events)
  }

  /// The transport ended: appends ``WebSocketEvent/ended`` unless a close frame came before.
  public mutating func receiveEnd(into events: inout [WebSocketEvent]) {
    guard state != .closed else { return }
    end()
    events.append(.ended)
  }

  /// Frames that the protocol asked for by itself and that are still to be sent.
  public var output: [UInt8] { pongs + farewell }

  /// Takes how many whole messages came compressed (RFC 7692 section 6), skipped ones included.
  public mutating func takeCompressedMessages() -> Int {
    defer { compressedMessages = 0 }
    return compressedMessages
  }

  /// Takes the frames that the protocol asked for by itself; behind a close nothing is sent.
  public mutating func takeOutput() -> [UInt8] {
    let taken = output
    (pongs, farewell) = ([], [])
    if state == .closed { deflater = nil }
    return taken
  }
}

/// What received bytes meant.
public enum WebSocketEvent: Equatable, Sendable {
  /// A whole text message, valid UTF-8.
  case text([UInt8])
  /// A whole binary message.
  case binary([UInt8])
  /// A ping of 0 to 125 bytes; while the connection is open its pong is already in the output.
  case ping([UInt8])
  /// A pong of 0 to 125 bytes, asked for or not (RFC 6455 section 5.5.3).
  case pong([UInt8])
  /// A message beyond the limits was skipped; `bytes` is its payload as it crossed the wire.
  case oversized(bytes: UInt64)
  /// The peer's close frame; 1005 when it carried no code (RFC 6455 section 7.1.5).
  case closed(code: UInt16, reason: String)
  /// The peer broke the protocol or a limit; the close that says so is in the output.
  case failed(WebSocketError)
  /// The transport ended before a close frame came.
  case ended
}

/// How the peer broke the protocol.
public struct WebSocketError: Error, Equatable, Sendable {
  /// The close code of RFC 6455 section 7.4.1: 1002, 1007, 1009, or 1011 without memory to inflate.
  public var code: UInt16
  /// What was wrong, for people; never holds payload bytes.
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

/// Which end of a WebSocket this is; a client masks what it sends (RFC 6455 section 5.1).
public enum WebSocketRole: Sendable, Equatable {
  case client, server

  var peer: WebSocketRole { self == .client ? .server : .client }
}

/// How much one message may weigh, and what happens to a heavier one.
public struct WebSocketLimits: Sendable, Equatable {
  /// The largest message in bytes, after reassembly and inflation.
  ///
  /// An uncompressed frame is measured by its header, before anything is allocated for it.
  public var maxMessageBytes: Int
  /// The largest number of frames in one message.
  public var maxFragments: Int
  /// What happens to a message beyond a limit.
  public var oversize: Oversize

  /// What happens to a message beyond a limit.
  public enum Oversize: Sendable, Equatable {
    /// Read past it without keeping a byte, report ``WebSocketEvent/oversized(bytes:)``, stay open.
    case skip
    /// Close with 1009 (RFC 6455 section 7.4.1).
    case close
  }

  /// Limits of 1 MiB and 1024 frames a message unless told otherwise.
  public init(
    maxMessageBytes: Int = 1_048_576, maxFragments: Int = 1024, oversize: Oversize
  ) {
    self.maxMessageBytes = max(0, maxMessageBytes)
    self.maxFragments = max(1, maxFragments)
    self.oversize = oversize
  }
}
