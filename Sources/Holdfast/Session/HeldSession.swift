public import HoldfastSocket
public import HoldfastCore
import HoldfastPorts
public import HoldfastSession

/// A two-way session with a server.
///
/// Iterate over the session to receive its events:
///
///     let session = try await HeldSession(
///       SessionConfiguration("wss://example.com/session", store: store) { key })
///     session.prompt("hello")
///     for await event in session {
///       if case .message(let entry, _, let news) = event {
///         show(entry.text)
///         session.confirm(news)
///       }
///     }
///
/// Prompts survive the end of the process and are answered exactly once. Messages are stored before
/// they are shown, and the next run shows them again unless they were confirmed. Only one loop may
/// read the events. While the loop does not read, up to 1,024 events or 16 MiB are buffered. Beyond
/// that limit, the socket is not read. End the session with `close()`. Releasing the last reference
/// also closes the socket.
public final class HeldSession: Sendable, AsyncSequence {
  /// An element of the sequence.
  public typealias Element = SessionUpdate
  /// The iterator of a session's events.
  public typealias Iterator = UpdateIterator<SessionUpdate>

  private let runtime: MachineRuntime<SessionEffectHandler>
  private let clock: any LinkClock

  /// Creates a session and starts connecting.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.local` if the URL is not a WebSocket URL, `answerTimeout` is too short, the
  ///   journal cannot be created, the store cannot be read, or the device has run out of
  ///   descriptors or threads.
  public init(
    _ configuration: SessionConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let host = try ServerURL.webSocketHost(configuration.url)
    guard configuration.answerTimeout >= SessionSettings.leastAnswerTimeout else {
      throw .local(detail: "answerTimeout is at least 1 s")
    }
    let network =
      if let own = configuration.network { own } else { try HoldfastPlatform.ownNetwork() }
    clock = configuration.clock
    let wall = clock.wall
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<SessionModel>(
        SessionSettings(
          policy: configuration.policy, answerTimeout: configuration.answerTimeout),
        journal: configuration.journal, at: wall, notice: notice)
    }
    let stored = try await LinkFailure.local { () throws(StoreFailure) in
      var generator = SystemRandomNumberGenerator()
      return try await configuration.store.open(as: .random(using: &generator))
    }
    let follow =
      configuration.conversation.map { [SessionModel.Input.follow(conversation: $0)] }
      ?? []
    runtime = MachineRuntime(
      start, SessionEffectHandler(configuration, network), clock: clock,
      device: Device(
        reachability: configuration.reachability ?? HoldfastPlatform.reachability(of: host),
        lifecycle: configuration.lifecycle, network: network, clock: clock),
      first: [.restored(stored, conversation: configuration.conversation, at: wall)] + follow
        + [.start])
  }

  /// Returns the iterator of the events. A session has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Sends a prompt without waiting. Its outcome is reported as events.
  public func prompt(_ text: String, in conversation: String? = nil) {
    runtime.command(.prompt(text, conversation: conversation, at: clock.wall))
  }

  /// Sends a failed prompt again.
  public func retry(_ key: UUID128) { runtime.command(.retry(key)) }

  /// Discards a failed prompt.
  public func discard(_ key: UUID128) { runtime.command(.discard(key)) }

  /// Cancels the work in progress in a conversation.
  public func cancel(conversation: String) {
    runtime.command(.cancel(conversation: conversation))
  }

  /// Follows another conversation. It becomes the default for later prompts.
  public func follow(conversation: String) {
    runtime.command(.follow(conversation: conversation))
  }

  /// Confirms that all messages up to this number were shown, so that no later run shows them
  /// again.
  public func confirm(_ news: UInt64) { runtime.command(.shown(through: news)) }

  /// Connects again after a failure, without waiting for the next retry.
  public func start() { runtime.command(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// The default conversation of prompts, a lower-case UUID. It is empty until the store has been
  /// read.
  public var conversation: String {
    get async { await runtime.snapshot.conversation }
  }

  /// A snapshot of the model between two steps.
  package var snapshot: SessionModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the session is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (SessionModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Waits for pending work, closes with 1000, and ends the sequence.
  ///
  /// The method waits at most 2 s for work in progress to be stored and acknowledged, for the
  /// delivered messages to be confirmed, and for the confirmations to be stored. Continue to read
  /// and confirm messages in the meantime. Prompts without an answer wait for the next run. The
  /// call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }
}
