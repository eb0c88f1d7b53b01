import CCurl
import LinkCore
import LinkDriver
import LinkProtocols

/// One socket from its dial to its end; lives on the loop's thread.
final class SocketConnection {
  /// How far it is.
  enum Stage {
    /// libcurl resolves, connects and speaks TLS.
    case dialing(Dial)
    /// The upgrade was asked for.
    case upgrading(Dial, ClientHandshake)
    /// The upgrade was refused; the body that says why is still read.
    case refused(Dial, Refusal)
    case open(Dial)
    /// A close frame went out: no event follows, the peer's close is waited for.
    case closing(Dial)
    case over
  }

  let deliver: @Sendable ([SocketEvent]) async -> Void
  /// How many events are handed over together.
  private let mostInTurn: Int
  /// Whether a task hands out events now.
  var isDelivering = false
  /// Resumed when the peer closed, or did not in time.
  var closers: [CheckedContinuation<Void, Never>] = []

  private(set) var stage = Stage.over
  /// When the stage has lasted too long.
  private(set) var limit: ContinuousClock.Instant?
  var webSocket: WebSocketConnection?
  /// Whether few bytes may become many.
  private var inflates = false
  /// What was read and waits until the events before it are taken.
  private var unread: [UInt8] = []
  private var events = EventQueue()
  /// Why it will end once the events before are handed out.
  private var parting: LinkFailure?
  private var outgoing: [UInt8] = []
  /// What is being written. It stays as it is: OpenSSL repeats a blocked write from the same place.
  private var writing: [UInt8] = []
  /// How much of `writing` is sent.
  private var sent = 0
  private var pings = Pings()
  private var isReadable = false
  private var isBlocked = false
  /// Why writing failed; what the peer sent before is still worth reading.
  private var writeFailure: LinkFailure?
  /// What one turn inflates before the rest of its read is left to the next: 1 MiB.
  static let mostInflated = 1_048_576
  private let maxMessageBytes: Int
  private let maxFragments: Int
  private let maxQueuedBytes: Int
  private let secrets: Secrets
  private let number: UInt64

  init(
    _ request: SocketRequest, _ place: Dial.Place, configuration: CurlConfiguration,
    mostInTurn: Int, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) {
    self.deliver = deliver
    number = place.number
    self.mostInTurn = mostInTurn
    maxMessageBytes = request.maxMessageBytes
    maxFragments = configuration.maxFragments
    maxQueuedBytes = configuration.maxQueuedBytes
    secrets = Secrets(headers: request.headers, query: request.query)
    do throws(LinkFailure) {
      stage = .dialing(try Dial(request, place, configuration: configuration))
      limit = .now.advanced(by: request.openTimeout)
    } catch {
      end(error)
    }
  }
}

// MARK: What the loop asks

extension SocketConnection {
  var mustDeliver: Bool { !isDelivering && !events.isEmpty }

  /// Gone, and everything was handed out.
  var isFinished: Bool { isClosed && !isDelivering && events.isEmpty }

  /// No longer connected.
  var isClosed: Bool {
    if case .over = stage { true } else { false }
  }

  /// The handles that dial for it.
  var transfers: Transfers? {
    guard case .dialing(let dial) = stage else { return nil }
    return dial.transfers
  }

  /// When something has to happen though nothing came.
  var deadline: ContinuousClock.Instant? {
    guard let next = transfers?.deadline else { return limit }
    return min(next, limit ?? next)
  }

  /// Whether something waits to be written that may be.
  var canWrite: Bool {
    queuedBytes > 0 && !isBlocked && writeFailure == nil && connected != nil
  }

  /// Whether reading would not have to wait: libcurl may hold bytes the descriptor does not show.
  var canReadOn: Bool { isReadable && wantsRead }

  private var wantsRead: Bool {
    switch stage {
    case .upgrading, .refused, .closing: true
    // Twice the queue: a peer that pings and never reads must not fill the memory with pongs.
    case .open:
      events.isEmpty && !isDelivering && (writeFailure != nil || queuedBytes < 2 * maxQueuedBytes)
    case .dialing, .over: false
    }
  }

  /// What is handed over next; empty when all was.
  func takeTurn() -> [SocketEvent] { events.take(atMost: mostInTurn) }
}

// MARK: What the app asks

extension SocketConnection {
  func send(text: [UInt8]) -> SocketSending {
    if let obstacle = obstacle(to: text.count) { return obstacle }
    return webSocket?.send(text: text, into: &outgoing) ?? false ? .queued : .closed
  }

  func send(binary: [UInt8]) -> SocketSending {
    if let obstacle = obstacle(to: binary.count) { return obstacle }
    return webSocket?.send(binary: binary, into: &outgoing) ?? false ? .queued : .closed
  }

  func send(raw: [UInt8]) -> SocketSending {
    if let obstacle = obstacle(to: raw.count) { return obstacle }
    outgoing += raw
    return .queued
  }

  /// Why a message of so many bytes cannot be queued; `nil` if it can.
  private func obstacle(to count: Int) -> SocketSending? {
    guard case .open = stage, writeFailure == nil else { return .closed }
    return queuedBytes + count <= maxQueuedBytes ? nil : .full
  }

  /// Returns how many messages came compressed since the last call.
  func takeCompressedMessages() -> Int {
    webSocket?.takeCompressedMessages() ?? 0
  }

  func ping(_ id: UInt64) {
    guard case .open = stage, writeFailure == nil else { return }
    _ = webSocket?.ping(pings.add(id), into: &outgoing)
  }

  /// Says goodbye when open; gives up when not yet.
  func close(code: UInt16, reason: String) {
    switch stage {
    case .dialing, .upgrading, .refused:
      end(.local(detail: "Closed before it opened."))
    case .open(let dial):
      webSocket?.close(code: code, reason: reason, into: &outgoing)
      events.drop()
      startClosing(dial)
    case .closing: events.drop()
    // A socket that never opened still owes its one failure.
    case .over: if webSocket != nil { events.drop() }
    }
  }
}

// MARK: What happens

extension SocketConnection {
  /// The stream became readable or writable; TLS may need either for both.
  func wakeUp() {
    isReadable = true
    isBlocked = false
  }

  /// The stage has lasted too long.
  func expire() {
    switch stage {
    case .dialing(let dial): end(.timeout(dial.easy.dialPhase))
    case .upgrading: end(.timeout(.upgrade))
    case .refused(_, let refusal): end(refusal.failure)
    case .open, .over: limit = nil
    case .closing: end(nil)
    }
  }

  /// libcurl connected the stream, or could not.
  func finishDial(_ result: CURLcode) {
    guard case .dialing(let dial) = stage else { return }
    guard result == CURLE_OK else {
      return end(dial.outcome(result, phase: dial.easy.dialPhase).failure)
    }
    if let failure = dial.watch(for: number) { return end(failure) }
    outgoing += dial.handshake.requestBytes
    stage = .upgrading(dial, dial.handshake)
    // At once: a stream over which nothing went yet libcurl may close when others dial.
    flush()
  }

  /// Writes what is queued, until the peer takes no more.
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

  /// The stream, once libcurl connected it.
  var connected: Dial? {
    switch stage {
    case .upgrading(let dial, _), .refused(let dial, _), .open(let dial), .closing(let dial): dial
    case .dialing, .over: nil
    }
  }

  /// Takes in one buffer of bytes.
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
      let verdict = unsafe handshake.receive(Array(bytes))
      stage = .upgrading(dial, handshake)
      if let verdict { judge(verdict, dial) }
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

  private func judge(_ verdict: ClientHandshake.Verdict, _ dial: Dial) {
    switch verdict {
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
      // The verdict is known; a body that dawdles is not worth the whole time-out.
      limit = min(limit ?? .now, .now.advanced(by: .seconds(1)))
    case .malformed(let detail): end(.protocolError(detail: detail))
    }
  }

  /// Reads frames and tells what they meant; of those that inflate to much, the rest waits.
  private func takeFrames(_ bytes: RawSpan) {
    let piece = inflates ? 1024 : bytes.byteCount
    var (offset, told) = (0, 0)
    while offset < bytes.byteCount, told < Self.mostInflated {
      let end = min(offset + piece, bytes.byteCount)
      told += takePiece(bytes.extracting(offset..<end))
      offset = end
    }
    unread = unsafe bytes.extracting(offset...).withUnsafeBytes { unsafe Array($0) }
  }

  /// Reads frames and tells what they meant; how many bytes of messages those are.
  private func takePiece(_ bytes: RawSpan) -> Int {
    var (told, size): ([SocketEvent], Int) = ([], 0)
    var end: WebSocketEvent?
    webSocket?.receive(bytes) { event in
      switch consume event {
      case .text(let text):
        size += text.count
        told.append(.text(text))
      case .binary(let bytes):
        size += bytes.count
        told.append(.binary(bytes))
      case .ping: told.append(.ping)
      case .pong(let payload):
        if let id = pings.answered(by: payload) { told.append(.pong(id: id)) }
      case .oversized(let bytes): told.append(.oversized(bytes: bytes))
      case .closed(let code, let reason): end = .closed(code: code, reason: reason)
      case .failed(let error): end = .failed(error)
      case .ended: end = .ended
      }
    }
    tell(told)
    if let end { takeLast(end) }
    if parting == nil, writeFailure == nil { outgoing += webSocket?.takeOutput() ?? [] }
    return size
  }

  /// Acts on an event that is the end, behind which there is none.
  private func takeLast(_ event: WebSocketEvent) {
    switch event {
    case .closed(let code, let reason): last(.closed(code: code, reason: reason))
    case .failed(let error): last(.protocolError(detail: error.detail))
    case .ended: takeEnd()
    case .text, .binary, .ping, .pong, .oversized: break
    }
  }

  /// Everything that came was handed out, so that the app could still answer it.
  func handedOut() {
    isDelivering = false
    guard let failure = parting else { return }
    parting = nil
    outgoing += webSocket?.takeOutput() ?? []
    last(failure)
  }

  private func tell(_ told: [SocketEvent]) {
    if case .open = stage { events.add(told) }
  }

  /// The peer is done, or we are with it: what is left is to send our close and wait for its end.
  ///
  /// Answers to what came before it go first (RFC 6455 section 5.5.1: a close is the last frame).
  private func last(_ failure: LinkFailure) {
    guard events.isEmpty, !isDelivering else {
      parting = failure
      return
    }
    tell([.failed(secrets.clean(failure))])
    resumeClosers()
    if case .open(let dial) = stage { startClosing(dial) }
  }

  private func startClosing(_ dial: Dial) {
    stage = .closing(dial)
    limit = .now.advanced(by: .seconds(1))
  }

  /// Lets go of the connection; `failure` is told unless everything was said.
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

/// What happened to a socket and is not handed over yet.
struct EventQueue {
  private var events: [SocketEvent] = []
  /// How many of `events` were handed over.
  private var handed = 0

  /// Whether everything was handed over.
  var isEmpty: Bool { events.isEmpty }

  mutating func add(_ told: [SocketEvent]) {
    if events.isEmpty { events = told } else { events += told }
  }

  /// What is handed over next, so many at most; empty when all was.
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

/// Pings without an answer yet, in the order they were sent.
struct Pings {
  private var ids: [UInt64] = []

  /// The payload that a new ping carries.
  mutating func add(_ id: UInt64) -> [UInt8] {
    // A peer that answers none must not make this grow.
    if ids.count == 32 { ids.removeFirst() }
    ids.append(id)
    return (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
  }

  /// The ping that a pong answers; those before it count as answered (RFC 6455 section 5.5.3).
  mutating func answered(by payload: [UInt8]) -> UInt64? {
    guard payload.count == 8 else { return nil }
    let id = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard let place = ids.firstIndex(of: id) else { return nil }
    ids.removeSubrange(...place)
    return id
  }
}
