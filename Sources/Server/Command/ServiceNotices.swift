import HoldfastBackend
import HoldfastCommandKit
import HoldfastLinuxDevice
import HoldfastPorts

/// The reports of `serve` to the service manager that has started it, such as systemd.
struct ServiceNotices: Sendable {
  private let manager = ServiceManager()
  private let status: String

  /// Creates reports of a backend that listens at an address.
  init(at address: String) {
    status = "serves at \(address)"
  }

  /// Uses the sockets that the service manager has passed, if any.
  static func inherit(into configuration: inout BackendConfiguration) throws(CommandFailure) {
    guard let sockets = ServiceManager().passedSockets() else {
      throw CommandFailure(
        .failed, "LISTEN_FDS in the environment is not a number of open descriptors",
        remedy: "unset LISTEN_PID, or correct it")
    }
    do throws(BackendError) {
      for socket in sockets {
        guard socket.isListening else {
          throw .inherited(
            detail: "a socket with the name \"\(socket.name)\" that does not listen; use "
              + "ListenStream= and Accept=no")
        }
        try configuration.inherit(.init(descriptor: socket.descriptor, name: socket.name))
      }
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Reports that the backend has started. Returns the task that reports that it is alive; `nil` if
  /// no such reports are expected.
  func begin(_ backend: Backend) -> Task<Void, any Error>? {
    manager.report(.ready(status))
    guard let limit = manager.watchdog else { return nil }
    return Task { [manager] in
      let clock = BootClock()
      while true {
        // A loop that hangs never answers, so the reports end.
        try await backend.turn()
        manager.keepAlive()
        // Half of the limit is what sd_watchdog_enabled(3) recommends.
        try await clock.wait(until: clock.now.advanced(by: limit / 2))
      }
    }
  }

  /// Reloads the files of the backend. The log has the reasons of failures.
  func reload(_ backend: Backend) async {
    manager.report(.reloading("reloads its files"))
    do throws(BackendError) {
      try await backend.reload()
      manager.report(.ready(status))
    } catch {
      manager.report(.ready("\(status); the last reload failed, see the log"))
    }
  }

  /// Reports that the backend ends.
  func stop() {
    manager.report(.stopping("asks its clients to connect again, and ends"))
  }
}
