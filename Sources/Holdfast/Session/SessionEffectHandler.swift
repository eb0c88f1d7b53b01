import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastKeyedHashing
import HoldfastPorts
import HoldfastSession
import HoldfastSessionData
import HoldfastSocket

/// The effect handler of a session. It uses the sockets, the key and the store, and delivers
/// events.
actor SessionEffectHandler: EffectHandler {
  /// The work of which there is at most one piece at a time.
  private enum Work: Hashable, Sendable { case key }

  let thread: EventThread
  let sink: InputSink<SessionModel>
  let updates: UpdateChannel<SessionUpdate>
  /// The callers that wait for answers.
  let answers = PromptAnswers()
  private let configuration: SessionConfiguration
  private let store: any ClientSessionStore
  private let sockets: SocketPool
  private let network: any HTTPClient
  private let tasks: EffectTasks<SessionModel, Work>
  private let backpressure: StoreBackpressure
  /// The most recently read key.
  private var key = ""

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(
    _ configuration: SessionConfiguration, _ network: any SocketDialer & HTTPClient,
    _ store: any ClientSessionStore
  ) {
    let sink = InputSink<SessionModel>()
    thread = network.eventThread(or: "holdfast.session")
    sockets = SocketPool(network, policy: configuration.policy)
    self.network = network
    tasks = EffectTasks(sink)
    updates = UpdateChannel(
      overflow: Self.overflow, unreadOverflow: Self.unreadOverflow, bytes: \.bytes)
    // A response arrives only once on a connection, so no message is dropped even if the store is
    // slow.
    backpressure = StoreBackpressure(clock: configuration.ports.clock, timeLimit: nil)
    (self.configuration, self.store, self.sink) = (configuration, store, sink)
  }

  /// Replaces the last state with a newer one and drops notices while the app reads no events.
  ///
  /// Messages are kept. The socket is no longer read, so only a few more messages can arrive.
  @Sendable private static func overflow(_ waiting: inout [SessionUpdate], _ next: SessionUpdate) {
    switch (next, waiting.last) {
    case (.notice, _), (.record, _), (.part, _): return
    case (.status, .status), (.quality, .quality): waiting.removeLast()
    case (.status, _), (.quality, _), (.pending, _), (.prompt, _), (.message, _), (.gap, _): break
    }
    waiting.append(next)
  }

  /// Replaces the last status and drops all other updates while no loop has to read them.
  @Sendable private static func unreadOverflow(
    _ waiting: inout [SessionUpdate], _ next: SessionUpdate
  ) {
    guard case .status = next else { return }
    waiting.removeAll { if case .status = $0 { true } else { false } }
    waiting.append(next)
  }

  func perform(_ effect: SessionModel.Effect) async {
    switch effect {
    case .open(let attempt): await open(attempt)
    case .close(let attempt, let reason): sockets.close(attempt, code: reason.closeCode)
    case .connect(let attempt, let connect, let challenge):
      await send(.connect(signed(connect, challenge)), on: attempt)
    case .send(let attempt, let message): await send(message, on: attempt)
    case .refreshCredentials: readKey()
    case .probe(let time): probe(within: time)
    case .commit(let id, let change): commit(id, change)
    case .update(let update): deliver(update)
    }
  }

  private func deliver(_ update: SessionUpdate) {
    if case .status(let status) = update {
      updates.put(update, failure: status.isFinal ? status.failure : nil)
    } else {
      updates.put(update)
    }
    answers.note(update)
  }

  func stop() async {
    answers.end()
    backpressure.open()
    tasks.stop()
    await sockets.stop()
  }

  /// Reads the key again. If it is not available now, it is requested again later.
  private func readKey() {
    tasks.start(.key) { [tokens = configuration.tokens, weak self] () throws(TokenFailure) in
      await self?.take(try await tokens.token().text)
      return .credentials(.available(expiresIn: nil))
    } failing: { [redaction = Redaction([key])] failure in
      switch failure {
      case .rejected: .credentials(.rejected)
      case .unavailable:
        .credentials(.refreshFailed(detail: redaction.clean(failure.description)))
      }
    }
  }

  private func take(_ key: String) { self.key = key }

  /// Whether the key is a token of an identity provider (RFC 7519 section 3.1), which the upgrade has
  /// already shown to the server. Keys of servers have no such form.
  private var isToken: Bool {
    key.hasPrefix("eyJ") && key.utf8.count { $0 == UInt8(ascii: ".") } == 2
  }

  /// Returns the message with the proof of the key, or with the key itself if there is no
  /// challenge. A token is not added.
  private func signed(_ connect: SessionConnect, _ challenge: String?) -> SessionConnect {
    guard !isToken else { return connect }
    var connect = connect
    guard let challenge else {
      connect.key = Secret(key)
      return connect
    }
    let text = connect.signedText(challenge)
    let code = KeyedHash.sha256(key: Array(key.utf8), over: Array(text.utf8))
    connect.proof = Secret(Hex.text(of: code))
    return connect
  }

  /// Requests a page of the server without the key, and reports whether the response is a login
  /// page.
  ///
  /// The request uses plain HTTP even if the server uses TLS, because a network can insert a login
  /// page only into plain HTTP.
  private func probe(within time: Duration) {
    let url = ServerURL.page("/healthz", besides: configuration.url)
    tasks.start { [network] () throws(LinkFailure) in
      // Without a result, a failure would never be shown.
      guard let url else { return .probed(isPortal: false) }
      let answer = try await network.send(
        HTTPCall(method: "GET", url: url, timeout: time, maxBodyBytes: 1 << 20))
      return .probed(isPortal: answer.head.isLoginPage(from: url))
    } failing: { _ in
      .probed(isPortal: false)
    }
  }

  private func open(_ attempt: AttemptID) async {
    var request = SocketRequest(
      url: configuration.url, openTimeout: configuration.policy.establish.openTimeout,
      maxMessageBytes: SessionServerMessage.maxBytes)
    request.note = sink.notes(of: attempt)
    if isToken { request.headers.append(("Authorization", "Bearer \(key)")) }
    let clock = configuration.ports.clock
    let (sink, updates, backpressure) = (sink, updates, backpressure)
    await sockets.open(attempt, request, hiding: [key]) { events, redaction in
      let paused = { (isPaused: Bool) in
        await sink.post([.reading(attempt, isPaused: isPaused)])
      }
      await updates.paced(events, paused: paused) { events in
        await backpressure.pass(events.reduce(0) { $0 + $1.load }, paused: paused)
        let wall = clock.wall
        await sink.post(events.map { SessionModel.Input($0, attempt, at: wall, redaction) })
      }
    }
  }

  private func send(_ message: SessionClientMessage, on attempt: AttemptID) async {
    await sockets.send(SocketMessage(text: message.bytes), on: attempt) { [sink] in
      await sink.post([.unsent(attempt)])
    }
  }

  /// Commits a change to the store. A refused change is committed again, so the backpressure opens
  /// only after a success.
  private func commit(_ id: SessionCommitID, _ change: ClientSessionChange) {
    backpressure.close()
    let (store, backpressure) = (store, backpressure)
    tasks.start(on: thread) { () throws(StoreFailure) in
      let news = try await store.commit(change)
      backpressure.open()
      return .committed(id, news)
    } failing: {
      .commitFailed(id, $0)
    }
  }
}

extension SocketEvent {
  /// The load of an event for the backpressure: one, plus one for each 16 KiB.
  fileprivate var load: Int {
    switch self {
    case .text(let bytes), .binary(let bytes): 1 + bytes.count >> 14
    case .opened, .ping, .pong, .stalled, .oversized, .failed: 1
    }
  }
}

extension SessionModel.Input {
  fileprivate init(
    _ event: SocketEvent, _ attempt: AttemptID, at wall: Timestamp, _ redaction: Redaction
  ) {
    self = event.input(of: attempt) { _ in
      .opened(attempt)
    } message: {
      Self($0, attempt, at: wall, redaction)
    } link: {
      .link($0, at: wall)
    }
  }

  private init(
    _ message: SocketMessage, _ attempt: AttemptID, at wall: Timestamp, _ redaction: Redaction
  ) {
    guard message.isText, let bytes = message.bytes else {
      self = .malformed(attempt, detail: "a binary message instead of text")
      return
    }
    do throws(FieldFault) {
      let read = try SessionServerMessage.read(bytes)
      self = .frame(attempt, read.cleaned(redaction), bytes: bytes.count, at: wall)
    } catch {
      self = .malformed(attempt, detail: redaction.clean("\(error)"))
    }
  }
}

extension SessionServerMessage {
  /// Returns the message with redacted texts, because the texts could repeat the key.
  fileprivate func cleaned(_ redaction: Redaction) -> SessionServerMessage {
    switch self {
    case .authError(let message): return .authError(message: redaction.clean(message))
    case .error(var error):
      error.message = redaction.clean(error.message)
      return .error(error)
    case .unknown(let type): return .unknown(type: redaction.clean(type))
    case .hello, .connected, .pong, .ack, .response, .responsePart, .replay, .turnComplete,
      .history, .historyBatch, .heartbeat, .draining, .sessionKilled:
      return self
    }
  }
}

extension SessionUpdate {
  fileprivate var bytes: Int {
    switch self {
    case .message(let entry, _, _): entry.text.utf8.count
    case .prompt(let prompt, _): prompt.text.utf8.count + (prompt.answer?.text.utf8.count ?? 0)
    case .part(_, _, _, let text): text.utf8.count
    case .pending(let prompts): prompts.reduce(0) { $0 + $1.text.utf8.count }
    case .status, .quality, .gap, .record, .notice: 0
    }
  }
}
