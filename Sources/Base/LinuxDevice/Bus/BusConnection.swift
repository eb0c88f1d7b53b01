#if os(Linux)
  import CHoldfastSystemd
  import Glibc
  package import HoldfastLinuxEvents

  /// The failure of an sd-bus call.
  package struct BusFailure: Error, CustomStringConvertible {
    package let call: String
    /// The failure's `errno`.
    package let code: Int32

    package var description: String { unsafe "\(call): \(String(cString: strerror(code)))" }

    package static func check(_ result: Int32, _ call: String) throws(BusFailure) {
      if result < 0 { throw BusFailure(call: call, code: -result) }
    }
  }

  /// A connection to a D-Bus daemon.
  ///
  /// An instance must be used by one thread at a time. It closes when the last reference is
  /// released.
  @safe package final class BusConnection {
    /// The connection in the form that sd-bus functions take.
    package private(set) var bus: OpaquePointer?

    /// A daemon that a process can reach without knowing its address.
    package enum Daemon: Sendable {
      case system
      /// The daemon of the user's session, at `DBUS_SESSION_BUS_ADDRESS` or at a socket in
      /// `XDG_RUNTIME_DIR`.
      case session
    }

    /// Connects to a daemon.
    ///
    /// - Parameter address: A D-Bus address; `nil` for the daemon's own.
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

    /// Handles all received messages.
    package func handle() throws(BusFailure) {
      var handled: Int32 = 0
      repeat {
        handled = unsafe sd_bus_process(bus, nil)
        try BusFailure.check(handled, "process")
      } while handled > 0
    }

    /// Waits until there is a message to handle. Returns false once `stop` has been sent.
    ///
    /// Time-outs of sd-bus do not end the wait, so no call may be pending.
    package func allowsWaiting(until stop: StopSignal) -> Bool {
      unsafe stop.allowsWaiting(
        for: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)))
    }

    deinit {
      unsafe sd_bus_flush_close_unref(bus)
    }
  }
#endif
