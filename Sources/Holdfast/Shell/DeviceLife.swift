import LinkCore
import LinkRuntime

/// What the device says, as machines are told.
enum DeviceChange: Sendable, Hashable {
  case reachability(Reachability)
  case lifecycle(Lifecycle)
  case woke
  case again
}

/// Tells an app that went to the background from a device that fell asleep.
struct DeviceLife {
  private var isInBackground = false
  /// Sleep is a background that nobody chose; waking ends it.
  private var isAsleep = false

  mutating func changes(for event: LifecycleEvent) -> [DeviceChange] {
    switch event {
    case .foreground:
      (isInBackground, isAsleep) = (false, false)
      return [.lifecycle(.foreground)]
    case .background:
      isInBackground = true
      return [.lifecycle(.background)]
    case .willSleep:
      isAsleep = true
      return isInBackground ? [] : [.lifecycle(.background)]
    case .didWake:
      defer { isAsleep = false }
      let returns = isAsleep && !isInBackground
      return (returns ? [.lifecycle(.foreground)] : []) + [.woke]
    case .again:
      return [.again]
    case .terminate:
      return []
    }
  }
}

extension Driver {
  /// Runs it and brings it what the device says, until cancelled.
  ///
  /// - Parameter isSuspect: told before each change: connections may have gone the way of the old.
  nonisolated func run(
    on device: (reachability: any ReachabilityMonitor, lifecycle: any LifecycleMonitor),
    isSuspect: @escaping @Sendable () async -> Void,
    input: @escaping @Sendable (DeviceChange) -> M.Input
  ) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.run() }
      group.addTask {
        for await change in device.reachability.changes() {
          await isSuspect()
          await self.post(input(.reachability(change)))
        }
      }
      group.addTask {
        var life = DeviceLife()
        for await event in device.lifecycle.changes() {
          await isSuspect()
          for change in life.changes(for: event) { await self.post(input(change)) }
        }
      }
      await group.waitForAll()
    }
  }
}
