import Glibc
import HoldfastAssistants
package import HoldfastBackend
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastServerParts

/// The command `holdfast serve`: runs the backend until a signal ends it.
package enum ServeCommand {
  private static let usual = BackendConfiguration(dataDirectory: "")
  private static let database = Parameter.optional(
    "database", .text("URL"), usual: "messages.sqlite in the data directory",
    "store messages in this SQLite file, such as sqlite:/srv/shop.sqlite; or all but unfinished "
      + "uploads and secrets in PostgreSQL, such as "
      + "postgres://user@host1,host2/name, with the password in PGPASSWORD or PGPASSFILE")
  private static let node = Parameter.optional(
    "node", .text("NAME"), usual: "the name of the host",
    "with PostgreSQL: the name of this node in `holdfast nodes`")
  private static let nodeAddress = Parameter.optional(
    "cluster-listen", .text("ADDRESS:PORT"), usual: "none, and such requests get 503",
    "with PostgreSQL: take requests from other nodes at this numeric address, and pass requests "
      + "for phones, assistants and sessions on to the node that runs them; connections are not "
      + "encrypted")
  private static let bus = Parameter.optional(
    "bus", .text("URL"), usual: "NOTIFY of the database",
    "with PostgreSQL: send the reports between nodes over NATS, such as "
      + "nats://host1:4222,nats://host2:4222, with the user in NATS_USER and NATS_PASSWORD, or a "
      + "credentials file in NATS_CREDS")
  private static let certificate = Parameter.optional(
    "tls-cert", .text("FILE"), "use TLS with this PEM certificate chain")
  private static let key = Parameter.optional(
    "tls-key", .text("FILE"), "the private key of the certificate, in PEM")

  private static let syncSecrets = Parameter.optional(
    "sync-secret-file", .text("FILE"), usual: "sync-secrets in the data directory",
    "who may sync health data: lines USER SECRET [ZONE]; created with a random secret if missing; "
      + "reloaded by SIGHUP")

  /// The options that each set a single value.
  private static let settings: [Assignment<BackendConfiguration>] =
    [
      .init(
        .option("host", .text("HOST"), default: usual.host, "the name or address to listen on")
      ) { $0.host = String(NetworkAddress.withoutBrackets($1)) },
      .init(.option("port", .port, default: 8787, "the TCP port; 0 uses a free one")) {
        $0.port = $1
      },
      .init(
        .option(
          "max-per-address", .integer("N", 1...1_000_000),
          default: usual.maxConnectionsPerAddress,
          "the most connections of one address that are not open sockets; a proxy that "
            + "--trusted-proxy names is not counted")
      ) { $0.maxConnectionsPerAddress = $1 },
      .init(
        .option(
          "drain-window", .duration(.zero ... .seconds(600)), default: usual.drainWindow,
          "at the end, tell clients to spread their reconnects over this time")
      ) { $0.drainWindow = $1 },
    ] + ProxyOptions.all + MessageOptions.all + KeepOptions.all + CeilingOptions.all
    + OriginOptions.all + SessionOptions.all + LogOptions.all + HookOptions.all

  package static var command: Command {
    Command(
      "serve", "run the backend for shop messages, phones, assistants, sessions and health sync",
      details: [
        """
        Writes its log to standard error, one event per line. SIGTERM and SIGINT (Ctrl-C) \
        end it in an orderly way: clients are warned, and their sockets closed with code 1001; a \
        second signal ends it immediately with status 1.
        """,
        """
        SIGHUP reloads the certificate with its key, and removed.json in the data directory: \
        {"removed":[{"shop":"bakery","user":"ann"}]} denies ann access to that shop, even with a \
        valid token. An invalid file is logged (event "reload_failed"), and the previous one \
        stays in effect. A renewed certificate is also found within a minute, without a signal; \
        open connections keep the former one. SIGHUP also reloads the secrets of health sync, the \
        key of sessions and the keys of an identity provider.
        """,
        """
        Under systemd (Type=notify) it reports its start, reloads, its end and, with WatchdogSec=, \
        that it is alive. It takes sockets with the names clients, metrics and admin \
        (FileDescriptorName=) in place of addresses of its own.
        """,
        ServeReload.details,
      ],
      examples: [
        .init("holdfast serve", "on http://127.0.0.1:8787, with the default data directory"),
        .init(
          "holdfast serve --port 0 --data /tmp/shop --json",
          #"on a free port; the first line is {"event":"listening","url":...}"#),
        .init(
          "holdfast serve --host :: --tls-cert chain.pem --tls-key key.pem",
          "on every address, with TLS"),
        .init(
          "holdfast serve --public-url https://relay.example",
          "behind a proxy with TLS; assistants sign in with OAuth"),
        .init(
          "holdfast serve --config /etc/holdfast.toml --check",
          "show each option with its source, and check the files that they name"),
      ],
      signals: [SIGHUP], variables: "HOLDFAST_", sets: settings.map(\.declaration),
      takes: Shared.config, Shared.check,
      Shared.data, database, node, nodeAddress, bus, MetricsOptions.address, certificate, key,
      PushOptions.key,
      PushOptions.keyID,
      PushOptions.team, PushOptions.topic, PushOptions.service, PushOptions.authority,
      PushOptions.hook, AssistantOptions.publicURL, AssistantOptions.life,
      IdentityOptions.url, IdentityOptions.file, IdentityOptions.issuer, IdentityOptions.audience,
      IdentityOptions.claims, syncSecrets,
      SessionOptions.keyFile,
      SessionOptions.handler, AdminOptions.listen, AdminOptions.tokenFile, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    if call[Shared.check] { return try ServeCheck.run(call) }
    var configuration = try configuration(call)
    CeilingOptions.fit(&configuration, call)
    let backend = Backend(configuration, pushes: try pushes(call))
    // The signals are handled before clients can see that the backend is running, so that every
    // signal ends the backend in an orderly way.
    let signals = CommandSignals(onSecondStop: { abandon(call) })
    let address: BoundAddress
    do {
      address = try await backend.start()
    } catch {
      throw CommandFailure(error)
    }
    announce(address, configuration, call)
    let notices = ServiceNotices(at: address.listensOn)
    let life = notices.begin(backend)
    defer { life?.cancel() }
    await serve(backend, until: signals, notices, call)
  }

  private static func pushes(
    _ call: Invocation
  ) throws(CommandFailure) -> (any PushSender)? {
    let ways = try PushOptions.read(call)
    do throws(BackendError) {
      return try ways.open()
    } catch {
      throw PushOptions.failure(error)
    }
  }

  /// Handles signals until the backend has ended.
  private static func serve(
    _ backend: Backend, until signals: CommandSignals, _ notices: ServiceNotices,
    _ call: Invocation
  ) async {
    var options = ServeReload(running: call.arguments)
    for await signal in signals.stream {
      switch signal {
      case .reload:
        await options.reload(backend, call)
        await notices.reload(backend)
      case .stop:
        notices.stop()
        Task {
          if call[Shared.json] { event("draining", on: call.console) }
          await backend.drainAndStop()
          if call[Shared.json] { event("stopped", on: call.console) }
          signals.finish()
        }
      }
    }
  }

  @Sendable private static func abandon(_ call: Invocation) -> Never {
    Console.abandon("\(call.command): ended immediately by a second signal, without draining")
  }

  /// Returns the configuration that the options select.
  ///
  /// - Throws: A failure if the options contradict each other, or if a file cannot be used.
  package static func configuration(
    _ call: Invocation
  ) throws(CommandFailure) -> BackendConfiguration {
    var configuration = BackendConfiguration(dataDirectory: try call.dataDirectory())
    call.assign(settings, to: &configuration)
    configuration.certificate = try certificate(call)
    SessionOptions.read(call, into: &configuration)
    AssistantOptions.read(call, into: &configuration)
    try IdentityOptions.read(call, into: &configuration)
    (configuration.nodeName, configuration.bus) = (call[node], call[bus])
    if let url = call[database] {
      let isServer = ["postgres://", "postgresql://"].contains { url.hasPrefix($0) }
      if isServer {
        configuration.databaseURL = url
      } else {
        configuration.database = try .read(url)
      }
    }
    configuration.nodeAddress = try clusterAddress(call)
    configuration.metricsAddress = call[MetricsOptions.address]
    for (option, value) in [
      ("--node", configuration.nodeName), ("--cluster-listen", configuration.nodeAddress),
      ("--bus", configuration.bus),
    ]
    where value != nil && configuration.databaseURL == nil {
      throw CommandFailure(
        .usage, "\(option) needs --database with the URL of a PostgreSQL database",
        remedy: "add it, or leave \(option) out")
    }
    if let urls = configuration.bus { try checkBus(urls) }
    configuration.syncSecretFile = call[syncSecrets]
    try AdminOptions.read(call, into: &configuration)
    try MessageOptions.check(configuration)
    try ServiceNotices.inherit(into: &configuration)
    try HookOptions.check(configuration)
    LogOptions.open(&configuration, on: call.console)
    return configuration
  }

  private static func checkBus(_ urls: String) throws(CommandFailure) {
    do throws(StoreFailure) {
      try BackendConfiguration.checkBus(urls)
    } catch {
      throw CommandFailure(.usage, "--bus cannot be used: \(error)")
    }
  }

  private static func clusterAddress(_ call: Invocation) throws(CommandFailure) -> String? {
    guard let text = call[nodeAddress] else { return nil }
    guard BackendConfiguration.isNodeAddress(text) else {
      throw CommandFailure(
        .usage, "--cluster-listen cannot be \"\(text)\"",
        remedy: "use a numeric address that the other nodes can reach, and a port, such as "
          + "10.0.0.1:8788 or [fd00::1]:8788")
    }
    return text
  }

  private static func certificate(
    _ call: Invocation
  ) throws(CommandFailure) -> BackendConfiguration.Certificate? {
    switch (call[certificate], call[key]) {
    case (nil, nil): return nil
    case (let chain?, let key?):
      try TextFile.mustBeFile(chain, option: "--tls-cert", .security)
      try TextFile.mustBeFile(key, option: "--tls-key", .security)
      return .init(chainPath: chain, keyPath: key)
    case (nil, _?), (_?, nil):
      throw CommandFailure(
        .usage, "TLS needs a certificate and its key", remedy: "use both --tls-cert and --tls-key")
    }
  }

  private static func announce(
    _ address: BoundAddress, _ configuration: BackendConfiguration, _ call: Invocation
  ) {
    let console = call.console
    let mcp = configuration.publicURL?.resource ?? address.url + "/mcp"
    guard !call[Shared.json] else {
      return console.object {
        $0.entry("event", "listening")
        $0.entry("url", address.url)
        $0.entry("listensOn", address.listensOn)
        $0.entry("mcp", mcp)
        for (name, _, text, _) in further(address) { $0.entry(name, text) }
        $0.entry("session", address.session)
        $0.entry("sessionKeyFile", configuration.sessionKeyPath)
      }
    }
    let isUsual = call[Shared.data] == nil
    let option = isUsual ? "" : " --data \(configuration.dataDirectory)"
    let here = address.reach.map { " (\($0); on this machine \(address.url))" } ?? ""
    let name = console.style.heading("holdfast")
    let services = "shop messages, phones, assistants and sessions"
    console.line("\(name) serves \(services) at \(address.listensOn)\(here)")
    warn(address, configuration, console)
    console.line("  data    \(configuration.dataDirectory)")
    console.line("  MCP     \(mcp), for assistants")
    if configuration.publicURL != nil {
      console.line("          \(mcp)/code, for those that log in by word and code as a tool")
    }
    console.line("  session \(address.session), key in \(configuration.sessionKeyPath)")
    let secrets = configuration.syncSecretFile ?? "\(configuration.dataDirectory)/sync-secrets"
    console.line("  sync    \(address.url)/api/sync, with a secret of \(secrets)")
    for (_, label, text, use) in further(address) { console.line("  \(label) \(text), \(use)") }
    console.line("  health  \(address.url)/health, what was synced, in a browser")
    console.line("  token   holdfast token --user ann --shops bakery\(option)")
    console.line("  end     Ctrl-C, again to end immediately")
  }

  private static func warn(
    _ address: BoundAddress, _ configuration: BackendConfiguration, _ console: Console
  ) {
    let exposed =
      "other machines can connect, and everyone on the way can read tokens and messages; use "
      + "--tls-cert and --tls-key, or --host 127.0.0.1"
    let warnings = [address.isExposed ? exposed : nil, CeilingOptions.warning(configuration)]
    for case let warning? in warnings {
      console.line("  \(console.style.alarm("warning")) \(warning)")
    }
  }

  /// Returns the addresses that are not for clients: the name in JSON, a label of seven characters,
  /// the address and its use.
  private static func further(_ address: BoundAddress) -> [(String, String, String, String)] {
    let all = [
      ("metrics", "metrics", address.metrics, "for Prometheus, with probes"),
      ("clusterListens", "nodes  ", address.nodes, "for the other nodes"),
      ("admin", "admin  ", address.admin, "for `holdfast admin`"),
    ]
    return all.compactMap { name, label, text, use in text.map { (name, label, $0, use) } }
  }

  private static func event(_ name: String, on console: Console) {
    // The drain must be possible even if the reader reads only the first line.
    console.object(isOptional: true) { $0.entry("event", name) }
  }
}

extension BackendConfiguration.Database {
  /// Parses `PATH.sqlite`, `sqlite:PATH.sqlite` or `sqlite:///PATH.sqlite` for `--database`.
  static func read(_ url: String) throws(CommandFailure) -> Self {
    var path = url[...]
    if let scheme = url.firstRange(of: ":")?.lowerBound, !url[..<scheme].contains("/") {
      guard url[..<scheme] == "sqlite" else {
        throw CommandFailure(
          .usage, "--database does not support \(url[..<scheme])",
          remedy: "use PATH.sqlite, or postgres://user@host/name")
      }
      path = url[scheme...].dropFirst()
      if path.hasPrefix("//") { path = path.dropFirst(2) }
    }
    let slash = path.lastIndex(of: "/")
    let file = slash.map { path[path.index(after: $0)...] } ?? path
    guard file.hasSuffix(".sqlite"), file != ".sqlite" else {
      throw CommandFailure(
        .usage, "--database needs a file name that ends with .sqlite",
        remedy: "such as sqlite:/srv/holdfast/messages.sqlite")
    }
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    return Self(directory: directory, name: String(file.dropLast(7)))
  }
}

/// The options of `serve` for reverse proxies.
enum ProxyOptions {
  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .repeated(
        "trusted-proxy", .block,
        "take the client's address from Forwarded or X-Forwarded-For if the connection comes from "
          + "this address or block; limits per address then apply to clients, not to the proxy")
    ) { $0.proxies.blocks = $1 }
  ]
}

extension Format<AddressBlock> {
  /// The format for an address or a block of addresses (RFC 4632).
  fileprivate static let block = Format(
    placeholder: "CIDR", expectation: "an address or a block such as 10.0.0.0/8 or 2001:db8::/32"
  ) {
    AddressBlock($0)
  }
}
