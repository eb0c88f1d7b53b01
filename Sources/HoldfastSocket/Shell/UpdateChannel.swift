package import HoldfastCore
import Synchronization

/// A queue of updates for the app that never makes the machine wait for the app.
///
/// When the queue is full, its owner decides what happens to the next update. The owner can also
/// wait for room.
package final class UpdateChannel<Update: Sendable>: Sendable {
  /// The maximum load of the queue. An update counts as 1, plus 1 for each 16 KiB of content.
  package static var limit: Int { 1024 }

  /// A function that adds an update to a full queue. It may replace a queued update or drop the new
  /// one.
  package typealias OverflowPolicy = @Sendable (_ waiting: inout [Update], _ next: Update) -> Void

  fileprivate struct State {
    var waiting: [Update] = []
    var taken = 0
    /// The load of the waiting updates, in the unit of `limit`.
    var load = 0
    var reader: CheckedContinuation<Update?, Never>?
    /// The continuations that are resumed when the app has read enough.
    var observers: [CheckedContinuation<Void, Never>] = []
    var isEnded = false
    /// The failure that no retry can cure; `nil` while the link works or is retried.
    var failure: LinkFailure?
    /// Whether a failure ends the loop of the reader.
    var endsReader = false
    /// The number of iterators that exist.
    var loops = 0
    /// Whether the app also receives what it needs without a loop.
    var isOptional = false
  }

  private let overflow: OverflowPolicy
  private let unreadOverflow: OverflowPolicy
  private let bytes: @Sendable (Update) -> Int
  private let state = Mutex(State())

  /// Creates an empty channel.
  ///
  /// - Parameters:
  ///   - overflow: A function that adds an update to a full channel.
  ///   - unreadOverflow: A function that does the same while no loop has to read the updates. It
  ///     must not let the channel grow. By default, it drops the update.
  ///   - bytes: A function that returns the size of an update's content. It is needed only if the
  ///     content may be long.
  package init(
    overflow: @escaping OverflowPolicy, unreadOverflow: @escaping OverflowPolicy = { _, _ in },
    bytes: @escaping @Sendable (Update) -> Int = { _ in 0 }
  ) {
    self.overflow = overflow
    self.unreadOverflow = unreadOverflow
    self.bytes = bytes
  }

  /// Whether the channel has reached its limit and a loop has to read it.
  package var isFull: Bool { state.withLock { $0.load >= Self.limit && !$0.isUnread } }

  /// Whether no loop reads and none has to.
  package var isUnread: Bool { state.withLock(\.isUnread) }

  /// Records that the app also receives what it needs without a loop.
  ///
  /// From now on, nobody waits for room while there is no iterator, and a full queue drops updates.
  package func makeOptional() {
    let observers = state.withLock { state in
      state.isOptional = true
      return state.takeNeedlessObservers()
    }
    for observer in observers { observer.resume() }
  }

  fileprivate func beginLoop() { state.withLock { $0.loops += 1 } }

  fileprivate func endLoop() {
    let observers = state.withLock { state in
      state.loops -= 1
      return state.takeNeedlessObservers()
    }
    for observer in observers { observer.resume() }
  }

  private func load(of update: Update) -> Int { 1 + bytes(update) >> 14 }

  /// Adds an update, or passes it to the waiting reader.
  package func put(_ update: Update) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update, state.isUnread ? unreadOverflow : overflow, load(of:))
      return nil
    }
    reader?.resume(returning: update)
  }

  /// Records that the link has failed for good, or that it is tried again if `failure` is `nil`.
  ///
  /// While the link has failed, an app's loop ends after the queued updates.
  package func setFailure(_ failure: LinkFailure?) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      state.failure = failure
      return failure == nil || !state.endsReader ? nil : state.reader.take()
    }
    reader?.resume(returning: nil)
  }

  /// The failure that no retry can cure, if there is one.
  package var failure: LinkFailure? { state.withLock(\.failure) }

  /// Waits until the app has reduced the load to half of the limit, no loop has to read the
  /// updates, or the stream has ended.
  package func room() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard !state.isEnded, !state.isUnread, state.load > Self.limit / 2 else { return true }
        state.observers.append(continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Delivers a socket's events in batches of at most 64.
  ///
  /// If the channel is full, this method waits until the app has reduced the load to half of the
  /// limit. The socket is not read in the meantime.
  ///
  /// - Parameter paused: A function that is called with `true` before the wait and with `false`
  ///   after it.
  package func paced<Event>(
    _ events: [Event], paused: (Bool) async -> Void, then: ([Event]) async -> Void
  ) async {
    var rest = events[...]
    while !rest.isEmpty {
      if isFull {
        await paused(true)
        await room()
        await paused(false)
      }
      await then(Array(rest.prefix(64)))
      rest = rest.dropFirst(64)
    }
  }

  /// Returns the next update; `nil` if the stream has ended or the reader was cancelled.
  ///
  /// There may be only one reader.
  ///
  /// - Parameter endsAtFailure: Whether the method also returns `nil` if there is no update and the
  ///   link has failed for good.
  package func next(endsAtFailure: Bool = false) async -> Update? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The cancellation state is read under the lock. An earlier cancellation is detected here,
        // and a later one finds the reader.
        let (answer, observers) = state.withLock {
          $0.endsReader = endsAtFailure
          return $0.take(for: continuation, unless: Task.isCancelled, load(of:))
        }
        for observer in observers { observer.resume() }
        if let answer { continuation.resume(returning: answer.update) }
      }
    } onCancel: {
      let reader = state.withLock { $0.reader.take() }
      reader?.resume(returning: nil)
    }
  }

  package func end() {
    let (reader, observers) = state.withLock { state in
      state.isEnded = true
      return (state.reader.take(), state.takeObservers())
    }
    reader?.resume(returning: nil)
    for observer in observers { observer.resume() }
  }
}

extension UpdateChannel.State {
  fileprivate var isUnread: Bool { isOptional && loops == 0 }

  /// Returns the observers if they no longer have to wait for a loop.
  fileprivate mutating func takeNeedlessObservers() -> [CheckedContinuation<Void, Never>] {
    isUnread ? takeObservers() : []
  }

  mutating func append(
    _ update: Update, _ overflow: UpdateChannel<Update>.OverflowPolicy, _ size: (Update) -> Int
  ) {
    guard load >= UpdateChannel<Update>.limit else {
      waiting.append(update)
      load += size(update)
      return
    }
    waiting.removeFirst(taken)
    taken = 0
    overflow(&waiting, update)
    load = waiting.reduce(0) { $0 + size($1) }
  }

  mutating func takeObservers() -> [CheckedContinuation<Void, Never>] {
    defer { observers = [] }
    return observers
  }

  /// Returns an update if one is available, and the observers to resume because there is now room.
  fileprivate mutating func take(
    for reader: CheckedContinuation<Update?, Never>, unless isCancelled: Bool,
    _ size: (Update) -> Int
  ) -> (answer: (update: Update?, Void)?, observers: [CheckedContinuation<Void, Never>]) {
    if isCancelled { return ((nil, ()), []) }
    guard taken < waiting.count else {
      if isEnded || endsReader && failure != nil { return ((nil, ()), []) }
      self.reader = reader
      return (nil, [])
    }
    let update = waiting[taken]
    taken += 1
    load -= size(update)
    if taken == waiting.count || taken >= 512 {
      waiting.removeFirst(taken)
      taken = 0
    }
    return ((update, ()), load <= UpdateChannel<Update>.limit / 2 ? takeObservers() : [])
  }
}

/// An iterator over a feature's updates. A feature supports only one iterator at a time.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  private let loop: UpdateLoop<Update>
  private let endsAtFailure: Bool

  package init(updates: UpdateChannel<Update>, endsAtFailure: Bool = true) {
    (loop, self.endsAtFailure) = (UpdateLoop(updates), endsAtFailure)
  }

  /// Returns the next update; `nil` after the feature is closed, or when it has failed and no retry
  /// can help.
  public mutating func next() async -> Update? {
    await loop.updates.next(endsAtFailure: endsAtFailure)
  }

  /// Returns the next update; `nil` after the feature is closed, or when it has failed and no retry
  /// can help.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await loop.updates.next(endsAtFailure: endsAtFailure)
  }
}

/// The lifetime of an iterator, from which the channel knows whether a loop reads it.
private final class UpdateLoop<Update: Sendable>: Sendable {
  let updates: UpdateChannel<Update>

  init(_ updates: UpdateChannel<Update>) {
    self.updates = updates
    updates.beginLoop()
  }

  deinit { updates.endLoop() }
}

/// The updates of a feature past failures, for a screen or program whose user can retry.
package struct LastingUpdates<Update: Sendable>: Sendable, AsyncSequence {
  private let updates: UpdateChannel<Update>

  package init(_ updates: UpdateChannel<Update>) { self.updates = updates }

  package func makeAsyncIterator() -> UpdateIterator<Update> {
    UpdateIterator(updates: updates, endsAtFailure: false)
  }
}
