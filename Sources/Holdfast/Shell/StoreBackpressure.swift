import LinkCore
import LinkRuntime
import Synchronization

/// Limits the messages that pass to a model while its store is busy.
///
/// During a commit 1,000 more messages may pass. The others wait outside the driver, whose clock
/// continues. Pings queue behind messages, so one of two rules applies: the wait has a limit and
/// the model drops messages beyond its capacity, or the link is told that reading is paused.
final class StoreBackpressure: Sendable {
  /// The number of messages that may pass during a commit.
  ///
  /// With those in the inbox they fit into the writer.
  static let limit = 1000
  /// The longest wait if messages can be fetched again.
  ///
  /// It is far below the silence that ends a link (docs/seeds/001.md: 90 s).
  static let patience = Duration.seconds(2)

  fileprivate struct State {
    var isClosed = false
    /// The number of commits, so that an old commit's time-out does not end a new commit's wait.
    var commit: UInt64 = 0
    /// The number of messages since the commit started.
    var passed = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The task that ends the wait after the time-out.
    var patience: Task<Void, Never>?

    var isFull: Bool { isClosed && passed > StoreBackpressure.limit }
  }

  private let state = Mutex(State())
  private let clock: any LinkClock
  private let patience: Duration?

  /// Creates an open backpressure.
  ///
  /// - Parameter patience: The longest wait; `nil` to always wait for the store.
  init(clock: any LinkClock, patience: Duration?) {
    (self.clock, self.patience) = (clock, patience)
  }

  /// Records that a commit has started. The count continues if the previous commit was refused.
  func close() {
    state.withLock { state in
      if !state.isClosed { state.passed = 0 }
      state.isClosed = true
      state.commit += 1
    }
  }

  /// Records that the commit has ended.
  func open() { open(nil) }

  /// Returns when the given number of messages may be posted.
  ///
  /// - Parameter paused: Called before and after a wait.
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
        if state.patience == nil { state.patience = patience(for: state.commit) }
        return false
      }
      if isFree { continuation.resume() }
    }
    await paused(false)
  }

  private func patience(for commit: UInt64) -> Task<Void, Never>? {
    guard let patience else { return nil }
    let end = clock.now.advanced(by: patience)
    return Task { [clock] in
      guard (try? await clock.wait(until: end)) != nil else { return }
      open(commit)
    }
  }

  private func open(_ commit: UInt64?) {
    let (waiting, patience) = state.withLock { $0.open(commit) }
    patience?.cancel()
    for continuation in waiting { continuation.resume() }
  }
}

extension StoreBackpressure.State {
  /// Opens the backpressure, unless a commit other than the given one is in progress.
  ///
  /// - Returns: The waiters that may proceed, and the time-out to cancel.
  fileprivate mutating func open(
    _ commit: UInt64?
  ) -> (waiting: [CheckedContinuation<Void, Never>], patience: Task<Void, Never>?) {
    if let commit, commit != self.commit { return ([], nil) }
    defer { (waiting, patience) = ([], nil) }
    isClosed = false
    return (waiting, patience)
  }
}
