public import HeldSocket
public import LinkCore
public import LinkDriver

/// Any WebSocket server, kept alive by a policy: iterate it for what happens.
///
///     let socket = try await HeldSocket("wss://example.com/feed", policy: .socket)
///     for await event in socket {
///       if case .text(let text) = event { show(text) }
///     }
///
/// It connects at once and comes back after every loss, until it is closed or the server says that
/// no retry helps (`.status` with the phase `.failed`). One loop reads it. While the loop does not,
/// up to 1,024 events or 16 MiB wait; then the socket is not read either, so that the server is
/// slowed down and no message is lost. End it with `close()`; dropping it closes the socket too.
public final class HeldSocket: Sendable, AsyncSequence {
  /// What happens, one thing at a time.
  public enum Event: Sendable, Hashable {
    case status(LinkStatus)
    case text(String)
    case binary([UInt8])
    /// How well the server answers, when that changes; good at first.
    case quality(LinkQuality)
    /// How many messages were handed to a socket since the start.
    case sent(UInt64)
    case notice(SocketNotice)
  }

  /// What the sequence consists of.
  public typealias Element = Event
  /// The iterator of a socket's events.
  public typealias Iterator = UpdateIterator<Event>

  private let running: Running<HeldSocketShell>

  /// Begins to connect.
  ///
  /// - Parameters:
  ///   - url: `wss://host[:port]/path`, or `ws://` to this device.
  ///   - notice: called once if journaling is turned off later, with the reason.
  /// - Throws: `.local` if the URL is none of a WebSocket, the journal cannot be made, the stored
  ///   outbox cannot be read, or the device has no descriptors or threads left.
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
    let kept = try await LinkFailure.local { () throws(StoreFailure) in
      guard case .durable(let store) = options.outbox else { return [ProvenQueue.Entry]() }
      return try await store.load()
    }
    running = Running(
      start, HeldSocketShell(url, start.birth, options, network), clock: options.clock,
      device: Device(
        reachability: options.reachability ?? Platform.reachability(of: host),
        lifecycle: options.lifecycle, network: network, clock: options.clock),
      first: [.restored(kept), .start])
  }

  /// Returns the one iterator that a socket serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: running.shell.updates) }

  /// Sends a text; never waits. What becomes of it comes as an event.
  public func send(_ text: String) { running.command(.send(.text(text))) }

  /// Sends bytes; never waits. What becomes of them comes as an event.
  public func send(_ bytes: [UInt8]) { running.command(.send(SocketMessage(binary: bytes))) }

  /// Connects again after a failure, and does not wait for the next try.
  public func start() { running.command(.start) }

  /// Reports whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    running.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// The model between two steps.
  package var snapshot: SocketModel {
    get async { await running.snapshot }
  }

  /// Returns when all commands given before were taken and `isSettled` holds, or the socket is
  /// closed, or the task is cancelled.
  package func settled(_ isSettled: @escaping @Sendable (SocketModel) -> Bool) async {
    await running.settled(isSettled)
  }

  /// Waits until accepted messages have arrived, 2 s at most (without a connection only for those
  /// in memory; `SocketNotice.unsent` counts what is left), closes with 1000, and ends the
  /// sequence. Runs to completion even if the calling task is cancelled.
  public func close() async { await running.close(.stop) { $0.isStopped } }
}
