import LinkCore
import LinkRuntime

/// The monitors of the device, and the inputs that their reports become.
struct Device<Input: Sendable>: Sendable {
  let reachability: any ReachabilityMonitor
  let lifecycle: any LifecycleMonitor
  /// Forgets idle connections before each change: their network path may be gone; `nil` for a
  /// feature without one.
  let network: (any HTTPClient)?
  let input: @Sendable (DeviceChange) -> Input

  func reportReachability(_ post: (Input) async -> Void) async {
    for await change in reachability.changes() {
      await network?.forgetConnections()
      await post(input(.reachability(change)))
    }
  }

  func reportLifecycle(_ post: (Input) async -> Void) async {
    var life = DeviceLife()
    for await event in lifecycle.changes() {
      await network?.forgetConnections()
      for change in life.changes(for: event) { await post(input(change)) }
    }
  }
}

extension Device where Input: LinkInput {
  init(
    reachability: any ReachabilityMonitor, lifecycle: any LifecycleMonitor,
    network: (any HTTPClient)?, clock: any LinkClock
  ) {
    self.init(reachability: reachability, lifecycle: lifecycle, network: network) {
      Input(.device($0), at: clock.wall)
    }
  }
}

/// The state that tells an app in background from a device that is asleep.
struct DeviceLife {
  private var isInBackground = false
  /// Sleep puts an app in front into background; waking brings it back.
  private var isAsleep = false

  /// Returns what an event changes for a machine.
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
