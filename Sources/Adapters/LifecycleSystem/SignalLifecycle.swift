import Dispatch
public import LinkDriver

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A monitor that maps signals of the operating system to lifecycle events of the app.
///
/// SIGUSR1 moves the app to the background and SIGUSR2 to the foreground. SIGTERM and SIGINT
/// request its end. SIGCONT, which follows a stop, is a wake-up. If enabled, SIGHUP requests a
/// retry. From the first stream on, these signals have no other effect, even after the last stream
/// has ended, since libdispatch keeps them.
public struct SignalLifecycle: LifecycleMonitor {
  private static let meanings: [(signal: Int32, meaning: LifecycleEvent)] = [
    (SIGUSR1, .background), (SIGUSR2, .foreground), (SIGTERM, .terminate), (SIGINT, .terminate),
    (SIGCONT, .didWake), (SIGHUP, .again),
  ]
  /// The delay of a retry request.
  ///
  /// Signals that are pending together have no order in the kernel. So the request waits until the
  /// others are delivered, and finds the app in the foreground if one of them brought it there.
  private static let patience = DispatchTimeInterval.milliseconds(10)
  private let meanings: [(signal: Int32, meaning: LifecycleEvent)]

  /// Creates a monitor, which handles no signal until its first stream starts.
  ///
  /// - Parameter hangup: Whether the monitor handles SIGHUP too.
  public init(hangup: Bool = false) {
    meanings = Self.meanings.filter { hangup || $0.signal != SIGHUP }
  }

  /// Returns the events of later signals in order; of those within 10 ms, a retry request is the
  /// last.
  ///
  /// Several signals of one kind may arrive as one event. If more than 64 events are unread, the
  /// oldest are dropped.
  public func changes() -> AsyncStream<LifecycleEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LifecycleEvent.self, bufferingPolicy: .bufferingNewest(64))
    let queue = DispatchQueue(label: "holdfast.signals")
    let sources = SignalSources(meanings, on: queue) { event in
      let send: @Sendable () -> Void = { continuation.yield(event) }
      guard event == .again else { return send() }
      queue.asyncAfter(deadline: .now() + Self.patience, execute: send)
    }
    continuation.onTermination = { _ in sources.cancel() }
    return stream
  }
}
