package import HoldfastCore
package import HoldfastPorts
import HoldfastProtocols

/// A socket, from its dial to its end, over any stream. Its owner calls it from one thread or actor.
package final class SocketConnection {
  /// A stage in the life of a socket.
  enum Stage {
    /// The stream is resolving the name, connecting, or performing the TLS handshake.
    case dialing(any SocketStream)
    /// The upgrade request was sent or is being sent.
    case upgrading(any SocketStream, ClientHandshake)
    /// The server refused the upgrade. The body, which contains the reason, is still being read.
    case refused(any SocketStream, Refusal)
    case open(any SocketStream)
    /// A close frame was sent or is queued. The socket waits for the peer's close, and no event
    /// follows.
    case closing(any SocketStream)
    case over
  }

  package let deliver: @Sendable ([SocketEvent]) async -> Void
  /// The maximum number of events in a delivery.
  private let mostInTurn: Int
  /// Whether a task is currently delivering events.
  package var isDelivering = false
  /// The calls of `close`. They are resumed when the peer has closed the connection or the time is
  /// over.
  package var closers: [CheckedContinuation<Void, Never>] = []

  private(set) var stage = Stage.over
  /// The time at which the current stage times out.
  package private(set) var limit: Instant?
  private let clock: any LinkClock
  private var webSocket: WebSocketConnection?
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
  package static let mostInflated = 1_048_576
  private let maxMessageBytes: Int
  private let maxFragments: Int
  private let maxQueuedBytes: Int
  private let secrets: Secrets
  /// The notes for a journal; `nil` if none is written.
  private var notes: NoteTaker?

  /// Creates a socket and starts its dial. A dial that cannot start is reported as an event.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures how long a stage lasts.
  ///   - mostInTurn: The maximum number of events in a delivery.
  package init(
    _ request: SocketRequest, limits: SocketLimits, clock: any LinkClock, mostInTurn: Int,
    deliver: @escaping @Sendable ([SocketEvent]) async -> Void,
    dial: () throws(LinkFailure) -> any SocketStream
  ) {
    self.clock = clock
    self.deliver = deliver
    self.mostInTurn = mostInTurn
    maxMessageBytes = request.maxMessageBytes
    maxFragments = limits.maxFragments
    maxQueuedBytes = limits.maxQueuedBytes
    secrets = Secrets(headers: request.headers, query: request.query)
    notes = NoteTaker(request.note, clock)
    do throws(LinkFailure) {
      stage = .dialing(try dial())
      limit = clock.now.advanced(by: request.openTimeout)
    } catch {
      end(error)
    }
  }
}

// MARK: Queries by the owner

extension SocketConnection {
  package var mustDeliver: Bool { !isDelivering && !events.isEmpty }

  /// Whether the socket is closed and all of its events have been delivered.
  package var isFinished: Bool { isClosed && !isDelivering && events.isEmpty }

  /// Whether the socket is no longer connected.
  package var isClosed: Bool {
    if case .over = stage { true } else { false }
  }

  /// The stream while its dial is in progress.
  package var dialing: (any SocketStream)? {
    guard case .dialing(let dial) = stage else { return nil }
    return dial
  }

  /// Whether queued bytes can be written now.
  package var canWrite: Bool {
    queuedBytes > 0 && !isBlocked && writeFailure == nil && connected != nil
  }

  /// Whether a read would not block. A stream may hold bytes that were read before.
  package var canReadOn: Bool { isReadable && wantsRead }

  private var wantsRead: Bool {
    switch stage {
    case .upgrading, .refused, .closing: true
    // The limit is twice that of the queue. A peer that sends pings but never reads must not fill
    // the memory with pongs.
    case .open:
      events.isEmpty && !isDelivering && (writeFailure != nil || unsentBytes < 2 * maxQueuedBytes)
    case .dialing, .over: false
    }
  }

  /// Returns the next events to deliver; an empty array if all have been delivered.
  package func takeTurn() -> [SocketEvent] { events.take(atMost: mostInTurn) }
}

// MARK: Calls by the app

extension SocketConnection {
  package func send(text: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: text.count) { return rejection }
    return webSocket?.send(text: text, into: &outgoing) ?? false ? .queued : .closed
  }

  package func send(binary: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: binary.count) { return rejection }
    return webSocket?.send(binary: binary, into: &outgoing) ?? false ? .queued : .closed
  }

  package func send(raw: [UInt8]) -> SocketSending {
    if let rejection = rejection(to: raw.count) { return rejection }
    outgoing += raw
    return .queued
  }

  /// Returns the reason why a message of `count` bytes cannot be queued; `nil` if it can be queued.
  private func rejection(to count: Int) -> SocketSending? {
    guard case .open = stage, writeFailure == nil else { return .closed }
    return unsentBytes + count <= maxQueuedBytes ? nil : .full
  }

  /// Returns the number of compressed messages that were received since the last call.
  package func takeCompressedMessages() -> Int {
    webSocket?.takeCompressedMessages() ?? 0
  }

  package func ping(_ id: UInt64) {
    guard case .open = stage, writeFailure == nil else { return }
    _ = webSocket?.ping(pings.add(id), into: &outgoing)
  }

  /// Sends a close frame if the socket is open, or ends the socket if it is not open yet.
  package func close(code: UInt16, reason: String) {
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
  package func wakeUp() {
    isReadable = true
    isBlocked = false
  }

  /// Ends a stage that has lasted too long.
  package func expire() {
    switch stage {
    case .dialing(let dial): end(.timeout(dial.dialPhase))
    case .upgrading: end(.timeout(.upgrade))
    case .refused(_, let refusal): end(refusal.failure)
    case .open, .over: limit = nil
    case .closing: end(nil)
    }
  }

  /// Handles the end of the dial, which has failed unless `failure` is `nil`.
  package func finishDial(_ failure: LinkFailure?) {
    guard case .dialing(let dial) = stage else { return }
    if let failure = failure ?? dial.becomeReady() { return end(failure) }
    notes?.endDial(dial)
    outgoing += dial.handshake.requestBytes
    stage = .upgrading(dial, dial.handshake)
    // The request is written immediately, because libcurl may close an unused stream while other
    // dials are in progress.
    flush()
  }

  /// Reports that data cannot be transferred for now, if the socket is open.
  package func stall() {
    enqueue([.stalled])
  }

  /// Writes queued bytes until no more can be written without blocking.
  package func flush() {
    guard !isBlocked, writeFailure == nil, let dial = connected else { return }
    while queuedBytes > 0 {
      if sent == writing.count { (writing, outgoing, sent) = (outgoing, [], 0) }
      switch dial.write(writing[sent...]) {
      case .bytes(let count):
        sent += count
        notes?.send(count)
      case .wouldBlock:
        isBlocked = true
        return
      case .failed(let failure):
        writeFailure = failure
        isReadable = true
        return
      }
    }
    (writing, sent) = ([], 0)
  }

  private var queuedBytes: Int { writing.count - sent + outgoing.count }

  /// The number of bytes that the system has not accepted.
  private var unsentBytes: Int { queuedBytes + (connected?.pendingBytes ?? 0) }

  /// The connected stream; `nil` before its dial has succeeded and after the socket's end.
  package var connected: (any SocketStream)? {
    switch stage {
    case .upgrading(let dial, _), .refused(let dial, _), .open(let dial), .closing(let dial): dial
    case .dialing, .over: nil
    }
  }

  /// Reads and handles the bytes of at most one read of the stream.
  package func read() {
    guard let dial = connected else { return }
    guard unread.isEmpty else {
      let held = unread[...]
      return unsafe takeFrames(held.span.bytes)
    }
    switch dial.read({ take($0) }) {
    case .bytes: break
    case .wouldBlock:
      isReadable = false
      if let writeFailure { end(writeFailure) }
    case .ended: takeEnd()
    case .failed(let failure): end(writeFailure ?? failure)
    }
  }

  private func take(_ bytes: RawSpan) {
    notes?.receive(bytes.byteCount)
    switch stage {
    case .dialing, .over: break
    case .upgrading(let dial, var handshake):
      let outcome = handshake.receive(Self.copy(bytes))
      stage = .upgrading(dial, handshake)
      if let outcome { handle(outcome, dial) }
    case .refused(let dial, var refusal):
      refusal.receive(Self.copy(bytes))
      stage = .refused(dial, refusal)
      if refusal.isWhole { end(refusal.failure) }
    case .open, .closing:
      takeFrames(bytes)
    }
  }

  private static func copy(_ bytes: RawSpan) -> [UInt8] {
    unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  private func takeEnd() {
    switch stage {
    case .dialing, .over: break
    case .upgrading, .open: end(.ended)
    case .refused(_, let refusal): end(refusal.failure)
    case .closing: end(nil)
    }
  }

  private func handle(_ outcome: ClientHandshake.Outcome, _ dial: any SocketStream) {
    switch outcome {
    case .upgraded(let headers, let extensions, let rest):
      let limits = WebSocketLimits(
        maxMessageBytes: maxMessageBytes, maxFragments: maxFragments, oversize: .skip)
      webSocket = WebSocketConnection(
        role: .client, limits: limits, extensions: extensions, maskSeed: .random(in: 0 ... .max))
      inflates = extensions != nil
      limit = nil
      stage = .open(dial)
      notes?.open()
      events.add([.opened(headers: headers)])
      let bytes = rest[...]
      unsafe takeFrames(bytes.span.bytes)
    case .refused(let head, let prefix):
      let refusal = Refusal(head: head, from: dial.url, prefix: prefix)
      if refusal.isWhole { return end(refusal.failure) }
      stage = .refused(dial, refusal)
      // The result is already known, so the rest of a slow body is not awaited for the whole
      // time-out.
      let soon = clock.now.advanced(by: .seconds(1))
      limit = min(limit ?? soon, soon)
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
    unread = Self.copy(bytes.extracting(offset...))
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
  package func handedOut() {
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

  private func startClosing(_ dial: any SocketStream) {
    notes?.end()
    stage = .closing(dial)
    limit = clock.now.advanced(by: .seconds(1))
  }

  /// Releases the connection. Delivers `failure` unless the socket is closing.
  private func end(_ failure: LinkFailure?) {
    noteEnd()
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

  private func noteEnd() {
    switch stage {
    case .dialing(let stream), .upgrading(let stream, _), .refused(let stream, _):
      notes?.fail(stream)
    case .open: notes?.end()
    case .closing, .over: break
    }
  }

  private func resumeClosers() {
    for closer in closers { closer.resume() }
    closers = []
  }
}
