#if os(Linux)
  import CSystemd
  import Glibc
  package import LinuxEvents

  /// What a call of sd-bus answered.
  package struct BusFailure: Error, CustomStringConvertible {
    package let call: String
    /// An `errno`.
    package let code: Int32

    package var description: String { unsafe "\(call): \(String(cString: strerror(code)))" }

    package static func check(_ result: Int32, _ call: String) throws(BusFailure) {
      if result < 0 { throw BusFailure(call: call, code: -result) }
    }
  }

  /// A connection to a D-Bus daemon; for one thread at a time, closed when dropped.
  @safe package final class BusConnection {
    /// What the functions of sd-bus take.
    package private(set) var bus: OpaquePointer?

    /// The daemons that a process knows without an address.
    package enum Daemon: Sendable {
      case system
      /// That of the user's session; `DBUS_SESSION_BUS_ADDRESS` or a socket in `XDG_RUNTIME_DIR`.
      case session
    }

    /// - Parameter address: A D-Bus address; `nil` is the daemon's own.
    package init(address: String?, or daemon: Daemon) throws(BusFailure) {
      if let address {
        try BusFailure.check(unsafe sd_bus_new(&bus), "new")
        try BusFailure.check(unsafe sd_bus_set_address(bus, address), "address")
        try BusFailure.check(unsafe sd_bus_set_bus_client(bus, 1), "client")
        try BusFailure.check(unsafe sd_bus_start(bus), "connect")
        return
      }
      switch daemon {
      case .system: try BusFailure.check(unsafe sd_bus_open_system(&bus), "system bus")
      case .session: try BusFailure.check(unsafe sd_bus_open_user(&bus), "session bus")
      }
    }

    /// Handles what has come in, and returns once the process has read all of it.
    package func handle() throws(BusFailure) {
      var handled: Int32 = 0
      repeat {
        handled = unsafe sd_bus_process(bus, nil)
        try BusFailure.check(handled, "process")
      } while handled > 0
    }

    /// Waits until there is something to handle, and returns `false` once told to stop.
    ///
    /// No timeout of sd-bus's own ends it: no call may be pending.
    package func allowsWaiting(until stop: StopSignal) -> Bool {
      unsafe stop.allowsWaiting(
        for: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)))
    }

    deinit {
      unsafe sd_bus_flush_close_unref(bus)
    }
  }
#endif
