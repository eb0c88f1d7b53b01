package import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A set of handlers of operating system signals. They run on a queue and are active until
/// `cancel`.
package final class SignalSources: Sendable {
  private let sources: Mutex<[any DispatchSourceSignal]>

  /// Starts to handle signals, and returns once no signal can be missed. The signals then have no
  /// other effect.
  ///
  /// - Parameter handle: A function that is called on the queue with the meaning of a signal.
  package init<Meaning: Sendable>(
    _ meanings: [(signal: Int32, meaning: Meaning)], on queue: DispatchQueue,
    handle: @escaping @Sendable (Meaning) -> Void
  ) {
    let registered = DispatchGroup()
    var sources: [any DispatchSourceSignal] = []
    for (signal, meaning) in meanings {
      #if canImport(Darwin)
        // A kqueue observes a signal without consuming it, so the default action must be disabled.
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
