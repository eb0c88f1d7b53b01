package import HoldfastCore
import HoldfastDriver
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
    /// The number of waiting updates that have no load.
    var light = 0
    var reader: Reader?
    /// The continuations that are resumed when the app has read enough.
    var observers: [CheckedContinuation<Void, Never>] = []
    var isEnded = false
    var final = FinalFailure()
    /// Whether the feature is being closed.
    var isClosing = false
    /// Whether a failure ends the loop of the reader.
    var endsReader = false
    /// The number of iterators that exist.
    var loops = 0
    /// The number of the last iterator that was created. They are counted from 1.
    var lastLoop: UInt64 = 0
    /// The number of the newest iterator that has asked for an update.
    var readingLoop: UInt64 = 0
    /// Whether the app also receives what it needs without a loop.
    var isOptional = false
  }

  /// A call of `next` that waits, and the number of its iterator; 0 for a call without one.
  fileprivate struct Reader {
    var loop: UInt64
    var continuation: CheckedContinuation<Update?, Never>
  }

  private let overflow: OverflowPolicy
  private let unreadOverflow: OverflowPolicy
  private let bytes: @Sendable (Update) -> Int?
  private let state = Mutex(State())

  /// Creates an empty channel.
  ///
  /// - Parameters:
  ///   - overflow: A function that adds an update to a full channel. It is also called for an
  ///     update without load while as many of these wait as the limit allows.
  ///   - unreadOverflow: A function that does the same while no loop has to read the updates. It
  ///     must not let the channel grow. By default, it drops the update.
  ///   - bytes: A function that returns the size of an update's content, which is needed only if
  ///     the content may be long. It returns `nil` for an update without load, which never makes
  ///     the channel full. Then `overflow` must be able to drop or to replace such updates.
  package init(
    overflow: @escaping OverflowPolicy, unreadOverflow: @escaping OverflowPolicy = { _, _ in },
    bytes: @escaping @Sendable (Update) -> Int? = { _ in 0 }
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

  /// Returns the number of a new iterator.
  fileprivate func beginLoop() -> UInt64 {
    state.withLock { state in
      state.loops += 1
      state.lastLoop += 1
      return state.lastLoop
    }
  }

  fileprivate func endLoop() {
    let observers = state.withLock { state in
      state.loops -= 1
      return state.takeNeedlessObservers()
    }
    for observer in observers { observer.resume() }
  }

  /// Returns the load of an update; 0 for one that never makes the channel full.
  private func load(of update: Update) -> Int { bytes(update).map { 1 + $0 >> 14 } ?? 0 }

  /// Adds an update, or passes it to the waiting reader.
  package func put(_ update: Update) { put(update) { _ in } }

  /// Adds the update of a status, and records the failure with which the link has ended; `nil` if
  /// it works or is retried.
  ///
  /// While the link has failed, an app's loop ends after the queued updates. The end of a closed
  /// feature does not remove a failure.
  package func put(_ update: Update, failure: LinkFailure?) {
    put(update) { $0.final.recorded = failure ?? ($0.isClosing ? $0.final.recorded : nil) }
  }

  /// Keeps the recorded failure from now on, because the feature is being closed.
  package func beginClose() { state.withLock { $0.isClosing = true } }

  private func put(_ update: Update, _ record: (inout State) -> Void) {
    let reader: Reader? = state.withLock { state in
      guard !state.isEnded else { return nil }
      record(&state)
      if let reader = state.reader.take() { return reader }
      state.append(update, state.isUnread ? unreadOverflow : overflow, load(of:))
      return nil
    }
    reader?.continuation.resume(returning: update)
  }

  /// The failure that no retry can cure; `nil` if there is none, or while a restart is pending.
  package var failure: LinkFailure? { state.withLock(\.final.current) }

  /// Begins a restart of the link. No loop ends until `endRestart()`.
  package func beginRestart() { state.withLock { $0.final.beginRestart() } }

  /// Ends a restart, which the machine has processed. A loop ends if the link could not begin again.
  package func endRestart() {
    let reader = state.withLock { state in
      state.final.endRestart()
      return state.takeFailedReader()
    }
    reader?.continuation.resume(returning: nil)
  }

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
  /// There is one reader at a time: a call ends the call that waits. Once a newer iterator has
  /// called this method, it returns `nil` to the older ones.
  ///
  /// - Parameter endsAtFailure: Whether the method also returns `nil` if there is no update and the
  ///   link has failed for good.
  package func next(endsAtFailure: Bool = false) async -> Update? {
    await next(of: 0, endsAtFailure: endsAtFailure)
  }

  fileprivate func next(
    of loop: UInt64, endsAtFailure: Bool, isolation: isolated (any Actor)? = #isolation
  ) async -> Update? {
    // An update that waits is taken without the cost of a suspension.
    if let answer = take(of: loop, endsAtFailure: endsAtFailure, orWait: nil) {
      return answer.update
    }
    return await suspended { continuation in
      guard let answer = take(of: loop, endsAtFailure: endsAtFailure, orWait: continuation) else {
        return {}
      }
      return { continuation.resume(returning: answer.update) }
    } onCancel: {
      let reader = state.withLock { state in
        state.reader?.loop == loop ? state.reader.take() : nil
      }
      return { reader?.continuation.resume(returning: nil) }
    }
  }

  /// Takes the answer to an iterator, or lets `continuation` wait for it.
  ///
  /// The cancellation state is read under the lock. An earlier cancellation is detected here, and a
  /// later one finds the reader.
  private func take(
    of loop: UInt64, endsAtFailure: Bool, orWait continuation: CheckedContinuation<Update?, Never>?
  ) -> State.Answer? {
    let (answer, older, observers) = state.withLock { state in
      state.take(
        for: loop, continuation, unless: Task.isCancelled, endsAtFailure: endsAtFailure, load(of:))
    }
    older?.continuation.resume(returning: nil)
    for observer in observers { observer.resume() }
    return answer
  }

  package func end() {
    let (reader, observers) = state.withLock { state in
      state.isEnded = true
      return (state.reader.take(), state.takeObservers())
    }
    reader?.continuation.resume(returning: nil)
    for observer in observers { observer.resume() }
  }
}

extension UpdateChannel.State {
  fileprivate var isUnread: Bool { isOptional && loops == 0 }

  /// Returns the waiting reader if the link's failure ends its loop.
  fileprivate mutating func takeFailedReader() -> UpdateChannel<Update>.Reader? {
    final.current == nil || !endsReader ? nil : reader.take()
  }

  /// Returns the observers if they no longer have to wait for a loop.
  fileprivate mutating func takeNeedlessObservers() -> [CheckedContinuation<Void, Never>] {
    isUnread ? takeObservers() : []
  }

  mutating func append(
    _ update: Update, _ overflow: UpdateChannel<Update>.OverflowPolicy, _ size: (Update) -> Int
  ) {
    let added = size(update)
    guard (added == 0 ? light : load) >= UpdateChannel<Update>.limit else {
      waiting.append(update)
      load += added
      light += added == 0 ? 1 : 0
      return
    }
    waiting.removeFirst(taken)
    taken = 0
    overflow(&waiting, update)
    let sizes = waiting.map(size)
    (load, light) = (sizes.reduce(0, +), sizes.count { $0 == 0 })
  }

  mutating func takeObservers() -> [CheckedContinuation<Void, Never>] {
    defer { observers = [] }
    return observers
  }

  /// An update, or `nil` at the end.
  fileprivate struct Answer {
    var update: Update?
  }

  /// The answer to a reader if it need not wait, the reader that it replaces, and the observers to
  /// resume because there is now room.
  fileprivate typealias Taken = (
    answer: Answer?, older: UpdateChannel<Update>.Reader?,
    observers: [CheckedContinuation<Void, Never>]
  )

  /// Takes an update for an iterator, or lets its continuation wait. The iterator ends if a newer
  /// one reads.
  fileprivate mutating func take(
    for loop: UInt64, _ continuation: CheckedContinuation<Update?, Never>?,
    unless isCancelled: Bool, endsAtFailure: Bool, _ size: (Update) -> Int
  ) -> Taken {
    if isCancelled || loop != 0 && loop < readingLoop { return (Answer(), nil, []) }
    readingLoop = max(readingLoop, loop)
    endsReader = endsAtFailure
    let older = reader.take()
    guard taken < waiting.count else {
      if isEnded || endsReader && final.current != nil { return (Answer(), older, []) }
      reader = continuation.map { .init(loop: loop, continuation: $0) }
      return (nil, older, [])
    }
    let update = waiting[taken]
    taken += 1
    let removed = size(update)
    load -= removed
    light -= removed == 0 ? 1 : 0
    if taken == waiting.count || taken >= 512 {
      waiting.removeFirst(taken)
      taken = 0
    }
    let isThereRoom = load <= UpdateChannel<Update>.limit / 2
    return (Answer(update: update), older, isThereRoom ? takeObservers() : [])
  }
}

/// An iterator over a feature's updates.
///
/// Each update is delivered once, so one loop reads a feature at a time. A new loop ends the older
/// one: once a newer iterator has asked for an update, `next()` of the older ones returns `nil`.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  private let loop: UpdateLoop<Update>
  private let endsAtFailure: Bool

  package init(updates: UpdateChannel<Update>, endsAtFailure: Bool = true) {
    (loop, self.endsAtFailure) = (UpdateLoop(updates), endsAtFailure)
  }

  /// Returns the next update; `nil` after the feature is closed, or when it has failed and no retry
  /// can help.
  public mutating func next() async -> Update? {
    await loop.updates.next(of: loop.number, endsAtFailure: endsAtFailure)
  }

  /// Returns the next update; `nil` after the feature is closed, or when it has failed and no retry
  /// can help.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await loop.updates.next(of: loop.number, endsAtFailure: endsAtFailure, isolation: actor)
  }
}

/// The lifetime of an iterator, from which the channel knows whether a loop reads it.
private final class UpdateLoop<Update: Sendable>: Sendable {
  let updates: UpdateChannel<Update>
  let number: UInt64

  init(_ updates: UpdateChannel<Update>) {
    self.updates = updates
    number = updates.beginLoop()
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
