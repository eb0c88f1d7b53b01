public import HoldfastCore
public import HoldfastMessageData
public import HoldfastMessageStream
import HoldfastPorts
public import HoldfastSocket

/// The stream of a shop's messages. It is an asynchronous sequence of updates and accepts the
/// user's commands.
///
///     let streams = try await ShopStreams(storage: .directory(directory), tokens: tokens)
///     let stream = try await streams.open(StreamConfiguration(server: server, shop: shop))
///     stream.enqueue("Two rye loaves, please")
///     for await case .messages(let messages, let via) in stream {
///       guard await show(messages, via) else { break }
///     }
///     if let failure = stream.failure { print("The stream has ended: \(failure)") }
///     await streams.close()
///
/// Commands never wait and never fail, except `send`. Their results are updates. The loop ends when
/// the stream is closed, or when it has failed and no retry can help, for example because the user
/// must sign in. After `reconnect()`, a new loop continues. One loop reads a stream at a time: a new
/// one ends the older one. End the stream with `close()`. Deinitialization also closes the socket.
public final class ShopStream: Sendable, AsyncSequence {
  /// An update of the stream.
  public typealias Element = StreamUpdate

  /// The configuration that the stream was opened with.
  public let configuration: StreamConfiguration
  let runtime: MachineRuntime<StreamEffectHandler>
  let clock: any LinkClock

  init(
    _ configuration: StreamConfiguration, _ parts: StreamParts, host: String,
    start: MachineStart<StreamModel>, onEnd: @escaping @Sendable () async -> Void
  ) {
    let ports = parts.ports
    self.configuration = configuration
    clock = ports.clock
    runtime = MachineRuntime(
      start, StreamEffectHandler(configuration, parts), clock: ports.clock,
      device: Device(
        reachability: ports.reachability(of: host), lifecycle: ports.lifecycle,
        network: parts.network, clock: ports.clock),
      first: [.realtime(configuration.realtime), .open(at: ports.clock.wall)], onEnd: onEnd)
  }

  /// The iterator of a stream's updates.
  public typealias Iterator = UpdateIterator<StreamUpdate>

  /// Returns the iterator of the updates. Once it is used, older iterators end.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// The updates, which do not end when the stream has failed.
  package var lastingUpdates: LastingUpdates<StreamUpdate> {
    LastingUpdates(runtime.effectHandler.updates)
  }

  /// The failure that ended the updates; `nil` if there is none. No retry can cure it.
  public var failure: LinkFailure? { runtime.effectHandler.updates.failure }

  /// Sends a message later. The message is kept until the server has stored it.
  ///
  /// An outbox update reports the message once it is stored on this device. A message that is empty
  /// or too long, or that has no room in the outbox, is reported as failed at once and not stored;
  /// `retry` and `discard` work for it too, but only the newest 20 are kept for a retry.
  ///
  /// - Returns: The id of the message's entry in the outbox, which is also its idempotency key.
  @discardableResult
  public func enqueue(_ content: MessageContent) -> UUID128 {
    let id = UUID128.random()
    enqueue(content, id: id)
    return id
  }

  /// Sends a text later, as a reply if it has a parent. The message is kept until the server has
  /// stored it.
  @discardableResult
  public func enqueue(_ text: String, parent: MessageID? = nil) -> UUID128 {
    enqueue(MessageContent(text, parent: parent))
  }

  /// Sends a message, and waits until the server has stored it. Losses of the connection only
  /// prolong the wait.
  ///
  /// The call needs no loop over the updates. From the first call on, while there is no loop, only
  /// the first 1,024 updates and the newest status are kept for a later loop. If the task is
  /// cancelled or `limit` passes, only the wait ends: the message stays in the outbox and is sent.
  ///
  /// - Parameter limit: The maximum duration of the wait; `nil` for no limit.
  /// - Returns: The id of the message on the server.
  @discardableResult
  public func send(
    _ content: MessageContent, within limit: Duration? = nil
  ) async throws(SendError) -> MessageID {
    try await outcome(of: content.text, within: limit) { enqueue(content, id: $0) }
  }

  /// Sends a text, as a reply if it has a parent, and waits until the server has stored it.
  @discardableResult
  public func send(
    _ text: String, parent: MessageID? = nil, within limit: Duration? = nil
  ) async throws(SendError) -> MessageID {
    try await send(MessageContent(text, parent: parent), within: limit)
  }

  /// Replaces the text of a message of the user later. The edit is kept until the server has
  /// stored it.
  ///
  /// An outbox update reports the edit once it is stored on this device, and another one that it
  /// failed; `PendingChanges` shows messages accordingly. A later edit replaces one that waits.
  ///
  /// - Parameter images: Whether the message keeps its images. The images of a message that the
  ///   stream does not have in memory are kept only by `edit`.
  /// - Returns: The id of the edit's entry in the outbox, which is also its idempotency key.
  @discardableResult
  public func enqueueEdit(
    _ message: MessageID, _ text: String, images: EditedImages = .keep
  ) -> UUID128 {
    let id = UUID128.random()
    enqueueEdit(message, text, images: images, id: id)
    return id
  }

  /// Deletes a message later, for the author and for admins of the shop. The deletion is kept until
  /// the server has stored it.
  ///
  /// - Returns: The id of the deletion's entry in the outbox.
  @discardableResult
  public func enqueueDeletion(_ message: MessageID) -> UUID128 {
    let id = UUID128.random()
    enqueueDeletion(message, id: id)
    return id
  }

  /// Replaces the text of a message of the user, and waits until the server and this device have
  /// stored it. The wait is that of `send`.
  ///
  /// - Parameter images: What becomes of the images of the message. To keep those of a message that
  ///   the stream does not have in memory, the message is fetched first.
  /// - Throws: `SendError`, for example with `.refused` and the server's reason if the user is not
  ///   the author, or with `.deleted`. If the message could not be fetched, the reason is `.refused`
  ///   with that failure, and the edit is not kept.
  public func edit(
    _ message: MessageID, text: String, images: EditedImages = .keep, within limit: Duration? = nil
  ) async throws(SendError) {
    let id = UUID128.random()
    guard await !runtime.snapshot.isDeleted(message) else { throw SendError(id: id, .deleted) }
    let new: String
    do throws(LinkFailure) {
      new = images == .keep ? try await self.text(text, keepingImagesOf: message) : text
    } catch {
      throw SendError(id: id, .refused(error))
    }
    do {
      _ = try await outcome(of: new, id: id, within: limit) {
        enqueueEdit(message, new, images: .remove, id: $0)
      }
    } catch {
      // A waiting edit ends when somebody else deletes the message.
      guard error.reason == .discarded, await runtime.snapshot.isDeleted(message) else {
        throw error
      }
      throw SendError(id: id, .deleted)
    }
  }

  /// Deletes a message, and waits until the server and this device have done so. The wait is that
  /// of `send`.
  ///
  /// A message that the server does not have any more counts as deleted.
  ///
  /// - Throws: `SendError`, for example with `.refused` and the server's reason if the user is
  ///   neither the author nor an admin.
  public func delete(
    _ message: MessageID, within limit: Duration? = nil
  ) async throws(SendError) {
    _ = try await outcome(of: nil, within: limit) { enqueueDeletion(message, id: $0) }
  }

  /// Passes an entry to the stream and waits for its outcome.
  ///
  /// - Parameter text: The text that the stream may refuse; `nil` if there is none.
  func outcome(
    of text: String?, id: UUID128 = .random(), within limit: Duration?,
    _ enqueue: (UUID128) -> Void
  ) async throws(SendError) -> MessageID {
    let (outcomes, updates) = (runtime.effectHandler.outcomes, runtime.effectHandler.updates)
    updates.makeOptional()
    outcomes.register(id)
    enqueue(id)
    switch await outcomes.outcome(of: id, within: limit, on: clock) {
    case .success(let message): return message
    case .failure(.ended(let failure, _)):
      throw SendError(id: id, await reason(of: id, text, endedBy: failure))
    case .failure(let reason): throw SendError(id: id, reason)
    }
  }

  /// Returns why a message has no outcome although the stream has ended. The state of its entry
  /// decides whether it is sent later.
  private func reason(
    of id: UUID128, _ text: String?, endedBy failure: LinkFailure?
  ) async -> SendError.Reason {
    await runtime.waitUntil { _ in true }  // the stream then has the entry
    guard !Task.isCancelled else { return .cancelled }
    let outbox = await runtime.snapshot.outbox
    switch outbox.entries.first(where: { $0.id == id })?.state {
    case .failed(let reason)?: return .refused(failure ?? .local(detail: reason))
    case .queued?: return .ended(failure, isQueued: failure != nil || outbox.isStored(id))
    case nil:
      guard let text, let refusal = StreamModel.refusal(of: text, in: configuration.shop)
      else {
        return .ended(failure, isQueued: false)
      }
      return .refused(.local(detail: refusal))
    }
  }

  /// Sends a message later, with an id that no other message has.
  package func enqueue(_ content: MessageContent, id: UUID128, image: OutboxImage? = nil) {
    runtime.command(
      .send(id: id, text: content.text, parent: content.parent, at: clock.wall, image: image))
  }

  /// Edits a message later, with an id that no other entry has.
  package func enqueueEdit(
    _ message: MessageID, _ text: String, images: EditedImages = .keep, id: UUID128
  ) {
    let keepsImages: Bool? = images == .keep ? true : nil
    runtime.command(
      .edit(id: id, message, text: text, at: clock.wall, keepsImages: keepsImages))
  }

  /// Deletes a message later, with an id that no other entry has.
  package func enqueueDeletion(_ message: MessageID, id: UUID128) {
    runtime.command(.delete(id: id, message, at: clock.wall))
  }

  /// Keeps the failures of an entry's attempts from now on, for `lastFailure(of:)`.
  package func keepFailures(of id: UUID128) { runtime.effectHandler.outcomes.register(id) }

  /// Returns the failure of an entry's last attempt, if `keepFailures(of:)` was called before and
  /// there was one.
  package func lastFailure(of id: UUID128) -> LinkFailure? {
    runtime.effectHandler.outcomes.lastFailure(of: id)
  }

  /// Sends a failed message, edit or deletion again.
  public func retry(_ id: UUID128) { runtime.command(.retry(id)) }

  /// Discards an unsent message, edit or deletion. An `outboxDone` update follows, also if the outbox
  /// does not contain it.
  public func discard(_ id: UUID128) { runtime.command(.discard(id)) }

  /// Fetches new messages, for example after a pull-to-refresh gesture.
  public func refresh() { runtime.command(.refresh) }

  /// Connects again after the stream has failed, for example because the user has signed in.
  public func reconnect() {
    // A sender that begins now must not end with the earlier failure.
    let outcomes = runtime.effectHandler.outcomes
    outcomes.beginRestart()
    runtime.restart(.open(at: clock.wall)) { outcomes.endRestart() }
  }

  /// Loads the next page of older messages. A history update follows.
  public func loadOlder() { runtime.command(.loadOlder) }

  /// Turns real-time messaging on or off. While it is off, the stream polls.
  public func setRealtime(_ isOn: Bool) { runtime.command(.realtime(isOn)) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// Signs out. The stream forgets the token and does not connect until `reconnect()` is called.
  public func signOut() async {
    await runtime.effectHandler.forgetToken()
    await runtime.post(.credentials(.cleared))
  }

  /// A snapshot of the model between two steps.
  package var snapshot: StreamModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all messages on the server have been stored and reported.
  ///
  /// Also returns when the stream has ended or the task is cancelled.
  public func whole() async { await waitUntil(\.isWhole) }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the stream has ended or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (StreamModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Returns the durable consumer with a name. It is added to the store if it is missing.
  ///
  /// - Parameter start: The first delivery of a new consumer. An existing consumer continues after
  ///   its last acknowledgement.
  /// - Throws: `.other` if the start is a position in an epoch without stored messages, or the
  ///   failure of the store.
  public func consumer(
    _ name: ConsumerName, from start: ConsumerStart = .usual
  ) async throws(StoreFailure) -> ShopConsumer {
    let effectHandler = runtime.effectHandler
    return try await ShopConsumer(
      name, of: configuration.shop, in: effectHandler.store, from: start,
      signal: effectHandler.signals.add())
  }

  /// Stores all accepted commands, closes the socket with 1000 and ends the sequence.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.close, until: \.isSettled) }
}
