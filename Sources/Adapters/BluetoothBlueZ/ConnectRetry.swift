#if os(Linux)
  import LinkCore
  import LinuxBus

  /// Why a connect of BlueZ failed, as far as it decides what to do next.
  enum ConnectFault: Sendable, Hashable {
    /// Something that goes away by itself; BlueZ says so of any error of a socket.
    case transient(String)
    /// Another connect goes on; after a crash of its caller it can last for ever.
    case inProgress
    /// The bus or the daemon did not do its part.
    case bus(String)
    /// The peripheral did not answer in time.
    case timeout
    /// The adapter has no connection left, or the device's object vanished.
    case gone
    /// Services could not be read.
    case gatt(String)
    case other(String)

    /// What an answer to `Connect` means.
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

    /// What a ticket is told when no more is tried.
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

  /// The regime of connects: how often, after which pause, and when a device is removed.
  ///
  /// The numbers are those of bleak-retry-connector, which are proven by the users of Home
  /// Assistant: four failures that count and nine that go away by themselves.
  struct ConnectRetry: Sendable, Hashable {
    static let realLimit = 4
    static let transientLimit = 9
    /// How long one `Connect` may take; it is the kernel's limit, too.
    static let limit = Duration.seconds(20)
    /// How long a disconnect is waited for.
    static let clearing = Duration.seconds(5)
    /// The pause before the standby may connect again after all of that.
    static let floor = Duration.seconds(30)

    private(set) var real = 0
    private(set) var transient = 0
    private(set) var busy = 0

    /// What follows a failure.
    enum Verdict: Sendable, Hashable {
      /// Another try after a pause; what BlueZ knows of the device is removed first if it is stuck.
      case again(after: Duration, removes: Bool)
      case giveUp
    }

    /// - Parameter isBonded: whether removing the device would cost the user a pairing.
    mutating func next(after fault: ConnectFault, isBonded: Bool) -> Verdict {
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
