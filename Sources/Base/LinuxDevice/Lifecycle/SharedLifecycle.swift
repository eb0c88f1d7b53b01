package import HoldfastPorts
import Synchronization

/// A monitor that distributes the events of one lifecycle source to several streams.
package final class SharedLifecycle: LifecycleMonitor {
  private struct Readers {
    var all: [Int: AsyncStream<LifecycleNotice>.Continuation] = [:]
    var number = 0
    /// The latest 16 events, for readers that start later. They receive no grants.
    var past: [LifecycleEvent] = []
  }

  private let readers = Mutex(Readers())

  /// Creates a monitor and reads `source` until it ends.
  package init(_ source: AsyncStream<LifecycleNotice>) {
    Task {
      for await notice in source { pass(notice) }
    }
  }

  package func changes() -> AsyncStream<LifecycleNotice> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(16))
    let number = readers.withLock { readers in
      for event in readers.past { continuation.yield(LifecycleNotice(event)) }
      readers.number += 1
      readers.all[readers.number] = continuation
      return readers.number
    }
    continuation.onTermination = { [weak self] _ in
      self?.readers.withLock { $0.all[number] = nil }
    }
    return stream
  }

  private func pass(_ notice: LifecycleNotice) {
    let all = readers.withLock { readers in
      readers.past = Array((readers.past + [notice.event]).suffix(16))
      return Array(readers.all.values)
    }
    // Without the lock: `yield` waits for a reader's task that is being cancelled, and that waits for
    // the lock in `onTermination`. Only one task calls this function, so the order is kept.
    for reader in all { reader.yield(notice) }
  }
}
