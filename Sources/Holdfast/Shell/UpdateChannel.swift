import Synchronization

/// A queue of updates for the app, which never makes the machine wait for the app.
///
/// At the bound its owner decides what happens to one more update, and can wait for room.
final class UpdateChannel<Update: Sendable>: Sendable {
  /// The number of updates that may wait for the app; ours.
  static var limit: Int { 1024 }

  /// Adds an update to a full queue: it may replace another one, or be dropped.
  typealias Crowd = @Sendable (_ waiting: inout [Update], _ next: Update) -> Void

  fileprivate struct State {
    var waiting: [Update] = []
    var taken = 0
    var reader: CheckedContinuation<Update?, Never>?
    /// The caller of `room`.
    var observer: CheckedContinuation<Void, Never>?
    var isEnded = false
  }

  private let crowd: Crowd
  private let state = Mutex(State())

  init(crowd: @escaping Crowd) {
    self.crowd = crowd
  }

  /// Whether the bound is reached.
  var isFull: Bool { state.withLock { $0.count >= Self.limit } }

  /// Queues an update.
  func put(_ update: Update) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update, crowd)
      return nil
    }
    reader?.resume(returning: update)
  }

  /// Returns when at most half of the bound waits, or the queue has ended. One caller.
  func room() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard !state.isEnded, state.count > Self.limit / 2 else { return true }
        state.observer = continuation
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Returns the next update; `nil` if the queue has ended or the reader was cancelled. One reader.
  func next() async -> Update? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = Task.isCancelled
        let (answer, observer) = state.withLock { $0.take(for: continuation, unless: isCancelled) }
        observer?.resume()
        if let answer { continuation.resume(returning: answer.update) }
      }
    } onCancel: {
      let reader = state.withLock { $0.reader.take() }
      reader?.resume(returning: nil)
    }
  }

  func end() {
    let (reader, observer) = state.withLock { state in
      state.isEnded = true
      return (state.reader.take(), state.observer.take())
    }
    reader?.resume(returning: nil)
    observer?.resume()
  }
}

extension UpdateChannel.State {
  var count: Int { waiting.count - taken }

  mutating func append(_ update: Update, _ crowd: UpdateChannel<Update>.Crowd) {
    guard count >= UpdateChannel<Update>.limit else {
      waiting.append(update)
      return
    }
    waiting.removeFirst(taken)
    taken = 0
    crowd(&waiting, update)
  }

  /// Returns the answer for the reader, if there is one, and the observer to resume, if any.
  fileprivate mutating func take(
    for reader: CheckedContinuation<Update?, Never>, unless isCancelled: Bool
  ) -> (answer: (update: Update?, Void)?, observer: CheckedContinuation<Void, Never>?) {
    if isCancelled { return ((nil, ()), nil) }
    guard taken < waiting.count else {
      if isEnded { return ((nil, ()), nil) }
      self.reader = reader
      return (nil, nil)
    }
    let update = waiting[taken]
    taken += 1
    if taken == waiting.count || taken >= 512 {
      waiting.removeFirst(taken)
      taken = 0
    }
    return ((update, ()), count <= UpdateChannel<Update>.limit / 2 ? observer.take() : nil)
  }
}
