import Dispatch
public import HoldfastPorts
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A monitor that maps operating system signals to lifecycle events of the app.
///
/// SIGUSR1 moves the app to the background, and SIGUSR2 to the foreground. SIGTERM and SIGINT
/// request the end of the app. SIGCONT, which follows a stop, reports a wake-up. If it is enabled,
/// SIGHUP requests a retry. Once the first stream has started, these signals have no other effect.
/// This remains so after the last stream has ended, because libdispatch does not restore them.
public struct SignalLifecycle: LifecycleMonitor {
  private static let meanings: [(signal: Int32, meaning: LifecycleEvent)] = [
    (SIGUSR1, .background), (SIGUSR2, .foreground), (SIGTERM, .terminate), (SIGINT, .terminate),
    (SIGCONT, .didWake), (SIGHUP, .again),
  ]
  /// The delay before a retry request is delivered.
  ///
  /// The kernel does not keep the order of signals that are pending at the same time. The request
  /// therefore waits until the others have been delivered. If one of them moved the app to the
  /// foreground, the request is handled there.
  private static let retryDelay = DispatchTimeInterval.milliseconds(10)
  /// The time after SIGUSR2 within which SIGUSR1 counts as pending at the same time.
  ///
  /// The app is then in the foreground again: SIGUSR1 may have been sent first, and nothing else
  /// would end the background.
  private static let ambiguity = DispatchTimeInterval.milliseconds(100)
  private let meanings: [(signal: Int32, meaning: LifecycleEvent)]

  /// Creates a monitor. It handles no signals until its first stream starts.
  ///
  /// - Parameter hangup: Whether the monitor also handles SIGHUP.
  public init(hangup: Bool = false) {
    meanings = Self.meanings.filter { hangup || $0.signal != SIGHUP }
  }

  /// Returns the events of later signals in order. A retry request follows the other events within
  /// 10 ms. A move to the background within 100 ms of one to the foreground is followed by another
  /// one to the foreground.
  ///
  /// Several signals of the same kind may arrive as one event. If more than 64 events are unread,
  /// the oldest are dropped.
  public func changes() -> AsyncStream<LifecycleNotice> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(64))
    let queue = DispatchQueue(label: "holdfast.signals")
    let ambiguousUntil = Mutex(DispatchTime(uptimeNanoseconds: 0))
    let sources = SignalSources(meanings, on: queue) { event in
      let send: @Sendable () -> Void = { continuation.yield(LifecycleNotice(event)) }
      guard event != .again else {
        return queue.asyncAfter(deadline: .now() + Self.retryDelay, execute: send)
      }
      send()
      let now = DispatchTime.now()
      if event == .foreground { ambiguousUntil.withLock { $0 = now + Self.ambiguity } }
      if event == .background, now < ambiguousUntil.withLock({ $0 }) {
        continuation.yield(LifecycleNotice(.foreground))
      }
    }
    continuation.onTermination = { _ in sources.cancel() }
    return stream
  }
}
