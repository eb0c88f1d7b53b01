import HoldfastCore
import HoldfastPorts
import HoldfastServerParts
import Synchronization

/// The times of commits that a service makes while other work of it goes on.
final class CommitTimes: Sendable {
  private let times = Mutex(Histogram(Histogram.commits))

  /// The times so far.
  var histogram: Histogram { times.withLock(\.self) }

  /// Runs a commit and counts its time, also if it fails.
  func measure<Value>(
    _ commit: () async throws(StoreFailure) -> Value
  ) async throws(StoreFailure) -> Value {
    let began = BootClock().now
    defer {
      let elapsed = began.duration(to: BootClock().now)
      times.withLock { $0.add(elapsed) }
    }
    return try await commit()
  }
}
