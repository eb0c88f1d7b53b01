public import HoldfastPorts

#if os(Linux)
  import Foundation
  import HoldfastDriver
  import HoldfastLinuxEvents

  /// A monitor of whether the session is locked, and of power saving.
  ///
  /// The lock state is `LockedHint` of logind. Power saving is on if the profile of
  /// power-profiles-daemon is `power-saver`, or if UPower reports a low battery. A state that no
  /// service reports causes no event. If there is no system bus, the stream ends immediately.
  public struct DeviceState: LifecycleMonitor {
    private let address: String?

    /// Creates a monitor.
    ///
    /// - Parameter address: A D-Bus address; `nil` for the system bus.
    public init(address: String? = nil) { self.address = address }

    /// Returns the current states and then each change. If more than 64 events are unread, the
    /// oldest are
    /// dropped.
    public func changes() -> AsyncStream<LifecycleNotice> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(64))
      let stop = StopSignal()
      continuation.onTermination = { _ in stop.send() }
      let address = address
      // sd-bus objects belong to one thread. This thread sleeps until a message arrives from the
      // bus.
      let thread = Thread {
        var last: [LifecycleEvent] = []
        try? BusWatch(address: address, Self.properties).listen(until: stop) { values in
          let events = Self.events(of: values)
          for event in events where !last.contains(event) {
            continuation.yield(LifecycleNotice(event))
          }
          last = events
        }
        continuation.finish()
      }
      thread.name = "device state"
      thread.start()
      return stream
    }

    /// The path `auto` denotes the caller's session, or the session in the foreground.
    private static let locked = BusProperty(
      "org.freedesktop.login1", "/org/freedesktop/login1/session/auto",
      "org.freedesktop.login1.Session", "LockedHint", .boolean)
    private static let profile = BusProperty(
      "org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles",
      "org.freedesktop.UPower.PowerProfiles", "ActiveProfile", .text)
    private static let battery = BusProperty(
      "org.freedesktop.UPower", "/org/freedesktop/UPower/devices/DisplayDevice",
      "org.freedesktop.UPower.Device", "WarningLevel", .number)
    static let properties = [locked, profile, battery]
    /// The levels `low`, `critical` and `action` of UPower's `WarningLevel`.
    private static let warnings: ClosedRange<UInt32> = 3...5

    /// Converts the values of the properties to events. A missing value causes no event.
    static func events(of values: [BusProperty: BusValue]) -> [LifecycleEvent] {
      var events: [LifecycleEvent] = []
      if case .boolean(let isLocked)? = values[locked] {
        events.append(.protectedData(available: !isLocked))
      }
      var isLow: Bool?
      if case .text(let name)? = values[profile] { isLow = name == "power-saver" }
      if case .number(let level)? = values[battery] {
        isLow = (isLow ?? false) || warnings.contains(level)
      }
      if let isLow { events.append(.lowPower(isLow)) }
      return events
    }
  }
#endif
