import LinkCore
public import LinkServerCore

/// The services of a backend, in the order in which their routes are tried.
let backendServices: [any Service.Type] = [
  ShopService.self,
  RelayService.self,
  SessionService.self,
  SyncService.self,
]

/// The address, the data directory and the policies of a backend.
public struct BackendConfiguration: Sendable {
  /// The host name or address to listen on: `localhost` is both loopback families, `::` every
  /// address.
  public var host = "127.0.0.1"
  /// The TCP port; 0 lets the kernel choose one.
  public var port: UInt16 = 0
  /// The directory of the messages, the token secret and the list of removed members; created if
  /// missing.
  public var dataDirectory: String
  /// The message database; `nil` is `messages.sqlite` in the data directory.
  public var database: Database?
  /// Whether to begin a new epoch for the stored messages and the synced samples; to be set once,
  /// after restoring a backup.
  public var beginsNewEpoch = false
  /// The certificate for TLS; `nil` serves without TLS.
  public var certificate: Certificate?
  /// The policy of shop messages.
  public var policy = ShopServerPolicy()
  /// The policy of the relay.
  public var relay = RelayServerPolicy()
  /// The policy of the assistants' endpoints.
  ///
  /// On a loopback `host`, foreign hosts are refused. Web pages that the origin policy refuses
  /// cannot open a phone's socket either.
  public var assistants = MCPPolicy()
  /// The policy of sessions.
  public var session = SessionServerPolicy()
  /// The path of the file with the key that clients of sessions present; `nil` is `session-key` in
  /// the data directory. Created if missing.
  public var sessionKeyFile: String?
  /// The shell command that runs for each prompt; `nil` answers each prompt with its own text.
  public var sessionHandler: String?
  /// The policy of health sync.
  public var sync = SyncServerPolicy()
  /// The path of the file with the secrets of health sync; `nil` is `sync-secrets` in the data
  /// directory.
  public var syncSecretFile: String?
  /// The largest message from a client, in bytes; a larger one closes the socket with 1009.
  public var maxClientMessageBytes = 65_536
  /// The queued bytes above which a socket counts as a slow reader: 25 frames of 10 KiB.
  public var maxQueuedBytes = 262_144
  /// The most connections from one address (for IPv6, one /64) that are not open sockets; more are
  /// closed.
  public var maxConnectionsPerAddress = 256
  /// The proxies that are trusted to report the address of a client, for limits by address.
  ///
  /// The connections of these proxies themselves are not limited.
  public var proxies = TrustedProxies()
  /// The window over which clients are to spread their reconnects when the backend drains.
  public var drainWindow = Duration.seconds(5)
  /// The time that `/healthz` waits for the checks of the stores.
  var checkLimit = StoreChecks.limit
  /// The key that signs tokens, at least 32 bytes; `nil` uses the one in the data directory.
  public var secret: [UInt8]?
  /// The format of the log.
  public var logFormat = LogFormat.json
  /// The least important events that are logged.
  public var logLevel = LogLevel.debug
  /// Receives each line of the log without its line end; `nil` logs nothing.
  ///
  /// Called from one task, in order. At most 1,024 lines wait for it; further ones are dropped and
  /// counted.
  public var log: (@Sendable (String) -> Void)?

  /// Creates a configuration that serves plain TCP on 127.0.0.1, on a port that the kernel chooses.
  public init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
  }

  /// The SQLite file of the messages.
  public struct Database: Sendable, Hashable {
    /// The directory; created if missing.
    public var directory: String
    /// The file's name without `.sqlite`.
    public var name: String

    /// Creates the location of a database, which is opened when the backend starts.
    public init(directory: String, name: String) {
      self.directory = directory
      self.name = name
    }
  }

  /// The two PEM files for TLS.
  public struct Certificate: Sendable, Hashable {
    /// The certificate, followed by its chain.
    public var chainPath: String
    /// The certificate's private key, without a passphrase.
    public var keyPath: String

    /// Creates the locations of both files, which are read when the backend starts.
    public init(chainPath: String, keyPath: String) {
      self.chainPath = chainPath
      self.keyPath = keyPath
    }
  }
}

/// The addresses and the port that a backend listens on.
public struct BoundAddress: Sendable, Hashable {
  /// The host in the configuration.
  public var host: String
  /// The port, including one that the kernel chose.
  public var port: UInt16
  /// The URL for clients on this machine: `http://host:port` or `https://host:port`.
  public var url: String
  /// The URL of sessions for clients on this machine, with `ws` or `wss` in place of `http` or
  /// `https`.
  public var session: String { "ws\(url.dropFirst("http".count))/session" }
  /// The URL that is listened on, such as `http://0.0.0.0:8787`, which stands for every address.
  public var listensOn: String
  /// Whether other machines can connect without encryption.
  public var isExposed: Bool
  /// A description of the addresses that are listened on, for people; `nil` for a single address.
  public var reach: String?

  /// Creates the address of a backend.
  ///
  /// - Parameters:
  ///   - host: The host in the configuration: an address in any form, or a name.
  ///   - addresses: The addresses that the sockets are bound to.
  init(host: String, addresses: [NetworkAddress], port: UInt16, isSecure: Bool) {
    self.host = host
    self.port = port
    let scheme = isSecure ? "https" : "http"
    func url(_ host: String) -> String {
      "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
    if let every = addresses.first(where: \.isUnspecified) {
      // No client can connect to the address that stands for all addresses.
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
