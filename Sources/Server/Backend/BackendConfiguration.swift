public import HoldfastAssistants
import HoldfastCore
public import HoldfastMessageServer
import HoldfastNodeBus
public import HoldfastPorts
public import HoldfastRelayServer
public import HoldfastServerParts
import HoldfastServerSockets
public import HoldfastSessionServer
public import HoldfastSyncServer

/// The services of a backend. A request's path is matched against their routes in this order.
let backendServices: [any Service.Type] = [
  ShopService.self,
  ImageService.self,
  RelayService.self,
  SessionService.self,
  SyncService.self,
]

/// The address, the data directory and the policies of a backend.
public struct BackendConfiguration: Sendable {
  /// The host name or address on which the backend listens.
  ///
  /// `localhost` stands for the loopback addresses of both families, and `::` for every address.
  public var host = "127.0.0.1"
  /// The TCP port. If it is 0, the kernel chooses a port.
  public var port: UInt16 = 0
  /// The directory of the messages, the token secret and the list of removed members. It is created
  /// if it is missing.
  public var dataDirectory: String
  /// The location of the message database; `nil` for `messages.sqlite` in the data directory.
  public var database: Database?
  /// The URL of a PostgreSQL database, such as `postgres://user@host1,host2/name`, for messages, the
  /// relay, sessions and synced samples; `nil` for SQLite files. It must not contain a password.
  ///
  /// Unfinished uploads and secrets stay in the data directory. It has a copy of the list of removed
  /// members, which all nodes share.
  public var databaseURL: String?
  /// The name of this node among those over the same database; `nil` for the name of the host.
  public var nodeName: String?
  /// The numeric address and port at which this node takes requests that other nodes pass on, such
  /// as `10.0.0.1:8788`; `nil` for none. The connections are not encrypted.
  ///
  /// A node that has such an address passes requests for the relay, assistants and sessions on to
  /// the node that runs them. Otherwise it refuses them.
  public var nodeAddress: String?
  /// The address for metrics and probes, as `127.0.0.1:9090` or `unix:PATH`; `nil` if `/metrics` is at
  /// the address for clients. The connections are not encrypted.
  public var metricsAddress: String?
  /// The limit on open descriptors of this process, which the start compares with the ceilings; `nil`
  /// for no comparison.
  public var descriptorLimit: UInt64?
  /// Whether `lowerCeilings` has lowered a maximum, which the start then logs.
  public internal(set) var hasLoweredCeilings = false
  /// The URLs of NATS servers for the reports between nodes over the same database, such as
  /// `nats://host1:4222,nats://host2:4222`; `nil` for `NOTIFY` of the database. The credentials are in
  /// the environment.
  public var bus: String?
  /// The address for operators; `nil` for none.
  public var admin: AdminAddress?
  /// The function that an operator's request to drain calls, once; `nil` to drain and stop this
  /// backend.
  public var drain: (@Sendable () -> Void)?
  /// Whether to begin a new epoch for the stored messages and the synced samples. Set this once,
  /// after restoring a backup.
  public var beginsNewEpoch = false
  /// The certificate for TLS. If it is `nil`, the backend does not use TLS.
  public var certificate: Certificate?
  /// The policy of shop messages.
  public var policy = ShopServerPolicy()
  /// The limits on the age and the size of stored messages.
  public var retention = RetentionPolicy()
  /// The policy of the relay.
  public var relay = RelayServerPolicy()
  /// The policy of the assistants' endpoints.
  ///
  /// If `host` is a loopback address, requests for other hosts are refused. Web pages that the
  /// origin policy refuses cannot open a phone's socket either.
  public var assistants = MCPPolicy()
  /// The address under which clients reach the backend, such as `https://relay.example`; `nil` if
  /// assistants do not sign in with OAuth.
  public var publicURL: PublicURL?
  /// The policy of the sign-in with OAuth, which needs `publicURL`.
  public var oauth = OAuthPolicy()
  /// The client that fetches the metadata of OAuth clients; `nil` for one that connects only to
  /// public addresses.
  var documentClient: (any HTTPClient)?
  /// The requests to the operator's own backend about sockets and posts.
  public var hooks = HookConfiguration()
  /// The client that sends these requests; `nil` for one over the network.
  var hookClient: (any HTTPClient)?
  /// The policy of sessions.
  public var session = SessionServerPolicy()
  /// The path of the file with the key that session clients present; `nil` for `session-key` in the
  /// data directory. The file is created if it is missing.
  public var sessionKeyFile: String?
  /// The shell command that runs for each prompt. If it is `nil`, each prompt is answered with its
  /// own text.
  public var sessionHandler: String?
  /// The policy of health sync.
  public var sync = SyncServerPolicy()
  /// The path of the file with the secrets of health sync; `nil` for `sync-secrets` in the data
  /// directory.
  public var syncSecretFile: String?
  /// The maximum size of a message from a client, in bytes. A larger message closes the socket with
  /// code 1009.
  public var maxClientMessageBytes = 65_536
  /// The number of queued bytes above which a socket counts as a slow reader. The default is about
  /// 25 frames of 10 KiB.
  public var maxQueuedBytes = 262_144
  /// The maximum number of connections from one address that are not open sockets. Further
  /// connections are closed. For IPv6, the limit applies to each /64 network.
  public var maxConnectionsPerAddress = 256
  /// The proxies that are trusted to report the addresses of their clients.
  ///
  /// Limits by address apply to the reported addresses. The proxies' own connections are not
  /// limited.
  public var proxies = TrustedProxies()
  /// The period over which clients should spread their reconnects when the backend drains.
  public var drainWindow = Duration.seconds(5)
  /// The maximum time that `/healthz` waits for the checks of the stores.
  var checkLimit = StoreChecks.limit
  /// The time limit of each step of a connection, such as a request or its answer; `nil` for the
  /// usual limits.
  var stepLimit: Duration?
  /// The maximum time for which the end waits until the operator's backend has got its reports.
  var reportLimit = Duration.seconds(2)
  /// The time between two looks at the files of the certificate.
  var certificateInterval = CertificateReloads.interval
  /// The sockets that the service manager has passed.
  var inherited = InheritedSockets()
  /// The identity provider whose tokens are accepted beside the backend's own; `nil` for none.
  public var identity: IdentityConfiguration?
  /// The key that signs tokens, with at least 32 bytes; `nil` for the key in the data directory.
  public var secret: [UInt8]?
  /// The format of the log.
  public var logFormat = LogFormat.json
  /// The least important level that is logged.
  public var logLevel = LogLevel.debug
  /// The form in which the log shows the addresses of clients.
  public var logAddresses = LogAddresses.prefix
  /// The share of the requests with a status below 400 that are logged at the level `info`; `nil` to
  /// log all of them at the level `debug`. Other requests are always logged at `info`.
  public var logSample: LogSample?
  /// The function that receives each line of the log, without the line ending; `nil` for no log.
  ///
  /// The function is called from one task, in order. At most 1,024 lines are queued for it. Further
  /// lines are dropped and counted.
  public var log: (@Sendable (String) -> Void)?

  /// Creates a configuration for plain TCP on 127.0.0.1, with a port that the kernel chooses.
  public init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
  }

  /// Returns whether a text is an address for `nodeAddress`, which other machines can connect to.
  public static func isNodeAddress(_ text: String) -> Bool {
    guard let address = SocketEndpoint(text).flatMap({ NetworkAddress($0.host) }) else {
      return false
    }
    return !address.isUnspecified && !address.isMulticast
  }

  /// Checks a list of URLs for `bus`, and the credentials in the environment.
  ///
  /// - Throws: `.denied` with the reason.
  public static func checkBus(_ urls: String) throws(StoreFailure) {
    _ = try NATSSettings(urls)
  }

  /// The location of the SQLite file of the messages.
  public struct Database: Sendable, Hashable {
    /// The directory, which is created if it is missing.
    public var directory: String
    /// The file's name, without `.sqlite`.
    public var name: String

    /// Creates the location of a database, which is opened when the backend starts.
    public init(directory: String, name: String) {
      self.directory = directory
      self.name = name
    }
  }

  /// The locations of the two PEM files for TLS.
  public struct Certificate: Sendable, Hashable {
    /// The path of the certificate, which is followed by its chain.
    public var chainPath: String
    /// The path of the certificate's private key, which has no passphrase.
    public var keyPath: String

    /// Creates the locations of both files. They are read when the backend starts.
    public init(chainPath: String, keyPath: String) {
      self.chainPath = chainPath
      self.keyPath = keyPath
    }
  }
}

/// The addresses and the port on which a backend listens.
public struct BoundAddress: Sendable, Hashable {
  /// The host from the configuration.
  public var host: String
  /// The port number, even if the kernel chose it.
  public var port: UInt16
  /// The URL for clients on this machine: `http://host:port` or `https://host:port`.
  public var url: String
  /// The session URL for clients on this machine. It begins with `ws` or `wss` instead of `http` or
  /// `https`.
  public var session: String { "ws\(url.dropFirst("http".count))/session" }
  /// The URL of the address on which the backend listens, such as `http://0.0.0.0:8787` for every
  /// IPv4 address.
  public var listensOn: String
  /// Whether other machines can connect without encryption.
  public var isExposed: Bool
  /// A human-readable description of the addresses on which the backend listens; `nil` for a single
  /// address.
  public var reach: String?
  /// The address and port for requests that other nodes pass on; `nil` for none.
  public var nodes: String?
  /// The URL of the metrics, or `unix:PATH`, if they have an address of their own; otherwise `nil`.
  public var metrics: String?
  /// The address for operators, such as `unix:/srv/admin.sock` or `http://127.0.0.1:8789`; `nil` for
  /// none.
  public var admin: String?

  /// Creates the address of a backend.
  ///
  /// - Parameters:
  ///   - host: The host from the configuration, which is an address in any form or a name.
  ///   - addresses: The addresses to which the sockets are bound.
  ///   - nodes: The address for other nodes.
  ///   - metrics: The address of the metrics.
  init(
    host: String, addresses: [NetworkAddress], port: UInt16, isSecure: Bool, nodes: String? = nil,
    metrics: String? = nil
  ) {
    self.host = host
    (self.nodes, self.metrics) = (nodes, metrics)
    self.port = port
    let scheme = isSecure ? "https" : "http"
    func url(_ host: String) -> String {
      "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
    if let every = addresses.first(where: \.isUnspecified) {
      // No client can connect to the unspecified address, which stands for all addresses.
      self.url = url(every.isIPv6 ? "::1" : "127.0.0.1")
      listensOn = url(every.isIPv6 ? "::" : "0.0.0.0")
      reach = "every \(every.isIPv6 ? "" : "IPv4 ")address of this machine"
    } else {
      self.url = url(host)
      listensOn = url(host)
    }
    isExposed = !isSecure && !addresses.allSatisfy(\.isLoopback)
  }
}
