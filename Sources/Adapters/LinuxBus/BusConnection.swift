#if os(Linux)
  import CSystemd
  import Glibc
  package import LinuxEvents

  /// The failure of an sd-bus call.
  package struct BusFailure: Error, CustomStringConvertible {
    package let call: String
    /// The `errno` of the failure.
    package let code: Int32

    package var description: String { unsafe "\(call): \(String(cString: strerror(code)))" }

    package static func check(_ result: Int32, _ call: String) throws(BusFailure) {
      if result < 0 { throw BusFailure(call: call, code: -result) }
    }
  }

  /// A connection to a D-Bus daemon; for one thread at a time, closed when dropped.
  @safe package final class BusConnection {
    /// The connection as the functions of sd-bus take it.
    package private(set) var bus: OpaquePointer?

    /// A daemon that a process can reach without an address.
    package enum Daemon: Sendable {
      case system
      /// The daemon of the user's session: `DBUS_SESSION_BUS_ADDRESS` or a socket in
      /// `XDG_RUNTIME_DIR`.
      case session
    }

    /// Connects to a daemon.
    ///
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

    /// Handles the received messages; returns once all of them are handled.
    package func handle() throws(BusFailure) {
      var handled: Int32 = 0
      repeat {
        handled = unsafe sd_bus_process(bus, nil)
        try BusFailure.check(handled, "process")
      } while handled > 0
    }

    /// Waits until there is something to handle; returns false once `stop` is sent.
    ///
    /// No time-out of sd-bus ends the wait, so no call may be pending.
    package func allowsWaiting(until stop: StopSignal) -> Bool {
      unsafe stop.allowsWaiting(
        for: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)))
    }

    deinit {
      unsafe sd_bus_flush_close_unref(bus)
    }
  }
#endif
