package import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Handlers of operating system signals on a queue, active until `cancel`.
package final class SignalSources: Sendable {
  private let sources: Mutex<[any DispatchSourceSignal]>

  /// Starts to handle signals; returns once none can be missed. From then on the signals have no
  /// other effect.
  ///
  /// - Parameter handle: Called on the queue with the meaning of the signal.
  package init<Meaning: Sendable>(
    _ meanings: [(signal: Int32, meaning: Meaning)], on queue: DispatchQueue,
    handle: @escaping @Sendable (Meaning) -> Void
  ) {
    let registered = DispatchGroup()
    var sources: [any DispatchSourceSignal] = []
    for (signal, meaning) in meanings {
      #if canImport(Darwin)
        // A kqueue observes a signal without consuming it; its default action must be disabled.
        _ = Darwin.signal(signal, SIG_IGN)
      #endif
      let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
      source.setEventHandler { handle(meaning) }
      registered.enter()
      source.setRegistrationHandler { registered.leave() }
      source.activate()
      sources.append(source)
    }
    self.sources = Mutex(sources)
    registered.wait()
  }

  /// Stops handling signals.
  package func cancel() {
    sources.withLock { sources in
      for source in sources { source.cancel() }
      sources = []
    }
  }
}
