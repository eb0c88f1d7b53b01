import Foundation
import HoldfastHeldSocket
import HoldfastCore
import HoldfastPorts

/// The effect handler of a held socket, which manages its connections, outbox store and events.
actor HeldSocketEffectHandler: EffectHandler {
  let sink: InputSink<SocketModel>
  let updates: UpdateChannel<HeldSocket.Event>
  private let url: String
  private let options: SocketOptions
  private let openTimeout: Duration
  private let vault: TokenVault?
  private let sockets: SocketPool
  private let tasks: EffectTasks<SocketModel, Never>
  /// The latest change to the stored outbox; the next change waits for it.
  private var keeping: Task<Void, Never>?

  init(
    _ url: String, _ settings: SocketSettings, _ options: SocketOptions,
    _ network: any SocketDialer & HTTPClient
  ) {
    let sink = InputSink<SocketModel>()
    let policy = settings.policy
    let vault = options.tokens.map { tokens in
      TokenVault(tokens, limit: policy.gate.refreshTimeout, clock: options.clock) { event, _ in
        await sink.post([.credentials(event)])
      }
    }
    sockets = SocketPool(
      network, policy: policy, credentials: vault.map { .vault($0, options.placement) } ?? .none)
    tasks = EffectTasks(sink)
    updates = UpdateChannel(overflow: Self.overflow, bytes: \.bytes)
    (self.url, self.options, self.sink, self.vault) = (url, options, sink, vault)
    openTimeout = policy.establish.openTimeout
  }

  /// Replaces the last state with a newer one, and drops notices, while the queue is full.
  ///
  /// Messages are always kept. Only a few more can arrive, because the socket is no longer read.
  @Sendable private static func overflow(
    _ waiting: inout [HeldSocket.Event], _ next: HeldSocket.Event
  ) {
    switch (next, waiting.last) {
    case (.notice, _): return
    case (.status, .status), (.quality, .quality), (.sent, .sent): waiting.removeLast()
    case (.status, _), (.quality, _), (.sent, _), (.text, _), (.binary, _): break
    }
    waiting.append(next)
  }

  func perform(_ effect: SocketModel.Effect) async {
    let language = options.language
    switch effect {
    case .open(let attempt): await open(attempt)
    case .close(let attempt, let code): sockets.close(attempt, code: code)
    case .greet(let attempt, let subprotocol, let position):
      let greeting = SocketGreeting(
        token: await vault?.token, position: position?.text, subprotocol: subprotocol)
      await send(language.hello?(greeting), on: attempt)
    case .resume(let attempt, let position):
      await send(language.resume?(position.text), on: attempt)
    case .send(let attempt, let message): await send(message, on: attempt)
    case .ping(let attempt, let id): await sockets.ping(attempt, id: id)
    case .ask(let attempt): await send(language.ping, on: attempt)
    case .refreshCredentials:
      if let vault { tasks.renew(vault) } else { tasks.start { .credentials(.rejected) } }
    case .store, .remove: keep(effect)
    case .update(let update):
      if let event = HeldSocket.Event(update) { updates.put(event) }
    }
  }

  func stop() async {
    tasks.stop()
    await keeping?.value
    await sockets.stop()
    await vault?.end()
  }

  private func open(_ attempt: AttemptID) async {
    let headers = options.headers()
    var request = SocketRequest(
      url: url, headers: headers, subprotocols: options.subprotocols, openTimeout: openTimeout,
      maxMessageBytes: options.maxMessageBytes)
    request.allowsCompression = options.allowsCompression
    let language = options.language
    await sockets.open(attempt, request, hiding: Self.secrets(url, headers.map(\.value))) {
      [sink, updates] events, _ in
      await updates.paced(events) { isPaused in
        await sink.post([.socket(attempt, .reading(isPaused: isPaused))])
      } then: { events in
        await sink.post(events.map { SocketModel.Input($0, attempt, language) })
      }
    }
  }

  /// Returns the parts of a request that must stay secret and that a server could repeat.
  ///
  /// The result contains the header values, the query, and the parts of both, as written and
  /// decoded. Parts of fewer than 8 bytes are omitted, because they are likely to be ordinary
  /// words.
  private static func secrets(_ url: String, _ values: [String]) -> [String] {
    let texts = values + url.split(separator: "?", maxSplits: 1).dropFirst().map(String.init)
    let parts = texts.flatMap { $0.split { " ;,=&".contains($0) }.map(String.init) }
    let decoded = parts.compactMap(\.removingPercentEncoding)
    return texts + (parts + decoded).filter { $0.utf8.count >= 8 }
  }

  private func send(_ message: SocketMessage?, on attempt: AttemptID) async {
    guard let message else { return }
    await sockets.send(message, on: attempt) { [sink] in
      await sink.post([.socket(attempt, .unsent)])
    }
  }

  /// Makes one change to the stored outbox after the earlier changes are complete.
  ///
  /// If a message cannot be removed, the next run sends it again.
  private func keep(_ effect: SocketModel.Effect) {
    guard case .durable(let store) = options.outbox else { return }
    keeping = Task { [sink, keeping] in
      await keeping?.value
      if case .remove(let ids) = effect { try? await store.remove(ids) }
      guard case .store(let entry) = effect else { return }
      do throws(StoreFailure) {
        try await store.add(entry)
        await sink.post([.stored(entry.id)])
      } catch {
        await sink.post([.storeFailed(entry.id, detail: error.description)])
      }
    }
  }
}

extension SocketModel.Input {
  fileprivate init(_ event: SocketEvent, _ attempt: AttemptID, _ language: SocketProtocol) {
    self = event.input(of: attempt) { headers in
      .socket(attempt, .opened(subprotocol: headers["sec-websocket-protocol"]))
    } message: {
      .socket(attempt, .message($0, language.marks(of: $0)))
    } link: {
      .link($0)
    }
  }
}

extension HeldSocket.Event {
  /// Creates an event. Returns `nil` for a message whose content is unavailable.
  fileprivate init?(_ update: SocketModel.Update) {
    switch update {
    case .status(let status): self = .status(status)
    case .quality(let quality): self = .quality(quality)
    case .sent(let count): self = .sent(count)
    case .notice(let notice): self = .notice(notice)
    case .message(let message):
      guard let bytes = message.bytes else { return nil }
      self = message.text.map { .text($0) } ?? .binary(bytes)
    }
  }

  fileprivate var bytes: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    case .status, .quality, .sent, .notice: 0
    }
  }
}
