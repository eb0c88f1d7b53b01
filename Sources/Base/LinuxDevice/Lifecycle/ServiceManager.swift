#if os(Linux)
  import CHoldfastSystemd
  import Glibc

  /// The service manager that has started this process, such as systemd.
  ///
  /// It follows the protocols of sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3). Without
  /// the variables of these protocols in the environment, it does nothing.
  public struct ServiceManager: Sendable {
    /// Creates a value for the environment of this process.
    public init() {}

    /// A state of the service, with a line for people.
    public enum State: Sendable, Hashable {
      /// The service has started, or has reloaded its files.
      case ready(String)
      /// The service reloads its files. `ready` follows.
      case reloading(String)
      /// The service is about to end.
      case stopping(String)

      /// The message of sd_notify(3).
      ///
      /// - Parameter now: The microseconds of CLOCK_MONOTONIC, by which systemd assigns the end of a
      ///   reload to its request.
      func message(at now: UInt64) -> String {
        switch self {
        case .ready(let status): "READY=1\nSTATUS=\(Self.line(status))"
        case .reloading(let status):
          "RELOADING=1\nMONOTONIC_USEC=\(now)\nSTATUS=\(Self.line(status))"
        case .stopping(let status): "STOPPING=1\nSTATUS=\(Self.line(status))"
        }
      }

      /// Returns a text without line breaks, which would begin another variable.
      private static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
      }
    }

    /// Reports a state. Returns false if the service manager cannot be reached.
    @discardableResult
    public func report(_ state: State) -> Bool {
      var time = timespec()
      unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      let now = UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
      return unsafe sd_notify(0, state.message(at: now)) >= 0
    }

    /// Reports that the service is alive. Without a report within `watchdog`, the service manager
    /// ends the process.
    public func keepAlive() {
      unsafe sd_notify(0, "WATCHDOG=1")
    }

    /// The maximum time between two reports of `keepAlive`; `nil` if none are expected.
    public var watchdog: Duration? {
      var limit: UInt64 = 0
      guard unsafe sd_watchdog_enabled(0, &limit) > 0 else { return nil }
      return .microseconds(Int64(clamping: limit))
    }

    /// A socket that the service manager has passed to the process.
    public struct PassedSocket: Sendable, Hashable {
      /// The descriptor, which child processes do not inherit.
      public var descriptor: Int32
      /// The name in FileDescriptorName= of the socket's unit; the unit's own name by default.
      public var name: String
      /// Whether the socket listens for connections of a byte stream.
      public var isListening: Bool
    }

    /// Returns the sockets that were passed to the process, in the order of the service manager;
    /// `nil` if the environment describes them wrongly.
    public func passedSockets() -> [PassedSocket]? {
      var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
      let count = unsafe sd_listen_fds_with_names(0, &names)
      defer { unsafe free(names) }
      guard count >= 0 else { return nil }
      return (0..<Int(count)).map { index in
        let name = unsafe names?[index]
        defer { unsafe free(name) }
        let descriptor = SD_LISTEN_FDS_START + Int32(index)
        let kind = Int32(SOCK_STREAM.rawValue)
        return PassedSocket(
          descriptor: descriptor, name: unsafe name.map { unsafe String(cString: $0) } ?? "",
          isListening: sd_is_socket(descriptor, AF_UNSPEC, kind, 1) > 0)
      }
    }
  }
#endif
