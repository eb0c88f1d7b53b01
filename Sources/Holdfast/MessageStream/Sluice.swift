import LinkCore
import LinkRuntime
import Synchronization

/// Slows what the network brings to what the store takes, so that little is left to a catch-up.
///
/// Closed while a commit is under way: then so many messages more may pass, and the rest waits
/// outside the driver, whose clock goes on. Since pings come in behind messages, the wait ends
/// after two seconds even if the store has not answered; what the model cannot hold then is fetched
/// again later.
final class Sluice: Sendable {
  /// Messages that pass a closed sluice; with those in the driver's inbox they fit into the writer.
  static let limit = 1000
  /// Far below the silence after which either end takes a link for dead (seed 001: 90 s).
  static let patience = Duration.seconds(2)

  fileprivate struct State {
    var isClosed = false
    /// Counts commits, so that the end of an old patience opens no new sluice.
    var commit: UInt64 = 0
    /// Messages since the sluice was closed.
    var passed = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// Ends the wait of those who wait.
    var patience: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let clock: any LinkClock

  init(clock: any LinkClock) {
    self.clock = clock
  }

  /// A commit begins, with everything that waited for it.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.commit += 1
      state.passed = 0
    }
  }

  /// The store has answered.
  func open() { open(nil) }

  /// Returns when so many messages may be handed to the driver.
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
  /// Opens it, unless another commit than this one is under way; says who may pass now.
  fileprivate mutating func open(
    _ commit: UInt64?
  ) -> (waiting: [CheckedContinuation<Void, Never>], patience: Task<Void, Never>?) {
    if let commit, commit != self.commit { return ([], nil) }
    defer { (waiting, patience) = ([], nil) }
    isClosed = false
    return (waiting, patience)
  }
}
