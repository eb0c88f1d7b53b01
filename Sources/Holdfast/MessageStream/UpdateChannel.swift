import MessageStream
import Synchronization

/// Carries updates to the app in order, without making the stream wait: its clock and its pings go
/// on while the app does not read.
///
/// At the bound the stream is told, takes no more messages, and fetches them when there is room
/// again. Until then a status replaces the one before it, and notices are dropped.
final class UpdateChannel: Sendable {
  /// Updates that may wait for the app.
  static let limit = 1024

  fileprivate struct State {
    var waiting: [StreamUpdate] = []
    var taken = 0
    var reader: CheckedContinuation<StreamUpdate?, Never>?
    /// Who wants to know when the app has read on.
    var observer: CheckedContinuation<Void, Never>?
    var isEnded = false
  }

  private let state = Mutex(State())

  /// Whether the bound is reached.
  var isFull: Bool { state.withLock { $0.count >= Self.limit } }

  /// Puts an update in line.
  func put(_ update: StreamUpdate) {
    let reader: CheckedContinuation<StreamUpdate?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader.take() { return reader }
      state.append(update)
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
  func next() async -> StreamUpdate? {
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

  mutating func append(_ update: StreamUpdate) {
    if count >= UpdateChannel.limit {
      switch (update, waiting.last) {
      case (.notice, _): return
      case (.status, .status): waiting.removeLast()
      case (.status, _), (.messages, _), (.edited, _), (.gap, _), (.gapClosed, _), (.outbox, _),
        (.outboxDone, _), (.history, _):
        break
      }
    }
    waiting.append(update)
  }

  /// An answer that is there at once, and who waits for room that now is there.
  fileprivate mutating func take(
    for reader: CheckedContinuation<StreamUpdate?, Never>, unless isCancelled: Bool
  ) -> (answer: (update: StreamUpdate?, Void)?, observer: CheckedContinuation<Void, Never>?) {
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
    return ((update, ()), count <= UpdateChannel.limit / 2 ? observer.take() : nil)
  }
}
