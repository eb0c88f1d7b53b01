import HoldfastBackend
import HoldfastCommandKit
import HoldfastMessageServer
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastSessionServer

/// The options of `serve` for the numbers of sockets.
enum CeilingOptions {
  private static let usual = BackendConfiguration(dataDirectory: "")
  private static let range = 1...1_000_000

  private static let streams = option(
    "max-streams", usual.policy.maxConnections,
    "the most sockets of followers; further ones get 503")
  private static let phones = option(
    "max-phones", usual.relay.maxSockets,
    "the most phones that are connected; further ones get 503. Twice as many are remembered")
  private static let sessions = option(
    "max-sessions", usual.session.maxSockets,
    "the most sockets of sessions; further ones get 503")

  private static func option(_ name: String, _ usual: Int, _ help: String) -> Parameter<Int> {
    .option(name, .integer("N", range), default: usual, help)
  }

  static let all: [Assignment<BackendConfiguration>] = [
    .init(streams) { $0.policy.maxConnections = $1 },
    .init(
      option(
        "max-sockets-per-user", usual.policy.socketsPerUser,
        "the most sockets of one follower; further ones get 429")
    ) { $0.policy.socketsPerUser = $1 },
    .init(phones) {
      $0.relay.maxSockets = $1
      $0.relay.maxPhones = $1 * 2
    },
    .init(
      option(
        "max-phones-per-address", usual.relay.socketsPerAddress,
        "the most connected phones of one address, such as an office's; further ones get 429. An "
          + "address of IPv6 is a /64 network")
    ) { $0.relay.socketsPerAddress = $1 },
    .init(sessions) { $0.session.maxSockets = $1 },
    .init(
      option(
        "max-sessions-per-address", usual.session.socketsPerAddress,
        "the most sockets of sessions of one address; further ones get 429")
    ) { $0.session.socketsPerAddress = $1 },
  ]

  /// Compares the maximums with the limit on descriptors, which is raised if possible. Those that
  /// nobody has given are lowered to what the limit allows.
  static func fit(_ configuration: inout BackendConfiguration, _ call: Invocation) {
    configuration.descriptorLimit = BackendConfiguration.raiseDescriptorLimit()
    let given: [(Ceiling, Bool)] = [
      (.streams, call.isGiven(streams)), (.phones, call.isGiven(phones)),
      (.sessions, call.isGiven(sessions)),
    ]
    configuration.lowerCeilings(Set(given.filter { !$0.1 }.map(\.0)))
  }

  /// Returns a warning if some clients will wait since descriptors are missing; otherwise `nil`.
  static func warning(_ configuration: BackendConfiguration) -> String? {
    guard let limit = configuration.descriptorLimit,
      case .few(let need) = configuration.descriptorVerdict
    else { return nil }
    return
      "the limit on open descriptors is \(limit), and the ceilings need \(need); raise it with "
      + "ulimit -n, or lower --max-streams and --max-phones"
  }
}
