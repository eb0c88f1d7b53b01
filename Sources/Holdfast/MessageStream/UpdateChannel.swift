import MessageStream
import Synchronization

/// Carries updates to the app in order. A slow app slows the stream down; nothing is dropped.
///
/// At the bound the driver waits, so the socket is no longer read; the server may then cut this
/// client, and the catch-up brings what was missed.
final class UpdateChannel: Sendable {
  /// Updates that may wait for the app.
  static let limit = 1024

  fileprivate struct State {
    var waiting: [StreamUpdate] = []
    var taken = 0
    var reader: CheckedContinuation<StreamUpdate?, Never>?
    var writer: CheckedContinuation<Void, Never>?
    var isEnded = false
    /// Nobody may read on: the writer no longer waits.
    var isClosing = false
  }

  private let state = Mutex(State())

  /// Puts an update in line; returns when there is room for another. One caller: the driver.
  func put(_ update: StreamUpdate) async {
    let reader: CheckedContinuation<StreamUpdate?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      state.waiting.append(update)
      return nil
    }
    if let reader {
      reader.resume(returning: update)
      return
    }
    await withCheckedContinuation { continuation in
      let mayGoOn = state.withLock { state in
        if state.isEnded || state.isClosing || state.waiting.count - state.taken < Self.limit {
          return true
        }
        state.writer = continuation
        return false
      }
      if mayGoOn { continuation.resume() }
    }
  }

  /// The next update; `nil` when the stream has ended or the reader was cancelled. One reader.
  func next() async -> StreamUpdate? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = Task.isCancelled
        let (answer, writer) = state.withLock { $0.take(for: continuation, unless: isCancelled) }
        writer?.resume()
        if let answer { continuation.resume(returning: answer.update) }
      }
    } onCancel: {
      let reader = state.withLock { $0.reader.take() }
      reader?.resume(returning: nil)
    }
  }

  /// From now on updates pile up where nobody reads them, until the end.
  func release() {
    let writer = state.withLock { state in
      state.isClosing = true
      return state.writer.take()
    }
    writer?.resume()
  }

  func end() {
    let (reader, writer) = state.withLock { state in
      state.isEnded = true
      return (state.reader.take(), state.writer.take())
    }
    reader?.resume(returning: nil)
    writer?.resume()
  }
}

extension UpdateChannel.State {
  /// An answer that is there at once, and the writer that now has room.
  fileprivate mutating func take(
    for reader: CheckedContinuation<StreamUpdate?, Never>, unless isCancelled: Bool
  ) -> (answer: (update: StreamUpdate?, Void)?, writer: CheckedContinuation<Void, Never>?) {
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
    return ((update, ()), writer.take())
  }
}
