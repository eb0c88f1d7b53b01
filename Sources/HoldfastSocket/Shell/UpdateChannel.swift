import Synchronization

/// A queue of updates for the app, which never makes the machine wait for the app.
///
/// At the bound its owner decides what happens to one more update, and can wait for room.
package final class UpdateChannel<Update: Sendable>: Sendable {
  /// Updates that may wait for the app; one with content counts once more for each 16 KiB of it.
  package static var limit: Int { 1024 }

  /// Adds an update to a full queue: it may replace another one, or be dropped.
  package typealias Crowd = @Sendable (_ waiting: inout [Update], _ next: Update) -> Void

  fileprivate struct State {
    var waiting: [Update] = []
    var taken = 0
    /// What waits, in the unit of `limit`.
    var load = 0
    var reader: CheckedContinuation<Update?, Never>?
    /// Resumed when the app has read on.
    var observers: [CheckedContinuation<Void, Never>] = []
    var isEnded = false
  }

  private let crowd: Crowd
  private let bytes: @Sendable (Update) -> Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - crowd: puts one more into a full channel.
  ///   - bytes: the content of an update that may be long.
  package init(crowd: @escaping Crowd, bytes: @escaping @Sendable (Update) -> Int = { _ in 0 }) {
    self.crowd = crowd
    self.bytes = bytes
  }

  /// Whether the bound is reached.
  package var isFull: Bool { state.withLock { $0.load >= Self.limit } }

  private func load(of update: Update) -> Int { 1 + bytes(update) >> 14 }

  /// Queues an update.
  package func put(_ update: Update) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update, crowd, load(of:))
      return nil
    }
    reader?.resume(returning: update)
  }

  /// Returns when the app has read half of what may wait, or the stream has ended.
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

  /// Hands over what a socket brought, some at a time; at the bound it waits until the app has read
  /// half of what waits, so that the socket is not read either.
  ///
  /// - Parameter paused: called before and after such a wait.
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

  /// The next update; `nil` when the stream has ended or the reader was cancelled. One reader.
  package func next() async -> Update? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Read under the lock: a cancellation before finds it, one after finds the reader.
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
    _ update: Update, _ crowd: UpdateChannel<Update>.Crowd, _ size: (Update) -> Int
  ) {
    guard load >= UpdateChannel<Update>.limit else {
      waiting.append(update)
      load += size(update)
      return
    }
    waiting.removeFirst(taken)
    taken = 0
    crowd(&waiting, update)
    load = waiting.reduce(0) { $0 + size($1) }
  }

  mutating func takeObservers() -> [CheckedContinuation<Void, Never>] {
    defer { observers = [] }
    return observers
  }

  /// An answer that is there at once, and what waits for room that now is there.
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

/// The iterator of a feature's updates; a feature serves one.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  private let updates: UpdateChannel<Update>

  package init(updates: UpdateChannel<Update>) { self.updates = updates }

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next() async -> Update? { await updates.next() }

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await updates.next()
  }
}
