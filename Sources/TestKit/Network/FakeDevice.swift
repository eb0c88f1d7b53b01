public import HoldfastCore
public import HoldfastPorts
import Synchronization

/// A reachability monitor that the test controls.
///
/// A new listener receives the current state immediately.
public final class FakeReachability: ReachabilityMonitor {
  private let state: Mutex<State>

  private struct State {
    var current: Reachability
    var listeners: [AsyncStream<Reachability>.Continuation] = []
  }

  public init(_ reachability: Reachability = .reachable(path: PathID("fake"))) {
    state = Mutex(State(current: reachability))
  }

  /// Changes the state. Listeners receive no event if the state stays the same.
  public func change(to reachability: Reachability) {
    state.withLock { state in
      guard state.current != reachability else { return }
      state.current = reachability
      for listener in state.listeners { listener.yield(reachability) }
    }
  }

  /// Returns a stream of the current state and each change.
  public func changes() -> AsyncStream<Reachability> {
    let (stream, continuation) = AsyncStream.makeStream(of: Reachability.self)
    state.withLock { state in
      continuation.yield(state.current)
      state.listeners.append(continuation)
    }
    return stream
  }
}

/// A lifecycle monitor that the test controls. It buffers notices for the first listener.
public final class FakeLifecycle: LifecycleMonitor {
  private let state = Mutex(State())

  private struct State {
    var early: [LifecycleNotice] = []
    var listeners: [Int: AsyncStream<LifecycleNotice>.Continuation] = [:]
    var last = 0
  }

  private let known: [LifecycleEvent]

  /// Creates a monitor.
  ///
  /// - Parameter known: The events that are known from the start.
  public init(known: [LifecycleEvent] = []) { self.known = known }

  public func present() -> [LifecycleEvent] { known }

  /// The number of streams that have begun and not ended.
  public var listenerCount: Int { state.withLock(\.listeners.count) }

  /// Sends an event to every listener.
  ///
  /// - Parameter grant: The time to act on the event, which the listeners share.
  public func send(_ event: LifecycleEvent, grant: TimeGrant? = nil) {
    let notice = LifecycleNotice(event, grant: grant)
    let listeners = state.withLock { state in
      if state.listeners.isEmpty { state.early.append(notice) }
      return state.listeners.values
    }
    for listener in listeners { listener.yield(notice) }
  }

  /// Returns a stream of later events. The first stream also contains all earlier events.
  public func changes() -> AsyncStream<LifecycleNotice> {
    let (stream, continuation) = AsyncStream.makeStream(of: LifecycleNotice.self)
    let number = state.withLock { state in
      for notice in state.early { continuation.yield(notice) }
      state.early = []
      state.last += 1
      state.listeners[state.last] = continuation
      return state.last
    }
    // A stream that has ended would otherwise keep the grants of its unread notices.
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
    }
    return stream
  }
}
