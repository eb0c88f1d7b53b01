import CommandKit
import Holdfast
import LinkRuntime

/// The signals that a stream obeys: told to end, to refresh, and where its reader is.
struct StreamSignals {
  /// Begun already, so that none is missed and none ends the process.
  let lifecycle: any LifecycleMonitor
  private let signals = ServerSignals()
  private let stops: AsyncStream<Void>
  private let stopping: AsyncStream<Void>.Continuation

  init() {
    // Without a login manager sleep is noticed by its effects.
    lifecycle = Begun(stream: Platform.lifecycle().changes())
    (stops, stopping) = AsyncStream.makeStream()
  }

  /// Carries signals out until the process ends.
  func obey(
    refresh: @escaping @Sendable () -> Void, hurry: @escaping @Sendable () -> Never
  ) {
    Task { [signals, stopping] in
      var isStopping = false
      for await signal in signals.stream {
        switch signal {
        case .reload: refresh()
        case .stop:
          if isStopping { hurry() }
          isStopping = true
          stopping.finish()
        }
      }
    }
  }

  /// Returns when told to end, or when cancelled.
  func stop() async -> CommandFailure? {
    for await _ in stops {}
    return nil
  }

  private struct Begun: LifecycleMonitor {
    let stream: AsyncStream<LifecycleEvent>

    func changes() -> AsyncStream<LifecycleEvent> { stream }
  }
}
