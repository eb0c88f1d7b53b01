import LinkCore
import LinkRuntime
import Synchronization

/// Limits the messages that pass to a model while its store is busy.
///
/// While a commit is under way, 1,000 more messages may pass; the others wait outside the driver,
/// whose clock continues. Pings queue behind messages: either the wait has an end, and the model
/// drops what it cannot hold, or the link is told that it is not read.
final class StoreBackpressure: Sendable {
  /// The messages that may pass during a commit; they fit into the writer with those in the inbox.
  static let limit = 1000
  /// The longest wait where messages can be fetched again; far below the silence that ends a link
  /// (seed 001: 90 s).
  static let patience = Duration.seconds(2)

  fileprivate struct State {
    var isClosed = false
    /// Counts commits, so that a timeout of an old one does not end the wait of a new one.
    var commit: UInt64 = 0
    /// Messages since the commit began.
    var passed = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The timeout of the wait.
    var patience: Task<Void, Never>?

    var isFull: Bool { isClosed && passed > StoreBackpressure.limit }
  }

  private let state = Mutex(State())
  private let clock: any LinkClock
  private let patience: Duration?

  /// - Parameter patience: the longest wait; `nil` to wait for the store in any case.
  init(clock: any LinkClock, patience: Duration?) {
    (self.clock, self.patience) = (clock, patience)
  }

  /// Notes that a commit has begun; one that follows a refused one counts on.
  func close() {
    state.withLock { state in
      if !state.isClosed { state.passed = 0 }
      state.isClosed = true
      state.commit += 1
    }
  }

  /// Notes that the store has answered.
  func open() { open(nil) }

  /// Returns when this many messages may be posted.
  ///
  /// - Parameter paused: called before and after a wait.
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
  /// Opens it, unless another commit than this one is under way; returns what may pass now.
  fileprivate mutating func open(
    _ commit: UInt64?
  ) -> (waiting: [CheckedContinuation<Void, Never>], patience: Task<Void, Never>?) {
    if let commit, commit != self.commit { return ([], nil) }
    defer { (waiting, patience) = ([], nil) }
    isClosed = false
    return (waiting, patience)
  }
}
