public import HoldfastPorts

#if os(Linux)
  import HoldfastDriver

  /// A monitor that combines all lifecycle events of this system: signals, sleep, lock and power.
  public struct SystemLifecycle: LifecycleMonitor {
    private let monitors: [any LifecycleMonitor]

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - hangup: Whether SIGHUP requests a retry.
    ///   - note: A function that is called once, with a human-readable explanation, if sleep cannot
    ///     be watched.
    public init(hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }) {
      self.init(merging: [
        SignalLifecycle(hangup: hangup), LogindLifecycle(note: note), DeviceState(),
      ])
    }

    init(merging monitors: [any LifecycleMonitor]) {
      self.monitors = monitors
    }

    /// Returns the current states from all monitors.
    public func present() -> [LifecycleEvent] { monitors.flatMap { $0.present() } }

    /// Returns the events of all monitors. The stream ends once the streams of all monitors have
    /// ended.
    public func changes() -> AsyncStream<LifecycleNotice> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(64))
      // The streams start here rather than in the task, so that no event is missed after this
      // method returns.
      let parts = monitors.map { $0.changes() }
      let task = Task {
        await withTaskGroup { group in
          for part in parts {
            group.addTask {
              for await notice in part { continuation.yield(notice) }
            }
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    }
  }
#endif
