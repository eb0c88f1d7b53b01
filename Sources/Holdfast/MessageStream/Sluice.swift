import LinkCore
import LinkRuntime
import Synchronization

/// The backpressure of the store on the network, so that a catch-up has little left to fetch.
///
/// While a commit is under way, 1,000 more messages may pass; the others wait outside the driver,
/// whose clock continues. Pings queue behind messages, so the wait ends after two seconds even if
/// the store has not answered; what the model cannot hold then is fetched again later.
final class Sluice: Sendable {
  /// The messages that may pass during a commit; they fit into the writer with those in the inbox.
  static let limit = 1000
  /// The longest wait; far below the silence that ends a link (seed 001: 90 s).
  static let patience = Duration.seconds(2)

  fileprivate struct State {
    var isClosed = false
    /// Counts commits, so that a timeout of an old one does not end the wait of a new one.
    var commit: UInt64 = 0
    /// Messages since the sluice was closed.
    var passed = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The timeout of the wait.
    var patience: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let clock: any LinkClock

  init(clock: any LinkClock) {
    self.clock = clock
  }

  /// Notes that a commit has begun.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.commit += 1
      state.passed = 0
    }
  }

  /// Notes that the store has answered.
  func open() { open(nil) }

  /// Returns when this many messages may be posted.
  func pass(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        state.passed += count
        guard state.isClosed, state.passed > Self.limit else { return true }
        state.waiting.append(continuation)
        if state.patience == nil { state.patience = patience(for: state.commit) }
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  private func patience(for commit: UInt64) -> Task<Void, Never> {
    let end = clock.now.advanced(by: Self.patience)
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

extension Sluice.State {
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
