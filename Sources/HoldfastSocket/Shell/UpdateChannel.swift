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
  }

  private let overflow: OverflowPolicy
  private let bytes: @Sendable (Update) -> Int
  private let state = Mutex(State())

  /// Creates an empty channel.
  ///
  /// - Parameters:
  ///   - overflow: A function that adds an update to a full channel.
  ///   - bytes: A function that returns the size of an update's content. It is needed only if the
  ///     content may be long.
  package init(
    overflow: @escaping OverflowPolicy, bytes: @escaping @Sendable (Update) -> Int = { _ in 0 }
  ) {
    self.overflow = overflow
    self.bytes = bytes
  }

  /// Whether the channel has reached its limit.
  package var isFull: Bool { state.withLock { $0.load >= Self.limit } }

  private func load(of update: Update) -> Int { 1 + bytes(update) >> 14 }

  /// Adds an update, or passes it to the waiting reader.
  package func put(_ update: Update) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update, overflow, load(of:))
      return nil
    }
    reader?.resume(returning: update)
  }

  /// Waits until the app has reduced the load to half of the limit, or the stream has ended.
  package func room() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard !state.isEnded, state.load > Self.limit / 2 else { return true }
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
  package func next() async -> Update? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The cancellation state is read under the lock. An earlier cancellation is detected here,
        // and a later one finds the reader.
        let (answer, observers) = state.withLock {
          $0.take(for: continuation, unless: Task.isCancelled, load(of:))
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
      if isEnded { return ((nil, ()), []) }
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

/// An iterator over a feature's updates. A feature supports only one iterator.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  private let updates: UpdateChannel<Update>

  package init(updates: UpdateChannel<Update>) { self.updates = updates }

  /// Returns the next update; `nil` after the feature is closed.
  public mutating func next() async -> Update? { await updates.next() }

  /// Returns the next update; `nil` after the feature is closed.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await updates.next()
  }
}
