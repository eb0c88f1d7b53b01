import Foundation
import HoldfastCore
import HoldfastHeldSocket
import HoldfastPorts
import Synchronization

/// The effect handler of a held socket, which manages its connections, outbox store and events.
actor HeldSocketEffectHandler: EffectHandler {
  let thread: EventThread
  let sink: InputSink<SocketModel>
  let updates: UpdateChannel<HeldSocket.Event>
  private let configuration: SocketConfiguration
  private let openTimeout: Duration
  private let vault: TokenVault?
  private let sockets: SocketPool
  private let tasks: EffectTasks<SocketModel, Never>
  /// The latest change to the stored outbox; the next change waits for it.
  private var keeping: Task<Void, Never>?
  /// The callers of `send` that wait until their messages are accepted.
  nonisolated let outcomes = OutcomeWaiters<UInt64, Result<Void, HeldSocket.SendError.Reason>>()
  /// The functions that make standing messages.
  nonisolated let makers = StandingMakers()
  /// The messages of the present connection that the server has not acknowledged.
  private let unacknowledged = Unacknowledged()
  /// The latest attempt, and the token that its request and its greeting contain.
  private var used: (attempt: AttemptID, token: String?)?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(
    _ configuration: SocketConfiguration, _ settings: SocketSettings,
    _ network: any SocketDialer & HTTPClient
  ) {
    let sink = InputSink<SocketModel>()
    thread = network.eventThread(or: "holdfast.socket")
    let policy = settings.policy
    let clock = configuration.ports.clock
    let vault = configuration.tokens.map { tokens in
      TokenVault(tokens, limit: policy.gate.refreshTimeout, clock: clock) { event, _ in
        await sink.post([.credentials(event)])
      }
    }
    sockets = SocketPool(
      network, policy: policy,
      credentials: vault.map { .vault($0, configuration.placement) } ?? .none)
    tasks = EffectTasks(sink)
    updates = UpdateChannel(overflow: Self.overflow, bytes: \.bytes)
    (self.configuration, self.sink, self.vault) = (configuration, sink, vault)
    openTimeout = policy.establish.openTimeout
  }

  /// Adds an event to a full queue.
  ///
  /// Messages are always kept. Only a few more can arrive, because the socket is no longer read.
  /// Other events do not stop the reading. When too many of them wait, only the newest status,
  /// quality, count and proof remain, and notices beyond half of the limit are dropped.
  @Sendable private static func overflow(
    _ waiting: inout [HeldSocket.Event], _ next: HeldSocket.Event
  ) {
    switch next.kind {
    case .message: break
    case .notice:
      let notices = waiting.count { $0.kind == .notice }
      guard notices < UpdateChannel<HeldSocket.Event>.limit / 2 else { return }
      waiting = newest(waiting, before: next)
    case .status, .quality, .sent, .stored, .proven: waiting = newest(waiting, before: next)
    }
    waiting.append(next)
  }

  /// Returns the messages and notices, and the newest of each other kind of event that `next` does
  /// not replace.
  private static func newest(
    _ waiting: [HeldSocket.Event], before next: HeldSocket.Event
  ) -> [HeldSocket.Event] {
    var seen: Set = [next.kind]
    let kept = waiting.reversed().filter { event in
      switch event.kind {
      case .message, .notice: true
      case .status, .quality, .sent, .stored, .proven: seen.insert(event.kind).inserted
      }
    }
    return kept.reversed()
  }

  func perform(_ effect: SocketModel.Effect) async {
    let messages = configuration.messages
    switch effect {
    case .open(let attempt): await open(attempt)
    case .close(let attempt, let reason): sockets.close(attempt, code: reason.closeCode)
    case .greet(let attempt, let subprotocol, let position):
      await greet(attempt, subprotocol, position?.text)
    case .resume(let attempt, let position):
      await send(messages.resume?(position?.text), on: attempt)
    case .standing(let attempt, let message): await send(message, on: attempt)
    case .makeStanding(let attempt, let key, let position):
      await send(makers.message(key, after: position?.text), on: attempt)
    case .send(let attempt, let entry): await send(entry, on: attempt)
    case .ping(let attempt, let id): await sockets.ping(attempt, id: id)
    case .ask(let attempt): await send(messages.ping, on: attempt)
    case .refreshCredentials:
      if let vault { tasks.renew(vault) } else { tasks.start { .credentials(.rejected) } }
    case .store, .remove: keep(effect)
    case .update(let update): show(update)
    }
  }

  /// Whether messages are stored before they are accepted.
  nonisolated var isDurable: Bool {
    if case .durable = configuration.outbox { true } else { false }
  }

  private func show(_ update: SocketModel.Update) {
    update.outcome.map { outcomes.resolve($0.id, $0.result) }
    guard let event = HeldSocket.Event(update) else { return }
    guard case .status(let status) = event else { return updates.put(event) }
    updates.put(event, failure: status.isFinal ? status.failure : nil)
  }

  func stop() async {
    tasks.stop()
    await keeping?.value
    await sockets.stop()
    await vault?.end()
    outcomes.endAll(.failure(.closed), isOver: true)
  }

  private func open(_ attempt: AttemptID) async {
    let url = configuration.url
    let headers = configuration.headers()
    var request = SocketRequest(
      url: url, headers: headers, subprotocols: configuration.subprotocols,
      openTimeout: openTimeout, maxMessageBytes: configuration.maxMessageBytes)
    request.allowsCompression = configuration.allowsCompression
    request.note = sink.notes(of: attempt)
    let token = await vault?.token
    used = (attempt, token)
    unacknowledged.removeAll()
    let secrets = Self.secrets(url, headers.map(\.value))
    let (sink, updates, unacknowledged) = (sink, updates, unacknowledged)
    let messages = configuration.messages
    let refused: @Sendable () async -> Void = { [weak self] in
      await self?.tokenRefused(on: attempt)
    }
    await sockets.open(attempt, request, with: token, hiding: secrets) { events, _ in
      await updates.paced(events) { isPaused in
        await sink.post([.socket(attempt, .reading(isPaused: isPaused))])
      } then: { events in
        let inputs = events.flatMap { event in
          let input = SocketModel.Input(event, attempt, messages)
          guard let id = input.acknowledgedID, let number = unacknowledged.remove(id) else {
            return [input]
          }
          return [.socket(attempt, .acknowledged(number)), input]
        }
        // The refusal is recorded before the machine requests another token.
        if inputs.contains(where: \.refusesToken) { await refused() }
        await sink.post(inputs)
      }
    }
  }

  private func greet(
    _ attempt: AttemptID, _ subprotocol: String?, _ position: String?
  ) async {
    guard let hello = configuration.messages.hello, let used, used.attempt == attempt else {
      return
    }
    let greeting = SocketGreeting(token: used.token, position: position, subprotocol: subprotocol)
    await send(hello(greeting), on: attempt)
  }

  /// Records that the server refused the token of an attempt in a message.
  private func tokenRefused(on attempt: AttemptID) async {
    guard let used, used.attempt == attempt else { return }
    await vault?.refused(used.token)
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

  private func send(_ entry: OutboxMessage, on attempt: AttemptID) async {
    if let messageID = configuration.messages.messageID {
      if let id = messageID(entry.message) {
        unacknowledged.add(id, entry.id)
      } else {
        tasks.start { .socket(attempt, .acknowledged(entry.id)) }
      }
    }
    await send(entry.message, on: attempt)
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
    guard case .durable(let store) = configuration.outbox else { return }
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

/// The functions that make standing messages, by key.
final class StandingMakers: Sendable {
  typealias Maker = @Sendable (_ position: String?) -> SocketMessage?

  private let makers = Mutex<[String: Maker]>([:])

  /// Sets the function of a key, or removes it.
  func set(_ key: String, _ make: Maker?) { makers.withLock { $0[key] = make } }

  /// Returns the message that the function of a key makes; `nil` if it makes none or was removed.
  func message(_ key: String, after position: String?) -> SocketMessage? {
    makers.withLock { $0[key] }?(position)
  }
}

/// The numbers of the messages that a server has not acknowledged on the present connection.
private final class Unacknowledged: Sendable {
  private let numbers = Mutex<[String: UInt64]>([:])

  func add(_ id: String, _ number: UInt64) { numbers.withLock { $0[id] = number } }

  func remove(_ id: String) -> UInt64? { numbers.withLock { $0.removeValue(forKey: id) } }

  func removeAll() { numbers.withLock { $0 = [:] } }
}

extension SocketModel.Update {
  /// The outcome of a message that is or is not accepted; `nil` for other updates.
  fileprivate var outcome: (id: UInt64, result: Result<Void, HeldSocket.SendError.Reason>)? {
    switch self {
    case .stored(let id): (id, .success(()))
    case .notice(.notConnected(let id)): (id, .failure(.notConnected))
    case .notice(.refused(let id, let refusal)): (id, .failure(.refused(refusal)))
    case .notice(.notStored(let id, let detail)): (id, .failure(.notStored(detail: detail)))
    case .status, .quality, .message, .sent, .proven, .notice: nil
    }
  }
}

extension SocketModel.Input {
  /// The ID of the sent message that the server acknowledges; `nil` if there is none.
  fileprivate var acknowledgedID: String? {
    guard case .socket(_, .message(_, let reading)) = self else { return nil }
    return reading.acknowledgedID
  }

  /// Whether the input is a message in which the server refuses the token.
  fileprivate var refusesToken: Bool {
    guard case .socket(_, .message(_, let reading)) = self else { return false }
    return reading.refusal == .token
  }

  fileprivate init(_ event: SocketEvent, _ attempt: AttemptID, _ messages: SocketProtocol) {
    self = event.input(of: attempt) { headers in
      .socket(attempt, .opened(subprotocol: headers["sec-websocket-protocol"]))
    } message: {
      .socket(attempt, .message($0, messages.reading(of: $0)))
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
    case .sent(let count): self = .sent(count: count)
    case .stored(let id): self = .stored(through: id)
    case .proven(let id): self = .proven(through: id)
    case .notice(let notice): self = .notice(notice)
    case .message(let message):
      guard let bytes = message.bytes else { return nil }
      self = message.text.map { .text($0) } ?? .binary(Data(bytes))
    }
  }

  /// The size of a message; `nil` for other events, which may be replaced or dropped.
  fileprivate var bytes: Int? {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    case .status, .quality, .sent, .stored, .proven, .notice: nil
    }
  }

  fileprivate enum Kind: Hashable { case message, notice, status, quality, sent, stored, proven }

  fileprivate var kind: Kind {
    switch self {
    case .text, .binary: .message
    case .notice: .notice
    case .status: .status
    case .quality: .quality
    case .sent: .sent
    case .stored: .stored
    case .proven: .proven
    }
  }
}
