import Dispatch
public import LinkDriver

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Turns signals of the operating system into events of the app's life.
///
/// SIGUSR1 sends it to the background, SIGUSR2 brings it to the foreground, SIGTERM and SIGINT ask
/// it to end, and SIGCONT, which follows a stop, wakes it. Where it is told so, SIGHUP asks for
/// another try. From the first stream on these signals have no other effect, even after the last
/// stream ended: libdispatch keeps them.
public struct SignalLifecycle: LifecycleMonitor {
  private static let meanings: [(signal: Int32, meaning: LifecycleEvent)] = [
    (SIGUSR1, .background), (SIGUSR2, .foreground), (SIGTERM, .terminate), (SIGINT, .terminate),
    (SIGCONT, .didWake), (SIGHUP, .again),
  ]
  /// Signals that wait together have no order in the kernel: a wish to try again waits until those
  /// are told that came with it, so that it finds who was brought to the front there.
  private static let patience = DispatchTimeInterval.milliseconds(10)
  private let meanings: [(signal: Int32, meaning: LifecycleEvent)]

  /// Takes no signal yet; the first stream does.
  ///
  /// - Parameter hangup: Whether SIGHUP is its too.
  public init(hangup: Bool = false) {
    meanings = Self.meanings.filter { hangup || $0.signal != SIGHUP }
  }

  /// The signals that come from now on, in their order; of those that come within 10 ms a wish to
  /// try again is the last. Several of one kind may arrive as one event; of more than 64 unread
  /// events the oldest are dropped.
  public func changes() -> AsyncStream<LifecycleEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LifecycleEvent.self, bufferingPolicy: .bufferingNewest(64))
    let queue = DispatchQueue(label: "holdfast.signals")
    let sources = SignalSources(meanings, on: queue) { event in
      let tell: @Sendable () -> Void = { continuation.yield(event) }
      guard event == .again else { return tell() }
      queue.asyncAfter(deadline: .now() + Self.patience, execute: tell)
    }
    continuation.onTermination = { _ in sources.cancel() }
    return stream
  }
}
