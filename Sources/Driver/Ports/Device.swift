public import LinkCore

/// A monitor of the device's network connectivity.
///
/// Contract: the first element arrives at once with the present state. Further elements arrive only
/// when the state has changed. Nothing is polled.
public protocol ReachabilityMonitor: Sendable {
  func changes() -> AsyncStream<Reachability>
}

/// A monitor of the app's lifecycle, the device's sleep, and its conditions.
///
/// Contract: a stream reports at its start, where the system provides it, whether protected data
/// are available and whether power is to be saved. It then reports each change.
public protocol LifecycleMonitor: Sendable {
  func changes() -> AsyncStream<LifecycleEvent>

  /// Returns the events that are known without waiting, so that immediate work can consider them.
  ///
  /// An example is an app that the system launched in the background while power is to be saved.
  /// Other events arrive with `changes()`.
  func present() -> [LifecycleEvent]
}

extension LifecycleMonitor {
  /// Returns no events.
  public func present() -> [LifecycleEvent] { [] }
}

/// An event that the operating system reports about the app or the device.
public enum LifecycleEvent: Sendable, Hashable, Codable {
  case foreground
  case background
  /// The device is about to sleep; sockets will not survive.
  case willSleep
  /// The device woke.
  case didWake
  /// A retry is requested at once, even after attempts have ended.
  case again
  /// The app must terminate.
  case terminate
  /// The device was locked or unlocked, which determines whether protected files and health data
  /// can be read.
  case protectedData(available: Bool)
  /// The user turned power saving on or off: Low Power Mode on Apple's platforms.
  case lowPower(Bool)
}

/// The conditions that decide whether deferrable work may run.
package struct DeviceConditions: Sendable, Hashable {
  /// The cost of the network path.
  package var traits: PathTraits
  /// Whether power saving is on.
  package var isLowPower: Bool
  /// Whether files that are protected while the device is locked can be read.
  package var isProtectedDataAvailable: Bool

  /// Creates conditions; the defaults allow everything.
  package init(
    traits: PathTraits = [], isLowPower: Bool = false, isProtectedDataAvailable: Bool = true
  ) {
    self.traits = traits
    self.isLowPower = isLowPower
    self.isProtectedDataAvailable = isProtectedDataAvailable
  }
}

/// A presenter of one ongoing notification, which a background service must show.
///
/// Contract: `show` replaces the notification. `remove` removes it, and does nothing if none is
/// shown.
public protocol Notifier: Sendable {
  /// Shows or replaces the notification. Returns false if no user can see it.
  func show(_ notification: HostNotification) async -> Bool
  /// Removes the notification.
  func remove() async
}

/// The content of a notification.
public struct HostNotification: Sendable, Hashable {
  /// The title, a short line.
  public var title: String
  /// The text below the title.
  public var body: String

  /// Creates a notification. Its texts must not contain secrets, since a locked screen may show
  /// them.
  public init(title: String, body: String) {
    self.title = title
    self.body = body
  }
}
