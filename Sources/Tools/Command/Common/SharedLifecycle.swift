import LinkRuntime
import Synchronization

/// The lifecycle of the app for each of several streams, from one source that is read already.
final class SharedLifecycle: LifecycleMonitor {
  private struct Readers {
    var all: [AsyncStream<LifecycleEvent>.Continuation] = []
    /// What came so far, for readers that begin later; the oldest of more than 16 are dropped.
    var past: [LifecycleEvent] = []
  }

  private let readers = Mutex(Readers())

  /// Reads `source` until it ends.
  init(_ source: AsyncStream<LifecycleEvent>) {
    Task {
      for await event in source { pass(event) }
    }
  }

  func changes() -> AsyncStream<LifecycleEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: LifecycleEvent.self)
    readers.withLock { readers in
      for event in readers.past { continuation.yield(event) }
      readers.all.append(continuation)
    }
    return stream
  }

  private func pass(_ event: LifecycleEvent) {
    readers.withLock { readers in
      readers.past = Array((readers.past + [event]).suffix(16))
      for reader in readers.all { reader.yield(event) }
    }
  }
}

/// A count of tasks that all have to be done.
final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) {
    left = Mutex(count)
  }

  /// Notes that one is done; true for the last one.
  func isLast() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
