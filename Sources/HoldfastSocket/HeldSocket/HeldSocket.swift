public import HeldSocket
public import LinkCore
public import LinkDriver

/// A WebSocket to any server, kept connected by a policy.
///
/// Iterate the socket to receive its events:
///
///     let socket = try await HeldSocket("wss://example.com/feed", policy: .socket)
///     for await event in socket {
///       if case .text(let text) = event { show(text) }
///     }
///
/// The socket connects at once and reconnects after every loss. It stops when it is closed or when
/// a retry cannot help (`.status` with the phase `.failed`). Only one loop reads the events. While
/// the loop reads nothing, up to 1,024 events or 16 MiB wait. Beyond that the socket is not read,
/// which slows the server down, so no message is lost. End the socket with `close()`; releasing the
/// last reference closes it too.
public final class HeldSocket: Sendable, AsyncSequence {
  /// An event of the socket.
  public enum Event: Sendable, Hashable {
    case status(LinkStatus)
    case text(String)
    case binary([UInt8])
    /// The quality of the connection, reported when it changes; good at first.
    case quality(LinkQuality)
    /// The number of messages handed to a socket since the start.
    case sent(UInt64)
    case notice(SocketNotice)
  }

  /// An element of the sequence.
  public typealias Element = Event
  /// The iterator of a socket's events.
  public typealias Iterator = UpdateIterator<Event>

  private let runtime: MachineRuntime<HeldSocketEffectHandler>

  /// Starts to connect.
  ///
  /// - Parameters:
  ///   - url: `wss://host[:port]/path`, or `ws://` to this device.
  ///   - notice: Called once if journaling is turned off later, with the reason.
  /// - Throws: `.local` if the URL is not a WebSocket URL, the journal cannot be created, the
  ///   stored outbox cannot be read, or the device has no descriptors or threads left.
  public init(
    _ url: String, policy: LinkPolicy = .socket, options: SocketOptions = SocketOptions(),
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let host = try ServerURL.webSocketHost(url)
    let network = if let own = options.network { own } else { try Platform.ownNetwork() }
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
        reachability: options.reachability ?? Platform.reachability(of: host),
        lifecycle: options.lifecycle, network: network, clock: options.clock),
      first: [.restored(stored), .start])
  }

  /// Returns the only iterator; a socket has one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Sends a text without waiting. Its outcome is reported as an event.
  public func send(_ text: String) { runtime.command(.send(.text(text))) }

  /// Sends bytes without waiting. Their outcome is reported as an event.
  public func send(_ bytes: [UInt8]) { runtime.command(.send(SocketMessage(binary: bytes))) }

  /// Connects again after a failure, without waiting for the next retry.
  public func start() { runtime.command(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// A snapshot of the model between two steps.
  package var snapshot: SocketModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all earlier commands were processed and `condition` holds.
  ///
  /// It also returns when the socket is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (SocketModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Waits for accepted messages to arrive, closes with 1000, and ends the sequence.
  ///
  /// The wait takes at most 2 s. Without a connection, it includes only messages in memory.
  /// `SocketNotice.unsent` counts the messages that are left. The call runs to completion even if
  /// the calling task is cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }
}
