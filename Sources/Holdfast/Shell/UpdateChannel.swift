import Synchronization

/// Carries updates to the app in order, without making the machine wait: its clock and its pings go
/// on while the app does not read.
///
/// At the bound its owner says what becomes of one more; it can be told when there is room again.
final class UpdateChannel<Update: Sendable>: Sendable {
  /// Updates that may wait for the app.
  static var limit: Int { 1024 }

  /// Puts one more in the full line of those that wait: it may replace one, or be dropped.
  typealias Crowd = @Sendable (_ waiting: inout [Update], _ next: Update) -> Void

  fileprivate struct State {
    var waiting: [Update] = []
    var taken = 0
    var reader: CheckedContinuation<Update?, Never>?
    /// Who wants to know when the app has read on.
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

  /// Puts an update in line.
  func put(_ update: Update) {
    let reader: CheckedContinuation<Update?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update, crowd)
      return nil
    }
    reader?.resume(returning: update)
  }

  /// Returns when the app has read half of what may wait, or the stream has ended. One caller.
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

  /// The next update; `nil` when the stream has ended or the reader was cancelled. One reader.
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

  /// An answer that is there at once, and who waits for room that now is there.
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
