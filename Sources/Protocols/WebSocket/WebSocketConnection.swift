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
