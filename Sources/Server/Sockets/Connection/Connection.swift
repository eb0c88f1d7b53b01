import CHoldfastLinux
import Glibc
import HoldfastCore
import HoldfastProtocols

/// An accepted socket. Beyond this object, it uses memory only for incomplete requests and
/// messages.
final class Connection {
  let id: ConnectionID
  let descriptor: Int32
  let tls: TLSStream?
  /// The purpose of the address to which the other side has connected.
  let kind: ListenerKind
  var phase: Phase
  var outgoing = OutgoingQueue()
  /// The number of bytes that the socket has accepted, before TLS.
  var sentBytes: UInt64 = 0
  /// The client address that this connection is counted for; `nil` once it is a WebSocket.
  var origin: String?
  /// The interest that is registered with the poller.
  var watched: Interest = .read
  /// Whether the socket accepted fewer bytes than were queued.
  var isBackedUp = false
  /// Whether the connection must be visited at the end of this turn.
  var isTouched = false
  /// The time at which the current phase expires.
  var deadline: Instant?

  init(
    id: ConnectionID, descriptor: Int32, tls: TLSStream?, phase: Phase, origin: String? = nil,
    kind: ListenerKind = .clients
  ) {
    self.id = id
    self.descriptor = descriptor
    self.tls = tls
    self.phase = phase
    self.origin = origin
    self.kind = kind
  }

  deinit {
    close(descriptor)
  }

  enum Phase {
    /// The TLS handshake is in progress.
    case handshake(wants: Interest)
    /// The connection carries HTTP.
    case exchange(Exchange)
    /// The connection carries a WebSocket.
    case open(Session)
    /// The connection carries a request that another server handles, on either side.
    case passing(Passage)
    /// The connection no longer reads. It sends the queued bytes, and then shuts down its writing
    /// side.
    case leaving
    /// The writing side is shut down. Received bytes are discarded until the client closes the
    /// connection.
    case lingering
  }

  var isShakingHands: Bool {
    switch phase {
    case .handshake: true
    case .exchange, .open, .passing, .leaving, .lingering: false
    }
  }

  /// Whether the connection carries the response of another server, or the bytes to it.
  var isAnsweredElsewhere: Bool {
    guard case .passing(let passage) = phase else { return false }
    return passage.isAnswered || passage.isSent
  }

  /// The interest that the connection needs in its current phase.
  var wanted: Interest {
    let writing: Interest = isBackedUp ? .write : []
    switch phase {
    case .handshake(let wants): return wants
    case .exchange(let exchange): return writing.union(exchange.wanted)
    case .open(let session): return session.isOver ? writing : writing.union(.read)
    case .passing(let passage):
      return passage.isHeldBack || passage.hasEnded ? writing : writing.union(.read)
    case .leaving: return .write
    case .lingering: return .read
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    if let tls { return unsafe tls.read(into: buffer) }
    return unsafe readPlain(into: buffer)
  }

  /// Reads bytes below TLS. They are then discarded.
  func readPlain(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    if count == 0 { return .end }
    return isTransient(errno) ? .wouldBlock : .failed("errno \(errno)")
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
    if let tls { return unsafe tls.write(bytes) }
    let count = unsafe Glibc.send(
      descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    if count >= 0 { return .bytes(count) }
    return isTransient(errno) ? .wouldBlock : .failed("errno \(errno)")
  }

  /// Shuts down the writing side of the stream. The client may continue to send.
  func shutWriting() {
    tls?.sayGoodbye()
    shutdown(descriptor, Int32(SHUT_WR))
  }

  private func isTransient(_ cause: Int32) -> Bool {
    cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR
  }
}

/// The HTTP state of a connection. Requests are handled in order, one at a time.
final class Exchange {
  enum Stage {
    /// The connection waits for a request or for the remainder of one.
    case reading(Part)
    /// The handler has received the request.
    case answering(Question)
    /// The handler has begun a response, which it writes piece by piece.
    case streaming(StreamedAnswer)
    /// The complete response is being sent.
    case sending(keepAlive: Bool)
  }

  /// The part of the next request that is currently arriving.
  enum Part {
    case nothing, head, body
  }

  /// The properties of a request that its response depends on.
  struct Question {
    let keepAlive: Bool
    let omitsBody: Bool
    let upgrade: HTTPRequestHead?
    /// Whether a body of unknown length may be sent in chunks.
    let takesChunks: Bool
    /// Whether the handler requested to be notified immediately when the client leaves.
    var noticesEnd = false
  }

  /// The framing of the remainder of a streamed response.
  struct StreamedAnswer {
    let keepAlive: Bool
    let isChunked: Bool
  }

  var reader: HTTPRequestReader
  var stage = Stage.reading(.head)
  /// The last request that was passed to the handler; `nil` before the first one.
  var request: RequestID?

  /// The request whose head was announced and whose body is being read.
  var announced: Announced?

  struct Announced {
    let request: RequestID
    let head: HTTPRequestHead
  }

  init(limits: HTTPLimits) {
    reader = HTTPRequestReader(limits: limits)
  }

  /// The part of the next request that the received bytes have reached.
  var reached: Part {
    if reader.isReadingBody { return .body }
    return reader.isIdle ? .nothing : .head
  }

  var isReading: Bool {
    switch stage {
    case .reading: true
    case .answering, .streaming, .sending: false
    }
  }

  /// The interest that the exchange needs for reading.
  var wanted: Interest {
    switch stage {
    case .reading: .read
    case .answering(let question): question.noticesEnd ? .end : []
    case .streaming: .end
    case .sending: []
    }
  }
}

/// The WebSocket side of a connection.
final class Session {
  enum Stage {
    case open
    /// The queue exceeded its bound. No more frames are added to it.
    case overflowing
    /// The server's close frame is queued, and the client's has not arrived yet.
    case closing(code: UInt16, reason: String)
    /// The handler has received the end of the WebSocket. Responses to earlier messages are still
    /// sent in this turn.
    case over
  }

  var socket: WebSocketConnection
  var stage = Stage.open
  /// The maximum number of queued bytes; `nil` for the configured one.
  var maxQueuedBytes: Int?
  /// Whether the handler requested a `drained` event.
  var noticesDrain = false

  init(limits: WebSocketLimits, deflate: DeflateParameters?) {
    socket = WebSocketConnection(
      role: .server, limits: limits, extensions: deflate, maskSeed: 0)
  }
}

extension ConnectionID {
  /// Creates the ID of the connection in a slot. `serial` counts connections from 1.
  init(serial: UInt32, slot: UInt32) {
    self.init(UInt64(serial) << 32 | UInt64(slot))
  }

  /// The number of the connection among all connections of the server, counted from 1. No
  /// connection has the number 0.
  var serial: UInt32 { UInt32(truncatingIfNeeded: number >> 32) }

  /// The slot in which the hub stores the connection.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number) }
}

extension RequestID {
  /// The number of bits that identify the slot.
  ///
  /// With 24 bits, there are more slots than descriptors in a process (`fs.nr_open` is 2^20 by
  /// default). The other 40 bits can count 10^12 requests.
  private static let slotBits: UInt64 = 24

  /// Creates the ID of the server's request number `count`, for the connection in a slot.
  init(count: UInt64, slot: UInt32) {
    self.init(count << Self.slotBits | UInt64(slot))
  }

  /// The slot of the request's connection.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number & (1 << Self.slotBits - 1)) }
}
