public import LinkCore

/// Watches the device's ways out.
///
/// Contract: the first element comes at once and says how things are; an element comes only when
/// the answer changed; nothing is polled.
public protocol ReachabilityMonitor: Sendable {
  func changes() -> AsyncStream<Reachability>
}

/// Watches whether the app is in front, whether the device sleeps, and what it has to spare.
///
/// Contract: whether protected data can be read and whether power is to be saved is told when a
/// stream begins, where the system knows it, and then at each change.
public protocol LifecycleMonitor: Sendable {
  func changes() -> AsyncStream<LifecycleEvent>

  /// Returns what is known without waiting, such as that the system launched the app in background
  /// while power is to be saved: work that begins at once must heed it. What is not known yet comes
  /// with `changes()`.
  func present() -> [LifecycleEvent]
}

extension LifecycleMonitor {
  /// Nothing is known without waiting.
  public func present() -> [LifecycleEvent] { [] }
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
  /// The device was locked or unlocked: whether files and health data that it protects can be read.
  case protectedData(available: Bool)
  /// The user asks to save power, or no longer: Low Power Mode on Apple's platforms.
  case lowPower(Bool)
}

/// What the device has to spare for work that can wait.
package struct DeviceConditions: Sendable, Hashable {
  /// What the way out costs.
  package var traits: PathTraits
  /// Whether the user asks to save power.
  package var isLowPower: Bool
  /// Whether what the device protects while it is locked can be read.
  package var isProtectedDataAvailable: Bool

  /// Conditions; by default those under which everything is allowed.
  package init(
    traits: PathTraits = [], isLowPower: Bool = false, isProtectedDataAvailable: Bool = true
  ) {
    self.traits = traits
    self.isLowPower = isLowPower
    self.isProtectedDataAvailable = isProtectedDataAvailable
  }
}

/// Shows one lasting notification, as a service that runs in background must.
///
/// Contract: `show` replaces what is shown; `remove` takes it away, and does nothing without one.
public protocol Notifier: Sendable {
  /// Shows it, or changes the one that is shown; false when nobody can see it.
  func show(_ notification: HostNotification) async -> Bool
  /// Takes it away.
  func remove() async
}

/// What a notification says.
public struct HostNotification: Sendable, Hashable {
  /// One short line.
  public var title: String
  /// What else there is to say.
  public var body: String

  /// A notification; nothing in it is a secret, since it may stand on a locked screen.
  public init(title: String, body: String) {
    self.title = title
    self.body = body
  }
}
