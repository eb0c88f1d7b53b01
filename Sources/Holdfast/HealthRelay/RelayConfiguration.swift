public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastHealth
public import HoldfastHealthRelay
public import HoldfastPorts
public import HoldfastRelayData
public import HoldfastSocket

/// The configuration of a relay and of pulls, with the parts of the device that they use.
public struct RelayConfiguration: Sendable {
  /// The URL of the server: `https://host[:port]`, or `http://` for the loopback interface. A path
  /// is used as a prefix.
  public var server: String
  /// The id with which this phone identifies itself to the backend. If two connections have the
  /// same id, the newer is kept.
  ///
  /// `HoldfastPlatform.phoneName(in:)` returns an id that stays the same.
  public var phone: UUID128
  /// The time zone that determines where days begin.
  public var zone: ZoneRules
  /// The policy of the link, and the setting for a notification while the relay is running.
  public var settings: RelaySettings
  /// The location of the person's health samples, which are only read.
  ///
  /// Another process may write to a directory at the same time. A source such as HealthKit is a
  /// `.store` of the app.
  public var storage: StorageLocation<any HealthReading>
  /// Whether `http://` may be used for a server on another device. Everyone on the network path can
  /// then read the health data and the token.
  ///
  /// Without it, such a URL is refused, also if the app supplies the network. A network that the
  /// app supplies can have a rule of its own, which must allow plaintext too.
  public var allowsPlaintext = false
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
  /// The notifier that shows the notification of a running service. By default, none is shown.
  public var notifier: any Notifier
  /// The parts of the device that the relay uses. A pull uses only the network and the clock.
  public var ports = DevicePorts()

  /// The URL at which assistants connect to a backend of this package over MCP.
  public var assistants: String { ServerURL.http(server, "/mcp") }

  /// The path of the backend's endpoint for phones.
  static let path = "/ws/phone"

  /// Returns the host of the server, and the network.
  ///
  /// - Throws: `.configuration` if the server's URL is not valid or needs `allowsPlaintext`;
  ///   `.network` if the device has run out of descriptors or threads.
  func open() throws(OpenError) -> (host: String, network: any SocketDialer & HTTPClient) {
    let host = try ServerURL.backendHost(server, ports, allowsPlaintext: allowsPlaintext)
    return (host, try ports.openNetwork(allowsPlaintext: allowsPlaintext))
  }

  /// Creates a configuration with the usual values of a profile.
  public init(
    server: String, phone: UUID128, zone: ZoneRules, profile: RelayProfile,
    storage: StorageLocation<any HealthReading>
  ) {
    self.server = server
    self.phone = phone
    self.zone = zone
    self.storage = storage
    settings = RelaySettings(profile)
    notification = { HostNotification($0) }
    notifier = TextNotifier { _ in }
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

extension StorageLocation<any HealthReading> {
  /// Returns the store, which is opened for reading unless the app supplies it.
  func open() async throws(StoreFailure) -> any HealthReading {
    switch self {
    case .directory(let path): return try await HoldfastPlatform.readableHealthStore(in: path)
    case .memory: return MemoryHealthStore()
    case .store(let own): return own
    }
  }
}
