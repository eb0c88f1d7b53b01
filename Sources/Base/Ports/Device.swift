public import HoldfastCore

/// A monitor of the device's network connectivity.
///
/// Contract: the first element arrives at once and contains the current state. Further elements
/// arrive only when the state has changed. An implementation does not poll.
public protocol ReachabilityMonitor: Sendable {
  func changes() -> AsyncStream<Reachability>
}

/// A monitor of the app's lifecycle, the device's sleep, and the device's conditions.
///
/// Contract: at its start, a stream reports whether protected data is available and whether power
/// saving is on, if the system provides these values. It then reports each change. All streams share
/// the grant of an event. The monitor itself keeps no notice after it has passed it to the streams,
/// and none of a stream that has ended.
public protocol LifecycleMonitor: Sendable {
  /// Returns a stream of the events, each with the time to act on it.
  func changes() -> AsyncStream<LifecycleNotice>

  /// Returns the events that are known without waiting, so that the first work can take them into
  /// account.
  ///
  /// An example is power saving that is on when the system launches the app in the background.
  /// Other events arrive from `changes()`.
  func present() -> [LifecycleEvent]
}

extension LifecycleMonitor {
  /// Returns no events.
  public func present() -> [LifecycleEvent] { [] }
}

/// A lifecycle event together with the execution time that the system grants for it.
///
/// A system may suspend the app as soon as the time has been given back. A listener therefore keeps
/// the notice until it has handled the event.
public struct LifecycleNotice: Sendable {
  /// The event.
  public var event: LifecycleEvent
  /// The time to act on the event; `nil` if the system does not limit it or grants none.
  ///
  /// It is given back when the last reference to it is released.
  public var grant: TimeGrant?

  /// Creates a notice.
  public init(_ event: LifecycleEvent, grant: TimeGrant? = nil) {
    (self.event, self.grant) = (event, grant)
  }
}

/// An event that the operating system reports about the app or the device.
public enum LifecycleEvent: Sendable, Hashable, Codable {
  case foreground
  case background
  /// The device is about to sleep. Sockets will not survive.
  case willSleep
  /// The device woke.
  case didWake
  /// An immediate retry is requested, even if attempts have ended.
  case again
  /// The app must terminate.
  case terminate
  /// The device was locked or unlocked. This determines whether protected files and health data can
  /// be read.
  case protectedData(available: Bool)
  /// The user turned power saving on or off. On Apple's platforms this is Low Power Mode.
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

  /// Creates conditions. By default, all deferrable work may run.
  package init(
    traits: PathTraits = [], isLowPower: Bool = false, isProtectedDataAvailable: Bool = true
  ) {
    self.traits = traits
    self.isLowPower = isLowPower
    self.isProtectedDataAvailable = isProtectedDataAvailable
  }
}

/// A service that shows the one ongoing notification that a background service must show.
///
/// Contract: `show` replaces the current notification. `remove` removes it, and has no effect if
/// none is shown. A notifier with buttons shows a notification with an action beside the others,
/// until the user has seen it.
public protocol Notifier: Sendable {
  /// Shows or replaces the notification. Returns false if no user can see it.
  func show(_ notification: HostNotification) async -> Bool
  /// Removes the notification.
  func remove() async
}

/// The content of a notification.
public struct HostNotification: Sendable, Hashable {
  /// The title, which should be a short line.
  public var title: String
  /// The text below the title.
  public var body: String
  /// The action that a button of the notification offers, or `nil`. A notifier without buttons
  /// ignores it.
  public var action: Action?

  /// An action that a notification offers.
  public struct Action: Sendable, Hashable {
    /// The name that the app receives when the user chooses the action. A notification replaces an
    /// earlier one whose action has the same name.
    public var name: String
    /// The title of the button.
    public var title: String

    /// Creates an action.
    public init(name: String, title: String) {
      self.name = name
      self.title = title
    }
  }

  /// Creates a notification. The texts must not contain secrets, because a locked screen may show
  /// them.
  public init(title: String, body: String, action: Action? = nil) {
    self.title = title
    self.body = body
    self.action = action
  }
}
