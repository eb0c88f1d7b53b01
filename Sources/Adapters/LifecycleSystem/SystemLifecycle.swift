#if os(Linux)
  public import LinkDriver

  /// Everything this system says about the app: signals and sleep, in one stream.
  public struct SystemLifecycle: LifecycleMonitor {
    private let monitors: [any LifecycleMonitor]

    /// - Parameters:
    ///   - hangup: Whether SIGHUP asks for another try.
    ///   - note: Told once, for people, when sleep cannot be watched, and why.
    public init(hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }) {
      self.init(merging: [
        SignalLifecycle(hangup: hangup), LogindLifecycle(note: note), DeviceState(),
      ])
    }

    init(merging monitors: [any LifecycleMonitor]) {
      self.monitors = monitors
    }

    /// What the monitors know.
    public func present() -> [LifecycleEvent] { monitors.flatMap { $0.present() } }

    /// The events of all monitors; ends when all of them ended.
    public func changes() -> AsyncStream<LifecycleEvent> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: LifecycleEvent.self, bufferingPolicy: .bufferingNewest(64))
      // Begun here, not in the task: after the return no event is missed.
      let parts = monitors.map { $0.changes() }
      let task = Task {
        await withTaskGroup { group in
          for part in parts {
            group.addTask {
              for await event in part { continuation.yield(event) }
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
