#if os(Linux)
  import HoldfastCore
  import HoldfastLinuxDevice

  /// The reason why BlueZ failed to connect, classified by the action that should follow.
  enum ConnectFault: Sendable, Hashable {
    /// A temporary fault. BlueZ reports it for any socket error.
    case transient(String)
    /// Another connect is in progress. It can last forever if its caller has crashed.
    case inProgress
    /// The bus or the daemon failed.
    case bus(String)
    /// The peripheral did not respond in time.
    case timeout
    /// The adapter has no free connection, or the device's object no longer exists.
    case gone
    /// The services could not be read.
    case gatt(String)
    case other(String)

    /// Creates the fault for a refusal of `Connect`.
    init(_ refusal: BusRefusal) {
      let transients = ["le-connection-abort-by-local", "br-connection-canceled"]
      if transients.contains(where: refusal.text.contains) {
        self = .transient(refusal.text)
        return
      }
      switch (refusal.name, refusal.text) {
      case ("org.bluez.Error.InProgress", _): self = .inProgress
      case (_, let text) where text.contains("concurrent-connection-limit"): self = .gone
      case (_, let text) where text.contains("le-connection-timeout"): self = .timeout
      case (_, let text) where text.contains("gatt"): self = .gatt(text)
      case ("org.freedesktop.DBus.Error.UnknownObject", _),
        ("org.freedesktop.DBus.Error.UnknownMethod", _), ("org.bluez.Error.DoesNotExist", _):
        self = .gone
      case (let name, _) where name.hasPrefix("org.freedesktop.DBus.Error."):
        self = .bus(refusal.description)
      case _: self = .other(refusal.description)
      }
    }

    /// The failure that is reported for a ticket when there are no more retries.
    var failure: LinkFailure {
      switch self {
      case .timeout: .timeout(.connect)
      case .gone: .local(detail: "BlueZ has no connection left, or forgot the device")
      case .inProgress: .local(detail: "BlueZ is still busy with an earlier connect")
      case .transient(let text), .bus(let text), .gatt(let text), .other(let text):
        .local(detail: text)
      }
    }
  }

  /// The retry rules of connects: the number of retries, the pauses, and when a device is removed.
  ///
  /// The numbers are those of bleak-retry-connector, which Home Assistant has used successfully:
  /// the fourth real failure or the ninth temporary failure is final.
  struct ConnectRetry: Sendable, Hashable {
    static let realLimit = 4
    static let transientLimit = 9
    /// The maximum duration of one `Connect`, which is also the kernel's limit.
    static let limit = Duration.seconds(20)
    /// The maximum duration of a disconnect.
    static let clearing = Duration.seconds(5)
    /// The pause before the standby may connect again after the final failure.
    static let floor = Duration.seconds(30)

    private(set) var real = 0
    private(set) var transient = 0
    private(set) var busy = 0

    /// The action after a failure.
    enum Outcome: Sendable, Hashable {
      /// The connect is retried after a pause. If it is stuck, the device is removed from BlueZ
      /// first.
      case again(after: Duration, removes: Bool)
      case giveUp
    }

    /// Counts a failure and returns the action that follows.
    ///
    /// - Parameter isBonded: Whether the device is paired. Removing it would force the user to pair
    ///   again.
    mutating func next(after fault: ConnectFault, isBonded: Bool) -> Outcome {
      busy = fault == .inProgress ? busy + 1 : 0
      switch fault {
      case .transient, .inProgress: transient += 1
      case .bus, .timeout, .gone, .gatt, .other: real += 1
      }
      guard real < Self.realLimit, transient < Self.transientLimit else { return .giveUp }
      return .again(after: Self.pause(after: fault), removes: busy >= 2 && !isBonded)
    }

    private static func pause(after fault: ConnectFault) -> Duration {
      switch fault {
      case .transient, .inProgress, .bus: .milliseconds(250)
      case .timeout: .milliseconds(500)
      case .gone: .seconds(4)
      case .gatt: .seconds(1)
      case .other: .milliseconds(100)
      }
    }
  }
#endif
