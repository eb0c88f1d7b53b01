/// An open WebSocket, without its transport: bytes in, events out (RFC 6455, RFC 7692).
///
/// Both ends use it. Hand received bytes to ``receive(_:into:)-(RawSpan,_)``, then send what
/// ``takeOutput()`` holds: pongs and closes that the protocol asks for by itself.
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
  /// Frames that the protocol asked for by itself and that are still to be sent.
  public internal(set) var output: [UInt8] = []

  /// A connection behind a finished handshake.
  ///
  /// `maskSeed` is secret and random, new for every connection (RFC 6455 section 10.3); a server
  /// masks nothing and may pass 0.
  public init(
    role: WebSocketRole, limits: WebSocketLimits, extensions: DeflateParameters?, maskSeed: UInt64
  ) {
    self.role = role
    self.limits = limits
  }

  /// Feeds bytes and appends what they meant; behind a failure or a close nothing is read.
  public mutating func receive(_ bytes: RawSpan, into events: inout [WebSocketEvent]) {
  }

  /// Feeds bytes and appends what they meant; behind a failure or a close nothing is read.
  public mutating func receive(_ bytes: [UInt8], into events: inout [WebSocketEvent]) {
    unsafe receive(bytes.span.bytes, into: &events)
  }

  /// The transport ended: appends ``WebSocketEvent/ended`` unless a close frame came before.
  public mutating func receiveEnd(into events: inout [WebSocketEvent]) {
  }

  /// Appends a text message to `out`; the caller answers for valid UTF-8.
  ///
  /// Returns whether it was: behind a close nothing may be sent (RFC 6455 section 5.5.1).
  @discardableResult
  public mutating func send(text: [UInt8], into out: inout [UInt8]) -> Bool {
    false
  }

  /// Appends a binary message to `out`; returns whether it was.
  @discardableResult
  public mutating func send(binary: [UInt8], into out: inout [UInt8]) -> Bool {
    false
  }

  /// Appends a ping; what is beyond 125 bytes of `payload` is cut (RFC 6455 section 5.5).
  @discardableResult
  public mutating func ping(_ payload: [UInt8], into out: inout [UInt8]) -> Bool {
    false
  }

  /// Appends a close frame, once; later calls add nothing.
  ///
  /// 1005 sends a frame without a body; a code that may not be sent becomes 1000. The reason is cut
  /// to 123 bytes at the end of a character.
  public mutating func close(code: UInt16, reason: String, into out: inout [UInt8]) {
  }

  /// Takes the frames that the protocol asked for by itself; send them in order.
  public mutating func takeOutput() -> [UInt8] {
    let taken = output
    output = []
    return taken
  }
}
