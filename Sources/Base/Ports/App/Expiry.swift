import Synchronization

/// The expiry of requested time, and the function to run at it.
///
/// A system can report the expiry before the caller knows what it ends: before the request has
/// returned, or before the work has begun. The function runs once, after both.
package final class Expiry: Sendable {
  private enum State: Sendable {
    /// The time has not expired, and there is no function yet.
    case open
    case waiting(@Sendable () -> Void)
    /// The time has expired before there was a function.
    case expired
    case over
  }

  private let state = Mutex(State.open)

  /// Creates the expiry of time that is about to be requested.
  package init() {}

  /// Sets the function. It runs at once if the time has expired.
  package func onExpiry(_ run: @escaping @Sendable () -> Void) {
    let isExpired = state.withLock { state in
      switch state {
      case .open, .waiting:
        state = .waiting(run)
        return false
      case .expired:
        state = .over
        return true
      case .over: return false
      }
    }
    if isExpired { run() }
  }

  /// Reports that the time has expired. A second call has no effect.
  package func expire() {
    let run = state.withLock { state -> (@Sendable () -> Void)? in
      switch state {
      case .open:
        state = .expired
        return nil
      case .waiting(let run):
        state = .over
        return run
      case .expired, .over: return nil
      }
    }
    run?()
  }

  /// Drops the function, because the time was given back.
  package func drop() {
    // The function is released outside of the lock, because it may own the time.
    _ = state.withLock { state in
      defer { state = .over }
      return state
    }
  }
}
