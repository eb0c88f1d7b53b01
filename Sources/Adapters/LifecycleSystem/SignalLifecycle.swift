import Dispatch
public import LinkRuntime
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Turns signals of the operating system into events of the app's life.
///
/// SIGUSR1 sends it to the background, SIGUSR2 brings it to the foreground, SIGTERM and SIGINT ask
/// it to end, and SIGCONT, which follows a stop, wakes it. From the first stream on these signals
/// have no other effect, even after the last stream ended: libdispatch keeps them.
public struct SignalLifecycle: LifecycleMonitor {
  private let meanings: [(signal: Int32, event: LifecycleEvent)] = [
    (SIGUSR1, .background), (SIGUSR2, .foreground), (SIGTERM, .terminate), (SIGINT, .terminate),
    (SIGCONT, .didWake),
  ]

  /// Takes no signal yet; the first stream does.
  public init() {}

  /// The signals that come from now on. Several of one kind may arrive as one event; of more than
  /// 64 unread events the oldest are dropped.
  public func changes() -> AsyncStream<LifecycleEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LifecycleEvent.self, bufferingPolicy: .bufferingNewest(64))
    let sources = SignalSources()
    continuation.onTermination = { _ in sources.cancel() }
    let registered = DispatchGroup()
    for (signal, event) in meanings {
      registered.enter()
      sources.add(signal, registered: { registered.leave() }, handle: { continuation.yield(event) })
    }
    // From the return on no signal may have its usual effect, which is to end the process.
    registered.wait()
    return stream
  }
}

/// The signals of one stream.
private final class SignalSources: Sendable {
  private let queue = DispatchQueue(label: "holdfast.signals")
  private let sources = Mutex<[any DispatchSourceSignal]>([])

  func add(
    _ signal: Int32, registered: @escaping @Sendable () -> Void,
    handle: @escaping @Sendable () -> Void
  ) {
    #if canImport(Darwin)
      // A kqueue sees a signal without taking it; its usual effect must be switched off.
      _ = Darwin.signal(signal, SIG_IGN)
    #endif
    sources.withLock { sources in
      let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
      source.setEventHandler(handler: handle)
      source.setRegistrationHandler(handler: registered)
      source.activate()
      sources.append(source)
    }
  }

  func cancel() {
    sources.withLock { sources in
      for source in sources { source.cancel() }
      sources = []
    }
  }
}
