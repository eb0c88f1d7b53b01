public import HoldfastHealthRelay
import HoldfastSocket
public import HoldfastCore
public import HoldfastHealth
public import HoldfastFeaturePorts
public import HoldfastPorts
public import HoldfastWire

/// The configuration of a relay.
public struct RelayConfiguration: Sendable {
  /// The URL of the server: `https://host[:port]`, or `http://` for the loopback interface. A path
  /// is used as a prefix.
  public var server: String
  /// The id with which this phone identifies itself to the backend. If two connections have the
  /// same id, the newer is kept.
  public var device: UUID128
  /// The time zone that determines where days begin.
  public var zone: ZoneRules
  /// The policy of the link, and the setting for a notification while the relay is running.
  public var settings: RelaySettings
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  ///
  /// The journal contains questions, but never answers, codes or tokens. Earlier journals at this
  /// path are kept as FILE.old1, FILE.old2, and so on.
  public var journal: String?
  /// A closure that returns the text of the notification. The default text is English.
  public var notification: @Sendable (RelayStatus) -> HostNotification
  /// A closure that is called with each answer before it is sent, for apps that show the data that
  /// they send.
  public var watch: (@Sendable (RelayRequestID, HealthObject) -> Void)?

  /// The URL at which assistants connect to a backend of this package over MCP.
  public var assistants: String { ServerURL.http(server, "/mcp") }

  /// The path of the backend's endpoint for phones.
  static let path = "/ws/phone"

  /// Creates a configuration with the values that docs/seeds/000.md defines for a profile.
  public init(
    server: String, device: UUID128, zone: ZoneRules, profile: RelayProfile,
    journal: String? = nil
  ) {
    self.server = server
    self.device = device
    self.zone = zone
    settings = RelaySettings(profile)
    self.journal = journal
    notification = { HostNotification($0) }
  }
}

extension HostNotification {
  /// Creates the notification of a relay that runs in the background.
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

/// The ports of a relay. Each port is an adapter, or a fake from the test kit.
public struct RelayEnvironment: Sendable {
  /// The network that opens sockets.
  public var network: any SocketDialer & HTTPClient
  /// The store of the person's health data.
  public var store: any HealthReading
  /// The notifier that shows the notification of a running service.
  public var notifier: any Notifier
  /// The monitor that reports reachability and the network path.
  public var reachability: any ReachabilityMonitor
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// The clock of the relay.
  public var clock: any LinkClock

  /// Creates the ports. The defaults are those of an app in the foreground without a notification.
  public init(
    network: any SocketDialer & HTTPClient, store: any HealthReading,
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

/// The file that stores a relay's resume token, so that a pull finds it after the app has ended.
///
/// Only its owner can read the file (0600). If the system has a keychain, use the keychain instead.
public struct ResumeFile: Sendable, Hashable {
  private let secrets: SecretFiles

  /// The path of the file, `DIRECTORY/resume`.
  public var path: String { secrets.path(of: .resume) }

  /// Creates a reference to the file in a directory.
  ///
  /// A token has about 40 bytes. Reading more than 1,024 bytes fails.
  public init(in directory: String) { secrets = SecretFiles(in: directory) }

  /// Returns the stored token, if there is one.
  ///
  /// - Throws: `.denied` if the file cannot be read, or if users other than its owner can read or
  ///   change it.
  public func read() throws(StoreFailure) -> Secret? { try secrets.read(.resume) }

  /// Stores a token in place of the previous one, or removes it if `token` is `nil`.
  ///
  /// The change is durable when the call returns.
  ///
  /// - Throws: `.denied` or `.full` if the file cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) { try secrets.write(token, .resume) }
}
