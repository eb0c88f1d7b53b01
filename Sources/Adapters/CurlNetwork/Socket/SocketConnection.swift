import CHoldfastCurl
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols

/// A socket, from its dial to its end. It is used only on the loop's thread.
final class SocketConnection {
  /// A stage in the life of a socket.
  enum Stage {
    /// libcurl is resolving the name, connecting, or performing the TLS handshake.
    case dialing(Dial)
    /// The upgrade request was sent or is being sent.
    case upgrading(Dial, ClientHandshake)
    /// The server refused the upgrade. The body, which contains the reason, is still being read.
    case refused(Dial, Refusal)
    case open(Dial)
    /// A close frame was sent or is queued. The socket waits for the peer's close, and no event
    /// follows.
    case closing(Dial)
    case over
  }

  let deliver: @Sendable ([SocketEvent]) async -> Void
  /// The maximum number of events in a delivery.
  private let mostInTurn: Int
  /// Whether a task is currently delivering events.
  var isDelivering = false
  /// The calls of `close`. They are resumed when the peer has closed the connection or the time is
  /// over.
  var closers: [CheckedContinuation<Void, Never>] = []

  private(set) var stage = Stage.over
  /// The time at which the current stage times out.
  private(set) var limit: ContinuousClock.Instant?
  var webSocket: WebSocketConnection?
  /// Whether messages may be compressed, so that a few bytes may become many.
  private var inflates = false
  /// The bytes that have been read but must wait until earlier events are delivered.
  private var unread: [UInt8] = []
  private var events = EventQueue()
  /// The failure that ends the socket once earlier events are delivered.
  private var pendingFailure: LinkFailure?
  private var outgoing: [UInt8] = []
  /// The bytes that are being written. They must not move, because OpenSSL repeats a blocked write
  /// from the same address.
  private var writing: [UInt8] = []
  /// The number of bytes of `writing` that have been sent.
  private var sent = 0
  private var pings = Pings()
  private var isReadable = false
  private var isBlocked = false
  /// The reason why writing failed. Bytes that the peer sent before are still read.
  private var writeFailure: LinkFailure?
  /// The number of bytes that one turn inflates before it leaves further bytes to the next turn: 1
  /// MiB.
  static let mostInflated = 1_048_576
  private let maxMessageBytes: Int
  private let maxFragments: Int
  private let maxQueuedBytes: Int
  private let secrets: Secrets
  private let number: UInt64

  init(
    _ request: SocketRequest, _ context: Dial.Context, configuration: CurlConfiguration,
    mostInTurn: Int, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) {
    self.deliver = deliver
    number = context.number
    self.mostInTurn = mostInTurn
    maxMessageBytes = request.maxMessageBytes
    maxFragments = configuration.maxFragments
    maxQueuedBytes = configuration.maxQueuedBytes
    secrets = Secrets(headers: request.headers, query: request.query)
    do throws(LinkFailure) {
      stage = .dialing(try Dial(request, context, configuration: configuration))
      limit = .now.advanced(by: request.openTimeout)
    } catch {
      end(error)
    }
  }
}

// MARK: Queries by the loop

extension SocketConnection {
  var mustDeliver: Bool { !isDelivering && !events.isEmpty }

  /// Whether the socket is closed and all of its events have been delivered.
  var isFinished: Bool { isClosed && !isDelivering && events.isEmpty }

  /// Whether the socket is no longer connected.
  var isClosed: Bool {
    if case .over = stage { true } else { false }
  }

  /// The transfers that perform the dial.
  var transfers: Transfers? {
    guard case .dialing(let dial) = stage else { return nil }
    return dial.transfers
  }

  /// The next time at which the socket must be handled even if there is no activity.
  var deadline: ContinuousClock.Instant? {
    guard let next = transfers?.deadline else { return limit }
    return min(next, limit ?? next)
  }

  /// Whether queued bytes can be written now.
  var canWrite: Bool {
    queuedBytes > 0 && !isBlocked && writeFailure == nil && connected != nil
  }

  /// Whether a read would not block. libcurl may hold bytes even though the descriptor is not
  /// readable.
  var canReadOn: Bool { isReadable && wantsRead }

  private var wantsRead: Bool {
    switch stage {
    case .upgrading, .refused, .closing: true
    // The limit is twice that of the queue. A peer that sends pings but never reads must not fill
    // the memory with pongs.
    case .open:
      events.isEmpty && !isDelivering && (writeFailure != nil || queuedBytes < 2 * maxQueuedBytes)
    case .dialing, .over: false
    }
  }

  /// Returns the next events to deliver; an empty array if all have been delivered.
  func takeTurn() -> [SocketEvent] { events.take(atMost: mostInTurn) }
}

// MARK: Calls by the app

extension SocketConnection {
  func send(text: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: text.count) { return rejection }
    return webSocket?.send(text: text, into: &outgoing) ?? false ? .queued : .closed
  }

  func send(binary: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: binary.count) { return rejection }
    return webSocket?.send(binary: binary, into: &outgoing) ?? false ? .queued : .closed
  }

  func send(raw: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: raw.count) { return rejection }
    outgoing += raw
    return .queued
  }

  /// Returns the reason why a message of `count` bytes cannot be queued; `nil` if it can be queued.
  private func rejection(to count: Int) -> SocketSending? {
    guard case .open = stage, writeFailure == nil else { return .closed }
    return queuedBytes + count <= maxQueuedBytes ? nil : .full
  }

  /// Returns the number of compressed messages that were received since the last call.
  func takeCompressedMessages() -> Int {
    webSocket?.takeCompressedMessages() ?? 0
  }

  func ping(_ id: UInt64) {
    guard case .open = stage, writeFailure == nil else { return }
    _ = webSocket?.ping(pings.add(id), into: &outgoing)
  }

  /// Sends a close frame if the socket is open, or ends the socket if it is not open yet.
  func close(code: UInt16, reason: String) {
    switch stage {
    case .dialing, .upgrading, .refused:
      end(.local(detail: "Closed before it opened."))
    case .open(let dial):
      webSocket?.close(code: code, reason: reason, into: &outgoing)
      events.drop()
      startClosing(dial)
    case .closing: events.drop()
    // A socket that never opened must still deliver its one failure.
    case .over: if webSocket != nil { events.drop() }
    }
  }
}

// MARK: Network events

extension SocketConnection {
  /// Handles a stream that became readable or writable. TLS may need either of them to read or to
  /// write.
  func wakeUp() {
    isReadable = true
    isBlocked = false
  }

  /// Ends a stage that has lasted too long.
  func expire() {
    switch stage {
    case .dialing(let dial): end(.timeout(dial.easy.dialPhase))
    case .upgrading: end(.timeout(.upgrade))
    case .refused(_, let refusal): end(refusal.failure)
    case .open, .over: limit = nil
    case .closing: end(nil)
    }
  }

  /// Handles the end of the dial.
  func finishDial(_ result: CURLcode) {
    guard case .dialing(let dial) = stage else { return }
    guard result == CURLE_OK else {
      return end(dial.outcome(result, phase: dial.easy.dialPhase).failure)
    }
    if let failure = dial.watch(for: number) { return end(failure) }
    outgoing += dial.handshake.requestBytes
    stage = .upgrading(dial, dial.handshake)
    // The request is written immediately, because libcurl may close an unused stream while other
    // dials are in progress.
    flush()
  }

  /// Writes queued bytes until no more can be written without blocking.
  func flush() {
    guard !isBlocked, writeFailure == nil, let dial = connected else { return }
    while queuedBytes > 0 {
      if sent == writing.count { (writing, outgoing, sent) = (outgoing, [], 0) }
      switch dial.easy.send(writing[sent...]) {
      case .bytes(let count): sent += count
      case .wouldBlock, .ended:
        isBlocked = true
        return
      case .failed(let code):
        writeFailure = dial.outcome(code, phase: .write).failure
        isReadable = true
        return
      }
    }
    (writing, sent) = ([], 0)
  }

  private var queuedBytes: Int { writing.count - sent + outgoing.count }

  /// The dial and its connected stream; `nil` if libcurl has not connected it.
  var connected: Dial? {
    switch stage {
    case .upgrading(let dial, _), .refused(let dial, _), .open(let dial), .closing(let dial): dial
    case .dialing, .over: nil
    }
  }

  /// Reads and handles at most one buffer of bytes.
  func read(into buffer: Buffer) {
    guard let dial = connected else { return }
    guard unread.isEmpty else {
      let held = unread
      return unsafe takeFrames(held.span.bytes)
    }
    switch dial.easy.receive(into: buffer) {
    case .bytes(let count): unsafe take(buffer.bytes[..<count])
    case .wouldBlock:
      isReadable = false
      if let writeFailure { end(writeFailure) }
    case .ended: takeEnd()
    case .failed(let code):
      end(writeFailure ?? dial.outcome(code, phase: .silence).failure)
    }
  }

  private func take(_ bytes: Slice<UnsafeMutableRawBufferPointer>) {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
    switch stage {
    case .dialing, .over: break
    case .upgrading(let dial, var handshake):
      let outcome = unsafe handshake.receive(Array(bytes))
      stage = .upgrading(dial, handshake)
      if let outcome { handle(outcome, dial) }
    case .refused(let dial, var refusal):
      unsafe refusal.receive(Array(bytes))
      stage = .refused(dial, refusal)
      if refusal.isWhole { end(refusal.failure) }
    case .open, .closing:
      unsafe takeFrames(bytes.bytes)
    }
  }

  private func takeEnd() {
    switch stage {
    case .dialing, .over: break
    case .upgrading, .open: end(.ended)
    case .refused(_, let refusal): end(refusal.failure)
    case .closing: end(nil)
    }
  }

  private func handle(_ outcome: ClientHandshake.Outcome, _ dial: Dial) {
    switch outcome {
    case .upgraded(let headers, let extensions, let rest):
      let limits = WebSocketLimits(
        maxMessageBytes: maxMessageBytes, maxFragments: maxFragments, oversize: .skip)
      webSocket = WebSocketConnection(
        role: .client, limits: limits, extensions: extensions, maskSeed: .random(in: 0 ... .max))
      inflates = extensions != nil
      limit = nil
      stage = .open(dial)
      events.add([.opened(headers: headers)])
      unsafe takeFrames(rest.span.bytes)
    case .refused(let head, let prefix):
      let refusal = Refusal(head: head, from: dial.url, prefix: prefix)
      if refusal.isWhole { return end(refusal.failure) }
      stage = .refused(dial, refusal)
      // The result is already known, so the rest of a slow body is not awaited for the whole
      // time-out.
      limit = min(limit ?? .now, .now.advanced(by: .seconds(1)))
    case .malformed(let detail): end(.protocolError(detail: detail))
    }
  }

  /// Parses frames and queues their events. If they inflate to too many bytes, the remaining bytes
  /// wait.
  private func takeFrames(_ bytes: RawSpan) {
    let piece = inflates ? 1024 : bytes.byteCount
    var (offset, inflated) = (0, 0)
    while offset < bytes.byteCount, inflated < Self.mostInflated {
      let end = min(offset + piece, bytes.byteCount)
      inflated += takePiece(bytes.extracting(offset..<end))
      offset = end
    }
    unread = unsafe bytes.extracting(offset...).withUnsafeBytes { unsafe Array($0) }
  }

  /// Parses frames and queues their events. Returns the total size of their messages in bytes.
  private func takePiece(_ bytes: RawSpan) -> Int {
    var (received, size): ([SocketEvent], Int) = ([], 0)
    var end: WebSocketEvent?
    webSocket?.receive(bytes) { event in
      switch consume event {
      case .text(let text):
        size += text.count
        received.append(.text(text))
      case .binary(let bytes):
        size += bytes.count
        received.append(.binary(bytes))
      case .ping: received.append(.ping)
      case .pong(let payload):
        if let id = pings.answered(by: payload) { received.append(.pong(id: id)) }
      case .oversized(let bytes): received.append(.oversized(bytes: bytes))
      case .closed(let code, let reason): end = .closed(code: code, reason: reason)
      case .failed(let error): end = .failed(error)
      case .ended: end = .ended
      }
    }
    enqueue(received)
    if let end { takeLast(end) }
    if pendingFailure == nil, writeFailure == nil { outgoing += webSocket?.takeOutput() ?? [] }
    return size
  }

  /// Handles an event that ends the stream. No event follows it.
  private func takeLast(_ event: WebSocketEvent) {
    switch event {
    case .closed(let code, let reason): last(.closed(code: code, reason: reason))
    case .failed(let error): last(.protocolError(detail: error.detail))
    case .ended: takeEnd()
    case .text, .binary, .ping, .pong, .oversized: break
    }
  }

  /// Continues after all events have been delivered. The app could thus still reply to them.
  func handedOut() {
    isDelivering = false
    guard let failure = pendingFailure else { return }
    pendingFailure = nil
    outgoing += webSocket?.takeOutput() ?? []
    last(failure)
  }

  private func enqueue(_ received: [SocketEvent]) {
    if case .open = stage { events.add(received) }
  }

  /// Ends an open socket: sends the close frame and waits for the peer's end.
  ///
  /// Replies to earlier events are sent first, because a close is the last frame (RFC 6455 section
  /// 5.5.1).
  private func last(_ failure: LinkFailure) {
    guard events.isEmpty, !isDelivering else {
      pendingFailure = failure
      return
    }
    enqueue([.failed(secrets.clean(failure))])
    resumeClosers()
    if case .open(let dial) = stage { startClosing(dial) }
  }

  private func startClosing(_ dial: Dial) {
    stage = .closing(dial)
    limit = .now.advanced(by: .seconds(1))
  }

  /// Releases the connection. Delivers `failure` unless the socket is closing.
  private func end(_ failure: LinkFailure?) {
    if let failure {
      switch stage {
      case .closing: break
      case .dialing, .upgrading, .refused, .open, .over:
        events.add([.failed(secrets.clean(failure))])
      }
    }
    stage = .over
    limit = nil
    (outgoing, writing, unread, sent) = ([], [], [], 0)
    resumeClosers()
  }

  private func resumeClosers() {
    for closer in closers { closer.resume() }
    closers = []
  }
}

/// The events of a socket that have not been delivered.
struct EventQueue {
  private var events: [SocketEvent] = []
  /// The number of elements of `events` that have been delivered.
  private var handed = 0

  /// Whether all events have been delivered.
  var isEmpty: Bool { events.isEmpty }

  mutating func add(_ received: [SocketEvent]) {
    if events.isEmpty { events = received } else { events += received }
  }

  /// Returns the next events to deliver, at most `most`; an empty array if all have been delivered.
  mutating func take(atMost most: Int) -> [SocketEvent] {
    let left = events.count - handed
    guard left <= most else {
      handed += most
      return Array(events[(handed - most)..<handed])
    }
    defer { drop() }
    return handed == 0 ? events : Array(events[handed...])
  }

  mutating func drop() { (events, handed) = ([], 0) }
}

/// The pings that have no pong yet, in the order in which they were sent.
struct Pings {
  private var ids: [UInt64] = []

  /// Adds a ping and returns its payload.
  mutating func add(_ id: UInt64) -> [UInt8] {
    // The list must not grow if a peer never sends a pong.
    if ids.count == 32 { ids.removeFirst() }
    ids.append(id)
    return (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
  }

  /// Returns the ping that a pong answers. Earlier pings are then also answered (RFC 6455 section
  /// 5.5.3).
  mutating func answered(by payload: [UInt8]) -> UInt64? {
    guard payload.count == 8 else { return nil }
    let id = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard let index = ids.firstIndex(of: id) else { return nil }
    ids.removeSubrange(...index)
    return id
  }
}
