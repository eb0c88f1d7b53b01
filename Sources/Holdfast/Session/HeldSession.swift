public import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
public import HoldfastSession
import HoldfastSessionData
public import HoldfastSocket

/// A two-way session with a server, which answers prompts.
///
///     let session = try await HeldSession(
///       SessionConfiguration("wss://example.com/session", storage: .directory(directory)) { key })
///     let answer = try await session.answer(to: "hello")
///     print(answer.text)
///
/// Iterate over the session to receive all its events:
///
///     session.prompt("hello")
///     for await event in session {
///       if case .message(let entry, _, let news) = event {
///         show(entry.text)
///         session.markShown(through: news)
///       }
///     }
///     if let failure = session.failure { print("The session has ended: \(failure)") }
///
/// Prompts survive the end of the process and are answered exactly once. Messages are stored before
/// they are shown, and the next run shows them again unless they were marked as shown. The loop
/// ends when the session is closed, or when it has failed: no retry can help, or 20 attempts in a
/// row failed. After `reconnect()`, a new loop continues. End the session with `close()`. Releasing
/// the last reference also closes the socket.
///
/// Only one loop may read the events. It also receives the answers that `answer(to:)` returns.
/// While the loop does not read, up to 1,024 events or 16 MiB are queued. Beyond that limit, the
/// socket is not read. An app that calls `answer(to:)` needs no loop: while there is none, the
/// socket is read, and further events are left out. Messages that are left out remain in the
/// history, and the next run reports them.
public final class HeldSession: Sendable, AsyncSequence {
  /// An element of the sequence.
  public typealias Element = SessionUpdate
  /// The iterator of a session's events.
  public typealias Iterator = UpdateIterator<SessionUpdate>

  private let runtime: MachineRuntime<SessionEffectHandler>
  private let store: any ClientSessionStore
  private let clock: any LinkClock

  /// Creates a session and starts connecting.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.configuration` if the URL is not valid or needs `allowsPlaintext`, or if
  ///   `answerTimeout` is too short; `.store` if the store cannot be opened or read; `.journal` if
  ///   the journal cannot be created; `.network` if the device has run out of descriptors or threads.
  public init(
    _ configuration: SessionConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) {
    let (ports, storage) = (configuration.ports, configuration.storage)
    let host = try configuration.checkedHost()
    let network = try ports.openNetwork(allowsPlaintext: configuration.allowsPlaintext)
    let store = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      try await storage.open()
    }
    let wall = ports.clock.wall
    let (stored, start) = try await storage.starting(with: store) { () throws(OpenError) in
      let stored = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
        try await store.open(as: UUID128.random())
      }
      let start = try await MachineStart<SessionModel>(
        SessionSettings(policy: configuration.policy, answerTimeout: configuration.answerTimeout),
        journal: configuration.journal, at: wall, notice: notice)
      return (stored, start)
    }
    (self.store, clock) = (store, ports.clock)
    let conversation = configuration.conversation
    runtime = MachineRuntime(
      start, SessionEffectHandler(configuration, network, store), clock: ports.clock,
      device: Device(
        reachability: ports.reachability(of: host), lifecycle: ports.lifecycle, network: network,
        clock: ports.clock),
      first: [.restored(stored, conversation: conversation, at: wall)]
        + (conversation.map { [.follow(conversation: $0)] } ?? []) + [.start],
      onEnd: storage.closing(store))
  }

  /// Returns the iterator of the events. A session has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// The events, which do not end when the session has failed.
  package var lastingUpdates: LastingUpdates<SessionUpdate> {
    LastingUpdates(runtime.effectHandler.updates)
  }

  /// The failure that ended the events; `nil` if there is none. No retry can cure it.
  public var failure: LinkFailure? { runtime.effectHandler.updates.failure }

  /// Sends a prompt without waiting. Its outcome is reported as events.
  ///
  /// - Returns: The key of the prompt, by which its events can be matched.
  @discardableResult
  public func prompt(_ text: String, in conversation: String? = nil) -> UUID128 {
    let key = UUID128.random()
    prompt(text, in: conversation, key)
    return key
  }

  /// Sends a prompt, and waits for its answer. Losses of the connection only prolong the wait.
  ///
  /// The call needs no loop over the events, but a loop may run at the same time and also receives
  /// the answer. Only the answer is marked as shown: the next run reports the other messages and
  /// outcomes that no loop has marked. If the task is cancelled or `limit` passes, only the wait
  /// ends: the prompt stays in the outbox, and its answer is reported as an event.
  ///
  /// An app that shows the events of the prompt before the answer chooses the key:
  ///
  ///     let key = UUID128(UUID())
  ///     let answer = try await session.answer(to: "hello", key: key)
  ///
  /// - Parameters:
  ///   - conversation: The conversation, a lower-case UUID; `nil` for the default one.
  ///   - key: A key that no other prompt has; `nil` for a random one. If another call waits for the
  ///     key, the method throws at once.
  ///   - limit: The time limit; `nil` to wait until the session ends.
  public func answer(
    to text: String, in conversation: String? = nil, key: UUID128? = nil,
    within limit: Duration? = nil
  ) async throws(AnswerError) -> SessionEntry {
    let key = key ?? UUID128.random()
    let (answers, updates) = (runtime.effectHandler.answers, runtime.effectHandler.updates)
    guard answers.register(key) else {
      throw AnswerError(key: key, .failed("another call waits for its answer"))
    }
    updates.makeOptional()
    prompt(text, in: conversation, key)
    let outcome = await answers.outcome(of: key, within: limit, on: clock)
    if !outcome.news.isEmpty { runtime.command(.answersShown(outcome.news)) }
    return try outcome.result(of: key)
  }

  /// Sends a prompt without waiting, with a key that no other prompt has.
  package func prompt(_ text: String, in conversation: String?, _ key: UUID128) {
    runtime.command(.prompt(text, conversation: conversation, key: key, at: clock.wall))
  }

  /// Sends a failed prompt again, under a new key.
  ///
  /// An event `.prompt` with the new key follows once the prompt is stored, or if it is refused. If
  /// no failed prompt has the old key, nothing happens and no event follows.
  ///
  /// - Returns: The key of the new prompt.
  @discardableResult
  public func retry(_ key: UUID128) -> UUID128 {
    let new = UUID128.random()
    runtime.command(.retry(key, as: new))
    return new
  }

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

  /// Marks all events up to this number as shown, so that no later run shows them again.
  ///
  /// `.max` marks all that the session has reported, also those that an app without a loop has left
  /// out. After `close()` has begun, a call may have no effect.
  public func markShown(through news: UInt64) { runtime.command(.shown(through: news)) }

  /// Connects again after a failure, without waiting for the next retry.
  ///
  /// A session that has failed connects again only after this call. An app that lets its session
  /// go on without its user calls the method, and begins a new loop, when it returns to the
  /// foreground.
  public func reconnect() {
    // A caller that begins now must not end with the earlier failure.
    let answers = runtime.effectHandler.answers
    answers.beginRestart()
    runtime.restart(.start) { answers.endRestart() }
  }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// The default conversation of prompts, a lower-case UUID.
  ///
  /// It is empty only if the session was closed at once or the task was cancelled.
  public var conversation: String {
    get async {
      await runtime.waitUntil { !$0.conversation.isEmpty }
      return await runtime.snapshot.conversation
    }
  }

  /// Returns the newest stored messages of a conversation, oldest first. They include the user's
  /// own prompts.
  ///
  /// - Parameters:
  ///   - conversation: The conversation; `nil` for the default one.
  ///   - limit: The maximum number of messages.
  public func history(
    of conversation: String? = nil, limit: Int = 100
  ) async throws(StoreFailure) -> [SessionEntry] {
    let wanted: String
    if let conversation { wanted = conversation } else { wanted = await self.conversation }
    let stored = try await store.history(of: wanted, before: nil, limit: limit)
    return stored.compactMap { if case .message(let entry, _) = $0.news { entry } else { nil } }
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
  /// delivered messages to be marked as shown, and for these marks to be stored. Continue to read
  /// and mark messages in the meantime. If the app uses `answer(to:)` and runs no loop, the method
  /// does not wait for marks. Prompts without an answer wait for the next run. The call runs to
  /// completion even if the calling task is cancelled.
  public func close() async {
    let isUnread = runtime.effectHandler.updates.isUnread
    await runtime.close(isUnread ? .stopUnread : .stop) { $0.isStopped }
  }
}
