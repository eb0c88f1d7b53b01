import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a signal asks of a server.
enum ServerSignal: Sendable, Hashable {
  /// SIGTERM or SIGINT: end politely.
  case stop
  /// SIGHUP: read the files again.
  case reload
}

/// The signals that a server listens to; from here on they have no other effect.
struct ServerSignals: Sendable {
  /// The signals that come from now on; of more than 16 unread ones the oldest are dropped.
  let stream: AsyncStream<ServerSignal>
  private let continuation: AsyncStream<ServerSignal>.Continuation

  private static let meanings: [(signal: Int32, meaning: ServerSignal)] = [
    (SIGTERM, .stop), (SIGINT, .stop), (SIGHUP, .reload),
  ]

  /// Returns once no signal has its usual effect any more, which is to end the process.
  ///
  /// - Parameter noted: called first, also while everything else waits for something.
  init(_ noted: @escaping @Sendable (ServerSignal) -> Void = { _ in }) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ServerSignal.self, bufferingPolicy: .bufferingNewest(16))
    let queue = DispatchQueue(label: "holdfast.command.signals")
    let registered = DispatchGroup()
    let sources = Self.meanings.map { signal, meaning in
      #if canImport(Darwin)
        // A kqueue sees a signal without taking it; its usual effect must be switched off.
        _ = Darwin.signal(signal, SIG_IGN)
      #endif
      let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
      source.setEventHandler {
        noted(meaning)
        continuation.yield(meaning)
      }
      registered.enter()
      source.setRegistrationHandler { registered.leave() }
      source.activate()
      return source
    }
    let kept = Mutex(sources)
    continuation.onTermination = { _ in
      kept.withLock { sources in
        for source in sources { source.cancel() }
      }
    }
    registered.wait()
    self.stream = stream
    self.continuation = continuation
  }

  /// Ends the stream.
  func finish() {
    continuation.finish()
  }
}
