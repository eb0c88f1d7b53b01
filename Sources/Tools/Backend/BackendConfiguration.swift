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
  /// A name or an address; `localhost` means both loopback families, `::` every address.
  public var host = "127.0.0.1"
  /// The TCP port; 0 lets the kernel pick one.
  public var port: UInt16 = 0
  /// Holds the messages, the token secret and the list of removed members; made when missing.
  public var dataDirectory: String
  /// Where the messages are kept; `nil` is `messages.sqlite` in the data directory.
  public var database: Database?
  /// Whether it begins a new epoch over the messages and the synced samples it has: once, after a
  /// backup was put back.
  public var beginsNewEpoch = false
  /// Serves TLS when given.
  public var certificate: Certificate?
  /// Every number and switch of the rules of shop messages.
  public var policy = ShopServerPolicy()
  /// Every number of the relay.
  public var relay = RelayServerPolicy()
  /// Every number of the assistants' side; on a loopback `host` foreign hosts are refused. The web
  /// pages that its origin policy keeps out open no phone's socket either.
  public var assistants = MCPPolicy()
  /// Every number of the sessions.
  public var session = SessionServerPolicy()
  /// The file of the key that clients of sessions show; `nil` is `session-key` in the data
  /// directory. Made when missing.
  public var sessionKeyFile: String?
  /// The command that a shell runs for each prompt; `nil` answers each prompt with its own text.
  public var sessionHandler: String?
  /// Every number of health sync.
  public var sync = SyncServerPolicy()
  /// The file of the secrets of health sync; `nil` is `sync-secrets` in the data directory.
  public var syncSecretFile: String?
  /// Largest message a client may send over a socket, in bytes; beyond it is closed with 1009.
  public var maxClientMessageBytes = 65_536
  /// Bytes queued for one socket before it counts as a slow reader: 25 frames of 10 KiB.
  public var maxQueuedBytes = 262_144
  /// Connections of one address (of IPv6, a /64) that are no open sockets; further ones are closed.
  public var maxConnectionsPerAddress = 256
  /// The proxies whose word about a client's address counts, for what is limited by address; their
  /// own connections are not limited.
  public var proxies = TrustedProxies()
  /// Over how long clients are told to spread their return when the backend drains.
  public var drainWindow = Duration.seconds(5)
  /// How long `/healthz` waits for the checks of stores.
  var checkLimit = StoreChecks.limit
  /// The key that signs tokens, at least 32 bytes; `nil` takes it from the data directory.
  public var secret: [UInt8]?
  /// The form of the log's lines.
  public var logFormat = LogFormat.json
  /// The events that are logged.
  public var logLevel = LogLevel.debug
  /// Takes each line of the log without its line end; `nil` logs nothing.
  ///
  /// Called from one task, in order. Lines beyond 1,024 that wait for it are dropped and counted.
  public var log: (@Sendable (String) -> Void)?

  /// Plain TCP on a port of 127.0.0.1 that the kernel picks.
  public init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
  }

  /// The SQLite file of the messages.
  public struct Database: Sendable, Hashable {
    /// Made when missing.
    public var directory: String
    /// The file's name without `.sqlite`.
    public var name: String

    /// Names the file; it is opened when the backend starts.
    public init(directory: String, name: String) {
      self.directory = directory
      self.name = name
    }
  }

  /// The two PEM files that TLS is served with.
  public struct Certificate: Sendable, Hashable {
    /// The certificate, followed by those of its chain.
    public var chainPath: String
    /// The certificate's private key, without a passphrase.
    public var keyPath: String

    /// Names both files; they are read when the backend starts.
    public init(chainPath: String, keyPath: String) {
      self.chainPath = chainPath
      self.keyPath = keyPath
    }
  }
}

/// The addresses and the port that a backend listens on.
public struct BoundAddress: Sendable, Hashable {
  /// The host that the configuration named.
  public var host: String
  /// The port, also when the kernel picked it.
  public var port: UInt16
  /// `http://host:port` or `https://host:port`, as clients on this machine connect to it.
  public var url: String
  /// The address of sessions on this machine: `ws` or `wss` for `http` or `https` in `url`.
  public var session: String { "ws\(url.dropFirst("http".count))/session" }
  /// What is listened on, such as `http://0.0.0.0:8787`, which stands for every address.
  public var listensOn: String
  /// Whether other machines can connect, and what they send is not encrypted.
  public var isExposed: Bool
  /// The description of the addresses that are listened on, for people; `nil` for a single one.
  public var reach: String?

  /// - Parameters:
  ///   - host: As the configuration names it: an address in any form, or a name.
  ///   - addresses: Those that the sockets are bound to.
  init(host: String, addresses: [NetworkAddress], port: UInt16, isSecure: Bool) {
    self.host = host
    self.port = port
    let scheme = isSecure ? "https" : "http"
    func url(_ host: String) -> String {
      "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
    if let every = addresses.first(where: \.isUnspecified) {
      // No client can dial the address that stands for all.
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
