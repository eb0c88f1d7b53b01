public import HealthRelay
public import LinkCore
public import LinkHealth
public import LinkRuntime
public import LinkWire

/// Which backend an assistant reaches this phone by, and how this app hosts it.
public struct RelayConfiguration: Sendable {
  /// `https://host[:port]`, or `http://` to loopback; a path is kept as a prefix.
  public var server: String
  /// Names this phone to the backend: of two connections with one name the newer one stays.
  public var device: UUID128
  /// The time zone in which days begin.
  public var zone: ZoneRules
  /// When to connect, what to do when that fails, and whether a notification stands meanwhile.
  public var settings: RelaySettings
  /// A file that records every decision for `holdfast replay`; `nil` for none. It holds questions,
  /// never answers, codes or tokens. An earlier journal there is kept as FILE.old1, and so on.
  public var journal: String?
  /// What the notification says; the English words unless the app has its own.
  public var words: @Sendable (RelayStatus) -> HostNotification
  /// Is shown each answer before it leaves, for an app that lets people see what is told.
  public var watch: (@Sendable (RelayRequestID, HealthObject) -> Void)?

  /// The path at which the backend takes phones.
  static let path = "/ws/phone"

  /// A configuration with the seed's numbers for a profile.
  public init(
    server: String, device: UUID128, zone: ZoneRules, profile: RelayProfile,
    journal: String? = nil
  ) {
    self.server = server
    self.device = device
    self.zone = zone
    settings = RelaySettings(profile)
    self.journal = journal
    words = { HostNotification($0) }
  }
}

extension HostNotification {
  /// What a person must know of a service that works behind their back.
  init(_ status: RelayStatus) {
    let body =
      switch status.state {
      case .starting: "Connecting."
      case .running: "An assistant that you paired can ask."
      case .reconnecting: "The connection was lost; trying again."
      case .idle, .error, .stopping: "Not connected."
      }
    self.init(title: "Health data for your assistant", body: body)
  }
}

/// What a relay stands on: the ports, each a real adapter or one of the test kit.
public struct RelayEnvironment: Sendable {
  /// Opens sockets.
  public var network: any SocketDialer & HTTPClient
  /// Keeps the person's health data.
  public var store: any HealthStore
  /// Shows that the service is up.
  public var notifier: any Notifier
  /// Tells whether and which way the server can be reached.
  public var reachability: any ReachabilityMonitor
  /// Tells whether a person looks, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// The time.
  public var clock: any LinkClock

  /// The ports of a relay; without more, those of an app in front that shows no notification.
  public init(
    network: any SocketDialer & HTTPClient, store: any HealthStore,
    notifier: any Notifier = TextNotifier { _ in },
    reachability: any ReachabilityMonitor = AlwaysReachable(),
    lifecycle: any LifecycleMonitor = AlwaysForeground(), clock: any LinkClock = BootClock()
  ) {
    self.network = network
    self.store = store
    self.notifier = notifier
    self.reachability = reachability
    self.lifecycle = lifecycle
    self.clock = clock
  }
}
