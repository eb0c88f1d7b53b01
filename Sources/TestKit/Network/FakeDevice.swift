public import LinkCore
public import LinkRuntime
import Synchronization

/// A way out of the device that the test leads; a new listener hears at once how things are.
public final class FakeReachability: ReachabilityMonitor {
  private let state: Mutex<State>

  private struct State {
    var current: Reachability
    var listeners: [AsyncStream<Reachability>.Continuation] = []
  }

  public init(_ reachability: Reachability = .reachable(path: PathID("fake"))) {
    state = Mutex(State(current: reachability))
  }

  /// Changes it; the same answer again is not told.
  public func change(to reachability: Reachability) {
    state.withLock { state in
      guard state.current != reachability else { return }
      state.current = reachability
      for listener in state.listeners { listener.yield(reachability) }
    }
  }

  /// How things are, then each change.
  public func changes() -> AsyncStream<Reachability> {
    let (stream, continuation) = AsyncStream.makeStream(of: Reachability.self)
    state.withLock { state in
      continuation.yield(state.current)
      state.listeners.append(continuation)
    }
    return stream
  }
}

/// An app's life that the test leads; events before the first listener are kept for it.
public final class FakeLifecycle: LifecycleMonitor {
  private let state = Mutex(State())

  private struct State {
    var early: [LifecycleEvent] = []
    var listeners: [AsyncStream<LifecycleEvent>.Continuation] = []
  }

  private let known: [LifecycleEvent]

  /// - Parameter known: What is known without waiting.
  public init(known: [LifecycleEvent] = []) { self.known = known }

  public func present() -> [LifecycleEvent] { known }

  /// Tells every listener.
  public func tell(_ event: LifecycleEvent) {
    state.withLock { state in
      if state.listeners.isEmpty { state.early.append(event) }
      for listener in state.listeners { listener.yield(event) }
    }
  }

  /// Each event told from now on; the first listener also gets the earlier ones.
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
