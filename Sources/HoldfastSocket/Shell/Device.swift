package import HoldfastCore
package import HoldfastPorts
import Synchronization

/// The monitors of the device, and the functions that convert their reports into inputs.
package struct Device<Input: Sendable>: Sendable {
  let reachability: any ReachabilityMonitor
  let lifecycle: any LifecycleMonitor
  /// The client whose idle connections are closed before each reachability change; `nil` for no
  /// client.
  ///
  /// The network path of those connections may no longer exist.
  let network: (any HTTPClient)?
  let input: @Sendable (DeviceChange) -> Input
  /// Returns the input for the device's conditions; `nil` for a machine that does not depend on
  /// them.
  var conditions: (@Sendable (DeviceConditions) -> Input)?
  private let known = KnownConditions()

  package init(
    reachability: any ReachabilityMonitor, lifecycle: any LifecycleMonitor,
    network: (any HTTPClient)?, conditions: (@Sendable (DeviceConditions) -> Input)? = nil,
    input: @escaping @Sendable (DeviceChange) -> Input
  ) {
    (self.reachability, self.lifecycle, self.network) = (reachability, lifecycle, network)
    (self.conditions, self.input) = (conditions, input)
  }

  /// Returns the inputs that describe the initial state of the device, as far as the state is
  /// known.
  func present() -> [Input] {
    let events = lifecycle.present()
    let changed = known.change { conditions in
      for event in events { conditions.note(event) }
    }
    var life = DeviceLife()
    let changes = events.flatMap { life.changes(for: $0) }
    return (changed.flatMap { changed in conditions.map { [$0(changed)] } } ?? [])
      + changes.map(input)
  }

  func reportReachability(_ post: (Input) async -> Void) async {
    for await change in reachability.changes() {
      await network?.forgetConnections()
      // The conditions come first, because work that starts on the new path depends on the path's
      // cost.
      await report({ $0.traits = change.traits }, post)
      await post(input(.reachability(change)))
    }
  }

  private func report(
    _ note: (inout DeviceConditions) -> Void, _ post: (Input) async -> Void
  ) async {
    guard let changed = known.change(note), let conditions else { return }
    await post(conditions(changed))
  }

  /// Reports the events of the lifecycle monitor until its stream ends or the task is cancelled.
  ///
  /// The grant of a notice is kept until `settled` has returned, so that the system does not
  /// suspend the app before the machine has handled the event.
  ///
  /// - Parameter settled: Waits until the effects of all posted inputs have been carried out, or
  ///   until no input is handled any more.
  func reportLifecycle(
    _ post: (Input) async -> Void, settled: () async -> Void
  ) async {
    var life = DeviceLife()
    for event in lifecycle.present() { _ = life.changes(for: event) }
    for await notice in lifecycle.changes() {
      await report(notice.event, &life, post)
      guard let grant = notice.grant else { continue }
      await settled()
      // The reference in `grant` keeps the time until here. Other listeners may hold further ones.
      withExtendedLifetime(grant) {}
    }
  }

  private func report(
    _ event: LifecycleEvent, _ life: inout DeviceLife, _ post: (Input) async -> Void
  ) async {
    switch event {
    case .protectedData, .lowPower:
      await report({ $0.note(event) }, post)
    case .foreground, .background, .willSleep, .didWake, .again, .terminate:
      await network?.forgetConnections()
      for change in life.changes(for: event) { await post(input(change)) }
    }
  }
}

extension Device where Input: LinkInput {
  package init(
    reachability: any ReachabilityMonitor, lifecycle: any LifecycleMonitor,
    network: (any HTTPClient)?, clock: any LinkClock
  ) {
    self.init(reachability: reachability, lifecycle: lifecycle, network: network) {
      Input(.device($0), at: clock.wall)
    }
  }
}

extension DeviceConditions {
  /// Updates the conditions with those that an event reports.
  fileprivate mutating func note(_ event: LifecycleEvent) {
    switch event {
    case .protectedData(let isAvailable): isProtectedDataAvailable = isAvailable
    case .lowPower(let isLow): isLowPower = isLow
    case .foreground, .background, .willSleep, .didWake, .again, .terminate: break
    }
  }
}

/// The latest conditions, combined from the reports of the reachability and lifecycle monitors.
private final class KnownConditions: Sendable {
  private let now = Mutex(DeviceConditions())

  /// Updates the conditions. Returns them if they changed.
  func change(_ note: (inout DeviceConditions) -> Void) -> DeviceConditions? {
    now.withLock { now in
      let before = now
      note(&now)
      return now == before ? nil : now
    }
  }
}

/// The state that distinguishes a background app from a sleeping device.
struct DeviceLife {
  private var isInBackground = false
  /// Whether the device is asleep.
  ///
  /// While the device sleeps, an app in the foreground counts as in the background.
  private var isAsleep = false

  /// Returns the changes that an event causes for a machine.
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
    case .terminate, .protectedData, .lowPower:
      return []
    }
  }
}
