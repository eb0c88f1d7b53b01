import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

/// Tells an app that went to the background from a device that fell asleep.
struct DeviceLife {
  private var isInBackground = false
  /// Sleep is a background that nobody chose; waking ends it.
  private var isAsleep = false

  mutating func inputs(
    for event: LifecycleEvent, at wall: Timestamp
  ) -> [StreamModel.Input] {
    switch event {
    case .foreground:
      (isInBackground, isAsleep) = (false, false)
      return [.lifecycle(.foreground, at: wall)]
    case .background:
      isInBackground = true
      return [.lifecycle(.background, at: wall)]
    case .willSleep:
      isAsleep = true
      return isInBackground ? [] : [.lifecycle(.background, at: wall)]
    case .didWake:
      defer { isAsleep = false }
      let returns = isAsleep && !isInBackground
      return (returns ? [.lifecycle(.foreground, at: wall)] : []) + [.woke(at: wall)]
    case .terminate:
      return []
    }
  }
}
