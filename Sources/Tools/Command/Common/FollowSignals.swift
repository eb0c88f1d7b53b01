import CommandKit
import Holdfast
import LinkRuntime
import Synchronization

/// What a command obeys that follows something until told to end: ends, refreshes, front and back.
struct FollowSignals {
  /// Front, back and SIGHUP in their order; begun already, so that none is missed and none ends the
  /// process.
  let lifecycle: any LifecycleMonitor
  private let stops: AsyncStream<Void>

  /// - Parameters:
  ///   - stuck: told to end, and 2 s later somebody still does not take the output.
  ///   - hurry: told to end a second time.
  init(stuck: @escaping @Sendable () -> Never, hurry: @escaping @Sendable () -> Never) {
    // Without a login manager sleep is noticed by its effects.
    lifecycle = Begun(stream: Platform.lifecycle(hangup: true).changes())
    let (stops, stopping) = AsyncStream.makeStream(of: Void.self)
    let isStopping = Mutex(false)
    self.stops = stops
    let signals = ServerSignals { signal in
      guard signal == .stop else { return }
      let isSecond = isStopping.withLock { isStopping in
        defer { isStopping = true }
        return isStopping
      }
      if isSecond { hurry() }
      Console.watchOutput(stuck)
      stopping.finish()
    }
    // Until the process ends: a second one counts to the last.
    Task { for await _ in signals.stream {} }
  }

  /// Returns when told to end, or when cancelled.
  func stop() async {
    for await _ in stops {}
  }

  private struct Begun: LifecycleMonitor {
    let stream: AsyncStream<LifecycleEvent>

    func changes() -> AsyncStream<LifecycleEvent> { stream }
  }
}
