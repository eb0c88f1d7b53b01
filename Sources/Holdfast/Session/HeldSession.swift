public import HoldfastSocket
public import LinkCore
public import LinkDriver
public import Session

/// A two-way session with a server: iterate it for what happens.
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
/// Prompts survive the process and are answered exactly once; messages are stored before they are
/// shown, and shown by the next run unless they were confirmed. One loop reads it. While the loop
/// does not, up to 1,024 events or 16 MiB wait; then the socket is not read either. End it with
/// `close()`; dropping it closes the socket too.
public final class HeldSession: Sendable, AsyncSequence {
  /// What the sequence consists of.
  public typealias Element = SessionUpdate
  /// The iterator of a session's events.
  public typealias Iterator = UpdateIterator<SessionUpdate>

  private let running: Running<SessionShell>
  private let clock: any LinkClock

  /// Begins to connect.
  ///
  /// - Parameter notice: called once if journaling is turned off later, with the reason.
  /// - Throws: `.local` if the URL is none of a WebSocket, the journal cannot be made, the store
  ///   cannot be read, or the device has no descriptors or threads left.
  public init(
    _ configuration: SessionConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let host = try ServerURL.webSocketHost(configuration.url)
    guard configuration.answerTimeout >= SessionSettings.leastAnswerTimeout else {
      throw .local(detail: "answerTimeout is at least 1 s")
    }
    let network =
      if let own = configuration.network { own } else { try Platform.ownNetwork() }
    clock = configuration.clock
    let wall = clock.wall
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<SessionModel>(
        SessionSettings(
          policy: configuration.policy, answerTimeout: configuration.answerTimeout),
        journal: configuration.journal, at: wall, notice: notice)
    }
    let kept = try await LinkFailure.local { () throws(StoreFailure) in
      var generator = SystemRandomNumberGenerator()
      return try await configuration.store.open(as: .random(using: &generator))
    }
    let follow =
      configuration.conversation.map { [SessionModel.Input.follow(conversation: $0)] }
      ?? []
    running = Running(
      start, SessionShell(configuration, network), clock: clock,
      device: Device(
        reachability: configuration.reachability ?? Platform.reachability(of: host),
        lifecycle: configuration.lifecycle, network: network, clock: clock),
      first: [.restored(kept, conversation: configuration.conversation, at: wall)] + follow
        + [.start])
  }

  /// Returns the one iterator that a session serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: running.shell.updates) }

  /// Sends a prompt; never waits. What becomes of it comes as events.
  public func prompt(_ text: String, in conversation: String? = nil) {
    running.command(.prompt(text, conversation: conversation, at: clock.wall))
  }

  /// Sends a failed prompt again.
  public func retry(_ key: UUID128) { running.command(.retry(key)) }

  /// Forgets a failed prompt.
  public func discard(_ key: UUID128) { running.command(.discard(key)) }

  /// Cancels what runs in a conversation.
  public func cancel(conversation: String) {
    running.command(.cancel(conversation: conversation))
  }

  /// Follows another conversation; prompts that name none belong to it from now on.
  public func follow(conversation: String) {
    running.command(.follow(conversation: conversation))
  }

  /// Notes that everything up to this number of news was shown: no later run shows it again.
  public func confirm(_ news: UInt64) { running.command(.shown(through: news)) }

  /// Connects again after a failure, and does not wait for the next try.
  public func start() { running.command(.start) }

  /// Reports whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    running.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// The conversation of prompts that name none, a lower-case UUID; empty until the store is read.
  public var conversation: String {
    get async { await running.snapshot.conversation }
  }

  /// The model between two steps.
  package var snapshot: SessionModel {
    get async { await running.snapshot }
  }

  /// Returns when all commands given before were taken and `isSettled` holds, or the session is
  /// closed, or the task is cancelled.
  package func settled(_ isSettled: @escaping @Sendable (SessionModel) -> Bool) async {
    await running.settled(isSettled)
  }

  /// Waits until what is under way is stored and acknowledged, and what the sequence brought is
  /// confirmed and that is stored, 2 s at most; closes with 1000, and ends the sequence. Go on to
  /// read and to confirm meanwhile. Prompts without an answer wait for the next run. Runs to
  /// completion even if the calling task is cancelled.
  public func close() async { await running.close(.stop) { $0.isStopped } }
}
