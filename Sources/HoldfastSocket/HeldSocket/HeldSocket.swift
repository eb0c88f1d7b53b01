public import Foundation
public import HoldfastCore
public import HoldfastHeldSocket
import HoldfastPorts
import Synchronization

/// A WebSocket that connects to any server and is kept connected by a policy.
///
/// Iterate the socket to receive its events:
///
///     let socket = try await HeldSocket("wss://example.com/feed")
///     for await event in socket {
///       if case .text(let text) = event { show(text) }
///     }
///     if let failure = socket.failure { show("\(failure)") }
///
/// The socket connects at once and reconnects after every loss. The loop ends when the socket is
/// closed, or when a retry cannot help, which `failure` explains. After `reconnect()`, a new loop
/// continues.
///
/// Only one loop can read the events at a time. Until the loop reads them, up to 1,024 messages or
/// 16 MiB are queued. Beyond this limit, the socket is not read, so the server has to slow down and
/// no message is lost. If more than 1,024 other events wait, only the newest status, quality, count
/// and proof are kept, and notices beyond 512 are dropped. A program that only sends therefore needs
/// no loop.
///
/// Close the socket with `close()`. Releasing the last reference also closes it.
public final class HeldSocket: Sendable, AsyncSequence {
  /// An event of the socket.
  public enum Event: Sendable, Hashable {
    case status(LinkStatus)
    case text(String)
    case binary(Data)
    /// The quality of the connection, reported when it changes. It is initially good.
    case quality(LinkQuality)
    /// The number of messages passed to a socket since the start. A resent message is counted
    /// again.
    case sent(count: UInt64)
    /// A durable outbox has stored all messages up to this number, except for those that notices
    /// report as refused or not stored.
    case stored(through: UInt64)
    /// All accepted messages up to this number have arrived.
    ///
    /// It is the number that `send` returned. Only the outboxes `memory` and `durable` report it.
    case proven(through: UInt64)
    case notice(SocketNotice)
  }

  /// An element of the sequence.
  public typealias Element = Event
  /// The iterator of a socket's events.
  public typealias Iterator = UpdateIterator<Event>

  /// The messages of earlier runs that a durable outbox contained when the socket was opened, oldest
  /// first. They are sent before all others, and keep their numbers.
  public let restored: [OutboxMessage]
  private let runtime: MachineRuntime<HeldSocketEffectHandler>
  private let given: Mutex<Given>

  /// The messages that the app has given to the socket.
  private struct Given {
    /// The number of the last message.
    var lastID: UInt64
    var standing = StandingMessages()

    mutating func nextID() -> UInt64 {
      lastID &+= 1
      return lastID
    }
  }

  /// Creates a socket that starts to connect at once.
  ///
  /// - Parameter notice: A function that is called once, with the reason, if journaling stops after
  ///   an error.
  /// - Throws: `.configuration` if the URL is not a WebSocket URL or needs `allowsPlaintext`, if
  ///   functions of `messages` do not fit together, or if an open socket uses the outbox; `.journal` if the journal cannot be created;
  ///   `.store` if the stored outbox cannot be read; `.network` if the device has no descriptors or
  ///   threads left.
  public init(
    _ configuration: SocketConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) {
    let host = try configuration.host()
    let ports = configuration.ports
    let network = try ports.openNetwork(allowsPlaintext: configuration.allowsPlaintext)
    let claim = try OutboxClaim(configuration.outbox)
    let stored = try await configuration.storedMessages()
    let start = try await MachineStart<SocketModel>(
      configuration.settings, journal: configuration.journal, at: ports.clock.wall, notice: notice)
    restored = stored.messages
    given = Mutex(Given(lastID: Swift.max(stored.lastID, stored.messages.last?.id ?? 0)))
    runtime = MachineRuntime(
      start, HeldSocketEffectHandler(configuration, start.birth, network), clock: ports.clock,
      device: Device(
        reachability: ports.reachability(of: host), lifecycle: ports.lifecycle, network: network,
        clock: ports.clock),
      first: [.restored(stored.messages), .start], onEnd: { claim.end() })
  }

  /// Creates a socket with the default configuration, which starts to connect at once.
  ///
  /// - Parameter url: A URL of the form `wss://host[:port]/path`, or a `ws://` URL of this device.
  /// - Throws: `OpenError`, as for a configuration.
  public convenience init(_ url: String, policy: LinkPolicy = .socket) async throws(OpenError) {
    try await self.init(SocketConfiguration(url, policy: policy))
  }

  /// Creates a socket with the default configuration, which starts to connect at once.
  ///
  /// - Parameter url: A URL of the form `wss://host[:port]/path`, or a `ws://` URL of this device.
  /// - Throws: `OpenError`, as for a configuration.
  public convenience init(_ url: URL, policy: LinkPolicy = .socket) async throws(OpenError) {
    try await self.init(SocketConfiguration(url, policy: policy))
  }

  /// Returns the iterator. A socket supports only one iterator at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// The events past failures, for a program whose user can retry.
  package var lastingUpdates: LastingUpdates<Event> {
    LastingUpdates(runtime.effectHandler.updates)
  }

  /// The failure that ended the events, since no retry can cure it; `nil` if there is none.
  public var failure: LinkFailure? { runtime.effectHandler.updates.failure }

  /// Sets a message that is sent on every connection, such as a subscription.
  ///
  /// It is sent once on each connection, after the confirmation of the greeting and the `resume`
  /// message, and also at once if it changes while there is a connection. Standing messages are sent
  /// in the order in which their keys were first set. At most 64 keys and messages with a total size
  /// of 32 KiB are kept. `SocketNotice.standingRefused` reports a message beyond; the earlier message
  /// of its key, if there is one, then remains in use.
  ///
  /// - Parameters:
  ///   - key: The name under which the message can be replaced or removed. A journal contains it.
  ///   - message: The message; `nil` to remove the present one without telling the server.
  public func setStanding(_ key: String, _ message: SocketMessage?) {
    given.withLock { given in
      let content = message.map(StandingMessages.Content.message)
      guard given.standing[key] != content else { return }
      // The machine repeats this step. It also reports the refusal.
      if given.standing.set(key, content) { runtime.effectHandler.makers.set(key, nil) }
      runtime.command(.standing(key, message))
    }
  }

  /// Sets a message that a function makes on every connection, such as a subscription that begins
  /// after the last position.
  ///
  ///     socket.setStanding("bread") { position in .text("subscribe bread after \(position ?? "0")") }
  ///
  /// The message is sent as that of `setStanding(_:_:)` with a message, and at once if there is a
  /// connection. Of the 32 KiB, only the key counts. `setStanding(key, nil)` removes it.
  ///
  /// - Parameters:
  ///   - key: The name under which the message can be replaced or removed. A journal contains it.
  ///   - make: A function that returns the message for the last recorded position, which is `nil` if
  ///     none has been recorded; `nil` for no message on this connection. It must return quickly.
  public func setStanding(
    _ key: String, _ make: @escaping @Sendable (_ position: String?) -> SocketMessage?
  ) {
    given.withLock { given in
      if given.standing.set(key, .made) { runtime.effectHandler.makers.set(key, make) }
      runtime.command(.makeStanding(key))
    }
  }

  /// Connects again, also after a failure, without waiting for the next retry.
  public func reconnect() { runtime.restart(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// A snapshot of the model, taken between two steps.
  package var snapshot: SocketModel {
    get async { await runtime.snapshot }
  }

  /// Waits until all earlier commands have been processed and `condition` holds.
  ///
  /// The call also returns when the socket is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (SocketModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Waits until accepted messages have arrived, closes the socket with code 1000, and ends the
  /// sequence.
  ///
  /// The wait takes at most 2 s. Without a connection, the call waits only for messages that are
  /// kept in memory. `SocketNotice.unsent` reports the number of messages that were not sent. The
  /// call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }
}

// Sending.
extension HeldSocket {
  /// Sends a message, and returns when the socket has accepted it.
  ///
  /// A message is accepted when the outbox contains it, and with a durable outbox, when it is stored.
  /// Without an outbox, it is accepted if there is a connection. `.proven` reports its arrival.
  ///
  /// - Returns: The number of the message, which occurs in `.stored`, `.proven` and in notices.
  ///   Numbers count up from 1, or from the last number that a durable outbox contained.
  /// - Throws: `SendError`, with the number and the reason why the message was not accepted.
  @discardableResult
  public func send(_ message: SocketMessage) async throws(SendError) -> UInt64 {
    let outcomes = runtime.effectHandler.outcomes
    let id = give(message) { outcomes.register($0) }
    if !runtime.effectHandler.isDurable, await runtime.waitUntil({ _ in true }) {
      outcomes.resolve(id, .success(()))
    }
    let outcome = await outcomes.wait(for: id) ?? .failure(.cancelled)
    if case .failure(let reason) = outcome { throw SendError(id: id, reason) }
    return id
  }

  /// Sends a text, and returns when the socket has accepted it, as for a message.
  @discardableResult
  public func send(_ text: String) async throws(SendError) -> UInt64 {
    try await send(SocketMessage.text(text))
  }

  /// Sends bytes, and returns when the socket has accepted them, as for a message.
  @discardableResult
  public func send(_ bytes: [UInt8]) async throws(SendError) -> UInt64 {
    try await send(SocketMessage(binary: bytes))
  }

  /// Sends bytes, and returns when the socket has accepted them, as for a message.
  @discardableResult
  public func send(_ bytes: Data) async throws(SendError) -> UInt64 {
    try await send(SocketMessage(binary: Array(bytes)))
  }

  /// Sends a message without waiting. Its outcome is reported as an event, which can precede the
  /// return of this method. After `close()`, the message is dropped and no event follows.
  ///
  /// - Returns: The number of the message, as that of `send`.
  @discardableResult
  public func enqueue(_ message: SocketMessage) -> UInt64 { give(message) }

  /// Sends a text without waiting, and returns its number as for a message.
  @discardableResult
  public func enqueue(_ text: String) -> UInt64 { enqueue(SocketMessage.text(text)) }

  /// Sends bytes without waiting, and returns their number as for a message.
  @discardableResult
  public func enqueue(_ bytes: [UInt8]) -> UInt64 { enqueue(SocketMessage(binary: bytes)) }

  /// Sends bytes without waiting, and returns their number as for a message.
  @discardableResult
  public func enqueue(_ bytes: Data) -> UInt64 { enqueue(SocketMessage(binary: Array(bytes))) }

  /// Passes a message with the next number to the machine.
  private func give(_ message: SocketMessage, _ register: (UInt64) -> Void = { _ in }) -> UInt64 {
    // Under the lock, messages reach the machine in the order of their numbers.
    given.withLock { given in
      let id = given.nextID()
      register(id)
      runtime.command(.send(id, message))
      return id
    }
  }
}
