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

/// A lifecycle monitor that the test controls. It buffers events for the first listener.
public final class FakeLifecycle: LifecycleMonitor {
  private let state = Mutex(State())

  private struct State {
    var early: [LifecycleEvent] = []
    var listeners: [AsyncStream<LifecycleEvent>.Continuation] = []
  }

  private let known: [LifecycleEvent]

  /// Creates a monitor.
  ///
  /// - Parameter known: The events that are known from the start.
  public init(known: [LifecycleEvent] = []) { self.known = known }

  public func present() -> [LifecycleEvent] { known }

  /// Sends an event to every listener.
  public func send(_ event: LifecycleEvent) {
    state.withLock { state in
      if state.listeners.isEmpty { state.early.append(event) }
      for listener in state.listeners { listener.yield(event) }
    }
  }

  /// Returns a stream of later events. The first stream also contains all earlier events.
  public func changes() -> AsyncStream<LifecycleEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: LifecycleEvent.self)
    state.withLock { state in
      for event in state.early { continuation.yield(event) }
      state.early = []
      state.listeners.append(continuation)
    }
    return stream
  }
}
