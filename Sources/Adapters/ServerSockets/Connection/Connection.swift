import CLinux
import Glibc
import LinkCore
import LinkProtocols

/// One accepted socket; holds memory only for what is unfinished.
final class Connection {
  let id: ConnectionID
  let descriptor: Int32
  let tls: TLSStream?
  var phase: Phase
  var outgoing = OutgoingQueue()
  /// The address that it counts for, until it becomes a WebSocket.
  var origin: String?
  /// What the poller watches.
  var watched: Interest = .read
  /// Whether the socket took less than was queued.
  var isBackedUp = false
  /// Whether the end of this turn looks at it.
  var isTouched = false
  /// When its phase has lasted too long.
  var deadline: Instant?

  init(
    id: ConnectionID, descriptor: Int32, tls: TLSStream?, phase: Phase, origin: String? = nil
  ) {
    self.id = id
    self.descriptor = descriptor
    self.tls = tls
    self.phase = phase
    self.origin = origin
  }

  deinit {
    close(descriptor)
  }

  enum Phase {
    /// TLS is being agreed on.
    case handshake(wants: Interest)
    /// Speaks HTTP.
    case exchange(Exchange)
    /// Speaks WebSocket.
    case open(Session)
    /// Nothing more is read; what is queued goes out, then our side is shut.
    case leaving
    /// Our side is shut; what still comes is thrown away until the client's end.
    case lingering
  }

  var isShakingHands: Bool {
    switch phase {
    case .handshake: true
    case .exchange, .open, .leaving, .lingering: false
    }
  }

  /// What the poller should watch, from where the connection stands.
  var wanted: Interest {
    let writing: Interest = isBackedUp ? .write : []
    switch phase {
    case .handshake(let wants): return wants
    case .exchange(let exchange): return writing.union(exchange.wanted)
    case .open(let session): return session.isOver ? writing : writing.union(.read)
    case .leaving: return .write
    case .lingering: return .read
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    if let tls { return unsafe tls.read(into: buffer) }
    return unsafe readPlain(into: buffer)
  }

  /// Reads past TLS, for bytes that nobody will look at.
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

  /// Ends our side of the stream; the client's may go on.
  func shutWriting() {
    tls?.sayGoodbye()
    shutdown(descriptor, Int32(SHUT_WR))
  }

  private func isTransient(_ cause: Int32) -> Bool {
    cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR
  }
}

/// The HTTP side of a connection: one request at a time, in order.
final class Exchange {
  enum Stage {
    /// Waits for a request or for the rest of one.
    case reading(Part)
    /// The handler has the request.
    case answering(Question)
    /// The handler has begun an answer that it writes piece by piece.
    case streaming(StreamedAnswer)
    /// The answer is on its way.
    case sending(keepAlive: Bool)
  }

  /// How far the next request has come.
  enum Part {
    case nothing, head, body
  }

  /// What the answer depends on.
  struct Question {
    let keepAlive: Bool
    let omitsBody: Bool
    let upgrade: HTTPRequestHead?
    /// Whether the body of an answer whose length is unknown may go out in chunks.
    let takesChunks: Bool
    /// Whether the handler wants to be told at once when the client leaves.
    var noticesEnd = false
  }

  /// How the rest of a streamed answer goes out.
  struct StreamedAnswer {
    let keepAlive: Bool
    let isChunked: Bool
  }

  var reader: HTTPRequestReader
  var stage = Stage.reading(.head)
  /// The last request that was handed over; `nil` before the first.
  var request: RequestID?

  /// The request whose head was told while its body is read.
  var announced: Announced?

  struct Announced {
    let request: RequestID
    let head: HTTPRequestHead
  }

  init(limits: HTTPLimits) {
    reader = HTTPRequestReader(limits: limits)
  }

  /// How far the next request has come, by what was read of it.
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

  /// What the poller should watch besides room for what is queued.
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
    /// The queue passed its bound; nothing is added to it any more.
    case overflowing
    /// Our close frame is queued; the client's is awaited.
    case closing(code: UInt16, reason: String)
    /// The handler knows the end; answers to what came before it still go out this turn.
    case over
  }

  var socket: WebSocketConnection
  var stage = Stage.open
  /// Bytes that may be queued for it; `nil` is the configured bound.
  var maxQueuedBytes: Int?
  /// Whether the handler waits for `drained`.
  var noticesDrain = false

  init(limits: WebSocketLimits, deflate: DeflateParameters?) {
    socket = WebSocketConnection(
      role: .server, limits: limits, extensions: deflate, maskSeed: 0)
  }
}

extension ConnectionID {
  /// The name of the connection that the hub keeps in a slot; `serial` counts connections from 1.
  init(serial: UInt32, slot: UInt32) {
    self.init(UInt64(serial) << 32 | UInt64(slot))
  }

  /// The number of the connection among all of the server, counted from 1; 0 is no connection.
  var serial: UInt32 { UInt32(truncatingIfNeeded: number >> 32) }

  /// The place where the hub keeps the connection while it lives.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number) }
}

extension RequestID {
  /// Slots that fit a request's name: 2^24, more than the descriptors that a process may have
  /// (`fs.nr_open` is 2^20 by default). The 40 bits left count 10^12 requests.
  private static let slotBits: UInt64 = 24

  /// The name of the request that is number `count` of the server, on the connection in a slot.
  init(count: UInt64, slot: UInt32) {
    self.init(count << Self.slotBits | UInt64(slot))
  }

  /// The slot of the request's connection.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number & (1 << Self.slotBits - 1)) }
}
