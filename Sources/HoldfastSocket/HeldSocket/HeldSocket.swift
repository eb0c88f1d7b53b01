public import HoldfastHeldSocket
public import HoldfastCore
import HoldfastPorts

/// A WebSocket that connects to any server and is kept connected by a policy.
///
/// Iterate the socket to receive its events:
///
///     let socket = try await HeldSocket("wss://example.com/feed", policy: .socket)
///     for await event in socket {
///       if case .text(let text) = event { show(text) }
///     }
///
/// The socket connects at once and reconnects after every loss. It stops when it is closed or when
/// a retry cannot help (`.status` with the phase `.failed`). Only one loop can read the events.
/// Until the loop reads them, up to 1,024 events or 16 MiB are queued. Beyond this limit, the
/// socket is not read, so the server has to slow down and no message is lost. Close the socket with
/// `close()`. Releasing the last reference also closes it.
public final class HeldSocket: Sendable, AsyncSequence {
  /// An event of the socket.
  public enum Event: Sendable, Hashable {
    case status(LinkStatus)
    case text(String)
    case binary([UInt8])
    /// The quality of the connection, reported when it changes. It is initially good.
    case quality(LinkQuality)
    /// The number of messages passed to a socket since the start.
    case sent(UInt64)
    case notice(SocketNotice)
  }

  /// An element of the sequence.
  public typealias Element = Event
  /// The iterator of a socket's events.
  public typealias Iterator = UpdateIterator<Event>

  private let runtime: MachineRuntime<HeldSocketEffectHandler>

  /// Creates a socket that starts to connect at once.
  ///
  /// - Parameters:
  ///   - url: A URL of the form `wss://host[:port]/path`, or a `ws://` URL of this device.
  ///   - notice: A function that is called once, with the reason, if journaling stops after an
  ///     error.
  /// - Throws: `.local` if the URL is not a WebSocket URL, the journal cannot be created, the
  ///   stored outbox cannot be read, or the device has no descriptors or threads left.
  public init(
    _ url: String, policy: LinkPolicy = .socket, options: SocketOptions = SocketOptions(),
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let host = try ServerURL.webSocketHost(url)
    let network = if let own = options.network { own } else { try HoldfastPlatform.ownNetwork() }
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<SocketModel>(
        options.settings(policy), journal: options.journal, at: options.clock.wall, notice: notice)
    }
    let stored = try await LinkFailure.local { () throws(StoreFailure) in
      guard case .durable(let store) = options.outbox else { return [ProvenQueue.Entry]() }
      return try await store.load()
    }
    runtime = MachineRuntime(
      start, HeldSocketEffectHandler(url, start.birth, options, network), clock: options.clock,
      device: Device(
        reachability: options.reachability ?? HoldfastPlatform.reachability(of: host),
        lifecycle: options.lifecycle, network: network, clock: options.clock),
      first: [.restored(stored), .start])
  }

  /// Returns the iterator. A socket supports only one iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Sends a text without waiting. The outcome is reported as an event.
  public func send(_ text: String) { runtime.command(.send(.text(text))) }

  /// Sends bytes without waiting. The outcome is reported as an event.
  public func send(_ bytes: [UInt8]) { runtime.command(.send(SocketMessage(binary: bytes))) }

  /// Connects again after a failure, without waiting for the next retry.
  public func start() { runtime.command(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: AppLifecycle) {
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
