public import HealthRelay
import HoldfastSocket
public import LinkCore
public import LinkHealth
public import LinkRuntime
public import LinkWire

/// The options of a relay.
public struct RelayConfiguration: Sendable {
  /// `https://host[:port]`, or `http://` to loopback; a path is kept as a prefix.
  public var server: String
  /// The name of this phone at the backend, which keeps the newer of two connections of one name.
  public var device: UUID128
  /// The time zone in which days begin.
  public var zone: ZoneRules
  /// The policy of the link, and whether a notification is shown while it is wanted.
  public var settings: RelaySettings
  /// A file that records every decision for `holdfast replay`; `nil` for none. It holds questions,
  /// never answers, codes or tokens. An earlier journal there is kept as FILE.old1, and so on.
  public var journal: String?
  /// The text of the notification; English by default.
  public var words: @Sendable (RelayStatus) -> HostNotification
  /// Called with each answer before it is sent, for an app that shows what is sent.
  public var watch: (@Sendable (RelayRequestID, HealthObject) -> Void)?

  /// Where assistants reach a backend of this package over MCP.
  public var assistants: String { ServerURL.http(server, "/mcp") }

  /// The backend's path for phones.
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
  /// The notification of a service that works in background.
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

/// The ports of a relay, each a real adapter or one of the test kit.
public struct RelayEnvironment: Sendable {
  /// Opens sockets.
  public var network: any SocketDialer & HTTPClient
  /// Stores the person's health data.
  public var store: any HealthReading
  /// Shows the notification of a running service.
  public var notifier: any Notifier
  /// Reports whether, and over which network path, the server can be reached.
  public var reachability: any ReachabilityMonitor
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// Time and waiting.
  public var clock: any LinkClock

  /// The ports of a relay; by default those of an app in front that shows no notification.
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

/// The file that keeps a relay's resume token beside its data, so that a pull finds it after the
/// app was ended.
///
/// It is for its owner only (0600). Where the system has a keychain, that is the better place.
public struct ResumeFile: Sendable, Hashable {
  private let secrets: SecretFiles

  /// `DIRECTORY/resume`.
  public var path: String { secrets.path(of: .resume) }

  /// Names the file in a directory. A token has some 40 bytes; more than 1,024 are refused.
  public init(in directory: String) { secrets = SecretFiles(in: directory) }

  /// Returns the token that is kept, if there is one.
  ///
  /// - Throws: `.denied` if others than its owner can read or change it, or it cannot be read.
  public func read() throws(StoreFailure) -> Secret? { try secrets.read(.resume) }

  /// Keeps a token in place of the one before; `nil` removes it. Durable when it returns.
  ///
  /// - Throws: `.denied` or `.full` if it cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) { try secrets.write(token, .resume) }
}
