import CommandKit
import HoldfastBackend
import LinkCore
import LinkRuntime
import LinkServerCore
import LinkWire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// `holdfast serve`: runs the backend of shop messages until a signal ends it.
enum ServeCommand {
  private static let host = Parameter.option(
    "host", .text("HOST"), default: "127.0.0.1", "the name or address to listen on")
  private static let port = Parameter.option(
    "port", .port, default: 8787, "the TCP port; 0 picks a free one")
  private static let database = Parameter.optional(
    "database", .text("URL"), usual: "messages.sqlite in the data directory",
    "keep messages in this SQLite file, such as sqlite:/srv/shop.sqlite")
  private static let certificate = Parameter.optional(
    "tls-cert", .text("FILE"), "serve TLS with this PEM certificate and its chain")
  private static let key = Parameter.optional(
    "tls-key", .text("FILE"), "the certificate's PEM private key")
  private static let pingInterval = Parameter.option(
    "ping-interval", .duration(.milliseconds(10) ... .seconds(3600)),
    default: ShopServerPolicy().pingInterval, "how often an open socket is pinged")
  private static let pongTimeout = Parameter.option(
    "pong-timeout", .duration(.milliseconds(20) ... .seconds(7200)),
    default: ShopServerPolicy().pongWait,
    "a socket from which no byte came for this long is dropped; longer than the ping interval")
  /// Up to the largest request body that is read.
  private static let maxMessageBytes = Parameter.option(
    "max-message-bytes", .integer("N", 1_024...65_536),
    default: MessageLimits().maxFrameBytes, "the largest message as a frame, in bytes")
  private static let maxPerAddress = Parameter.option(
    "max-per-address", .integer("N", 1...1_000_000), default: 256,
    "connections of one address that are no open sockets; more for a proxy, which stands for many")
  private static let drainWindow = Parameter.option(
    "drain-window", .duration(.zero ... .seconds(600)), default: .seconds(5),
    "over how long clients are told to spread their return when it ends")
  private static let plain = Parameter.flag(
    "plain", "play a server without positions, heads and idempotency keys")
  private static let noStream = Parameter.flag(
    "no-stream", "answer 503 to every socket, so that clients must poll")

  private static let newEpoch = Parameter.flag(
    "new-epoch",
    "begin a new epoch over the same messages: give it once, after a backup was put back, so that "
      + "clients that saw more fetch what came since")
  private static let postsPerSecond = Parameter.option(
    "posts-per-second", .integer("N", 1...1_000), default: 20,
    "messages that a user may post in a second, and twice as many at once")

  static var command: Command {
    Command(
      "serve", "run the backend of shop messages",
      details: [
        """
        Logs JSON lines on standard error. SIGTERM and SIGINT end it politely: clients are warned \
        and closed with 1001; a second one ends it at once. SIGHUP reads removed.json of the data \
        directory again: {"removed":[{"shop":"bakery","user":"ann"}]} keeps ann out of that shop, \
        whatever her token says. A list with other keys is refused: the log says so (event \
        "reload_failed"), and the old list stays in force.
        """
      ],
      examples: [
        .init("holdfast serve", "on http://127.0.0.1:8787, with data in the usual directory"),
        .init(
          "holdfast serve --port 0 --data /tmp/shop --json",
          #"on a free port; the first line is {"event":"listening","url":...}"#),
        .init(
          "holdfast serve --host :: --tls-cert chain.pem --tls-key key.pem",
          "on every address, with TLS"),
      ],
      takes: host, port, Shared.data, database, certificate, key, pingInterval, pongTimeout,
      maxMessageBytes, maxPerAddress, postsPerSecond, drainWindow, newEpoch, plain, noStream,
      DoorOptions.host, DoorOptions.origin, PushOptions.key, PushOptions.keyID, PushOptions.team,
      PushOptions.topic,
      PushOptions.service, PushOptions.authority, PushOptions.hook, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    raiseDescriptorLimit()
    let configuration = try configuration(call)
    let backend = Backend(configuration, pushes: try pushes(call))
    // Before anybody can know that it runs, so that no signal ends it the hard way.
    let signals = ServerSignals()
    let address: BoundAddress
    do {
      address = try await backend.start()
    } catch {
      throw CommandFailure(error)
    }
    announce(address, configuration, call)
    await serve(backend, until: signals, call)
  }

  private static func pushes(
    _ call: Invocation
  ) throws(CommandFailure) -> (any PushSender)? {
    let ways = try PushOptions.read(call)
    do throws(BackendError) {
      return try ways.open()
    } catch {
      guard case .openToOthers(let path) = error else { throw CommandFailure(error) }
      throw CommandFailure(.failed, error.description, remedy: "run chmod 600 \(path)")
    }
  }

  /// Obeys signals until the backend has ended.
  private static func serve(
    _ backend: Backend, until signals: ServerSignals, _ call: Invocation
  ) async {
    var draining: Task<Void, Never>?
    for await signal in signals.stream {
      switch signal {
      case .reload: try? await backend.reload()  // Its log tells what is wrong.
      case .stop:
        guard draining == nil else { hurry(call.console) }
        draining = Task {
          if call[Shared.json] { event("draining", on: call.console) }
          await backend.drainAndStop()
          if call[Shared.json] { event("stopped", on: call.console) }
          signals.finish()
        }
      }
    }
  }

  /// The usual soft limit of 1,024 is for programs that use `select`; the hard one is the real one.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    #if canImport(Glibc)
      let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let descriptors = RLIMIT_NOFILE
    #endif
    guard unsafe getrlimit(descriptors, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(descriptors, &limit)
  }

  private static func hurry(_ console: Console) -> Never {
    console.failure(
      CommandFailure(.failed, "ended at once by a second signal, without draining"),
      of: "holdfast serve")
    _exit(ExitCode.failed.rawValue)
  }

  private static func configuration(
    _ call: Invocation
  ) throws(CommandFailure) -> BackendConfiguration {
    var configuration = BackendConfiguration(dataDirectory: try call.dataDirectory())
    configuration.host = call[host]
    configuration.port = call[port]
    configuration.certificate = try certificate(call)
    if let url = call[database] { configuration.database = try .read(url) }
    configuration.maxConnectionsPerAddress = call[maxPerAddress]
    configuration.drainWindow = call[drainWindow]
    configuration.policy.pingInterval = call[pingInterval]
    configuration.policy.pongWait = call[pongTimeout]
    configuration.policy.limits.maxFrameBytes = call[maxMessageBytes]
    configuration.policy.postInterval = .seconds(1) / call[postsPerSecond]
    configuration.policy.postBurst = call[postsPerSecond] * 2
    configuration.assistants.doors = DoorOptions.read(call)
    configuration.beginsNewEpoch = call[newEpoch]
    configuration.policy.dialect = call[plain] ? .plain : .positions
    configuration.policy.offersStream = !call[noStream]
    guard call[pongTimeout] > call[pingInterval] else {
      throw CommandFailure(
        .usage, "--pong-timeout must be longer than --ping-interval",
        remedy: "else every socket is dropped before it is pinged")
    }
    let console = call.console
    configuration.log = { console.diagnostic($0) }
    return configuration
  }

  private static func certificate(
    _ call: Invocation
  ) throws(CommandFailure) -> BackendConfiguration.Certificate? {
    switch (call[certificate], call[key]) {
    case (nil, nil): nil
    case (let chain?, let key?): .init(chainPath: chain, keyPath: key)
    case (nil, _?), (_?, nil):
      throw CommandFailure(
        .usage, "TLS needs a certificate and its key", remedy: "give both --tls-cert and --tls-key")
    }
  }

  private static func announce(
    _ address: BoundAddress, _ configuration: BackendConfiguration, _ call: Invocation
  ) {
    let console = call.console
    guard !call[Shared.json] else {
      return console.object {
        $0.key("event")
        $0.string("listening")
        $0.key("url")
        $0.string(address.url)
      }
    }
    let isUsual = call[Shared.data] == nil
    let place = isUsual ? "" : " --data \(configuration.dataDirectory)"
    console.line("\(console.style.heading("holdfast")) serves shop messages at \(address.url)")
    console.line("  data    \(configuration.dataDirectory)")
    console.line("  token   holdfast token --user ann --shops bakery\(place)")
    console.line("  end     Ctrl-C ends it politely, a second one at once")
  }

  private static func event(_ name: String, on console: Console) {
    // Whoever read the first line only must not keep it from draining.
    console.object(isOptional: true) {
      $0.key("event")
      $0.string(name)
    }
  }
}
