public import HoldfastPorts
import Synchronization

/// Background time whose grants a test controls: it grants, refuses and expires them.
public final class FakeBackgroundTime: BackgroundTime {
  private struct State {
    var isGranting = true
    var open: [Int: @Sendable () -> Void] = [:]
    var last = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Creates background time that grants every request until `setGranting` changes this.
  public init() {}

  /// The number of grants that have not been given back.
  public var openGrants: Int { state.withLock { $0.open.count } }

  /// The number of grants that have been issued.
  public var granted: Int { state.withLock(\.last) }

  /// Returns once no grant is open.
  public func allGivenBack() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if !state.open.isEmpty { state.waiting.append(continuation) }
        return state.open.isEmpty
      }
      if isDone { continuation.resume() }
    }
  }

  /// Sets whether later requests are granted.
  public func setGranting(_ isGranting: Bool) { state.withLock { $0.isGranting = isGranting } }

  /// Expires all grants.
  public func expire() {
    for expired in state.withLock({ $0.open.sorted { $0.key < $1.key }.map(\.value) }) { expired() }
  }

  public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant? {
    let number = state.withLock { state -> Int? in
      guard state.isGranting else { return nil }
      state.last += 1
      state.open[state.last] = expired
      return state.last
    }
    guard let number else { return nil }
    return TimeGrant { [weak self] in
      self?.take(number)
    }
  }
  private func take(_ number: Int) {
    let done = state.withLock { state in
      state.open[number] = nil
      guard state.open.isEmpty else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiting in done { waiting.resume() }
  }
}
