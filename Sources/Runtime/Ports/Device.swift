public import LinkCore

/// Watches the device's ways out.
///
/// Contract: the first element comes at once and says how things are; an element comes only when
/// the answer changed; nothing is polled.
public protocol ReachabilityMonitor: Sendable {
  func changes() -> AsyncStream<Reachability>
}

/// Watches whether the app is in front, and whether the device went to sleep.
public protocol LifecycleMonitor: Sendable {
  func changes() -> AsyncStream<LifecycleEvent>
}

/// What the operating system says about the app.
public enum LifecycleEvent: Sendable, Hashable, Codable {
  case foreground
  case background
  /// The device is about to sleep; sockets will not survive.
  case willSleep
  /// The device is awake again.
  case didWake
  /// The app is asked to try again at once, whatever it had given up.
  case again
  /// The app is asked to end.
  case terminate
}
