import HoldfastCore
import HoldfastPorts
import Synchronization

/// A limit for the messages that are passed to a model while its store is busy.
///
/// During a commit, 1,000 more messages may pass. All others wait outside the driver, whose clock
/// continues. Pings wait behind messages, so one of two rules applies. Either the wait has a limit,
/// and the model drops messages beyond its capacity, or the pause is reported to the link.
final class StoreBackpressure: Sendable {
  /// The number of messages that may pass during a commit.
  ///
  /// Together with the messages in the inbox, they fit into the model's writer.
  static let limit = 1000
  /// The maximum wait if messages can be fetched again.
  ///
  /// It is far below the time of silence after which a link ends (90 s).
  static let timeLimit = Duration.seconds(2)

  fileprivate struct State {
    var isClosed = false
    /// The number of commits. It prevents the time-out of an old commit from ending the wait for a
    /// new one.
    var commit: UInt64 = 0
    /// The number of messages since the commit started.
    var passed = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The task that ends the wait after the time-out.
    var timeOut: Task<Void, Never>?

    var isFull: Bool { isClosed && passed > StoreBackpressure.limit }
  }

  private let state = Mutex(State())
  private let clock: any LinkClock
  private let timeLimit: Duration?

  /// Creates an open backpressure.
  ///
  /// - Parameter timeLimit: The maximum wait. If it is `nil`, messages always wait for the store.
  init(clock: any LinkClock, timeLimit: Duration?) {
    (self.clock, self.timeLimit) = (clock, timeLimit)
  }

  /// Records that a commit has started. If the previous commit was refused, the count of messages
  /// continues.
  func close() {
    state.withLock { state in
      if !state.isClosed { state.passed = 0 }
      state.isClosed = true
      state.commit += 1
    }
  }

  /// Records that the commit has ended.
  func open() { open(nil) }

  /// Returns when the given number of messages may be passed on.
  ///
  /// - Parameter paused: A closure that is called before and after a wait.
  func pass(_ count: Int, paused: (Bool) async -> Void = { _ in }) async {
    let isFull = state.withLock { state in
      state.passed += count
      return state.isFull
    }
    guard isFull else { return }
    await paused(true)
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.isFull else { return true }
        state.waiting.append(continuation)
        if state.timeOut == nil { state.timeOut = timeOut(for: state.commit) }
        return false
      }
      if isFree { continuation.resume() }
    }
    await paused(false)
  }

  private func timeOut(for commit: UInt64) -> Task<Void, Never>? {
    guard let timeLimit else { return nil }
    let end = clock.now.advanced(by: timeLimit)
    return Task { [clock] in
      guard (try? await clock.wait(until: end)) != nil else { return }
      open(commit)
    }
  }

  private func open(_ commit: UInt64?) {
    let (waiting, timeOut) = state.withLock { $0.open(commit) }
    timeOut?.cancel()
    for continuation in waiting { continuation.resume() }
  }
}

extension StoreBackpressure.State {
  /// Opens the backpressure, unless a commit other than the given one is in progress.
  ///
  /// - Returns: The waiters that may proceed, and the time-out to cancel.
  fileprivate mutating func open(
    _ commit: UInt64?
  ) -> (waiting: [CheckedContinuation<Void, Never>], timeOut: Task<Void, Never>?) {
    if let commit, commit != self.commit { return ([], nil) }
    defer { (waiting, timeOut) = ([], nil) }
    isClosed = false
    return (waiting, timeOut)
  }
}
