import HoldfastBackend
import HoldfastCommandKit
import HoldfastServerCore

/// The options of `serve` for the numbers of sockets.
enum CeilingOptions {
  private static let usual = BackendConfiguration(dataDirectory: "")
  private static let range = 1...1_000_000

  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .option(
        "max-streams", .integer("N", range), default: usual.policy.maxConnections,
        "the most sockets of followers; further ones get 503")
    ) { $0.policy.maxConnections = $1 },
    .init(
      .option(
        "max-sockets-per-user", .integer("N", range), default: usual.policy.socketsPerUser,
        "the most sockets of one follower; further ones get 429")
    ) { $0.policy.socketsPerUser = $1 },
    .init(
      .option(
        "max-phones", .integer("N", range), default: usual.relay.maxSockets,
        "the most phones that are connected; further ones get 503. Twice as many are remembered")
    ) {
      $0.relay.maxSockets = $1
      $0.relay.maxPhones = $1 * 2
    },
    .init(
      .option(
        "max-phones-per-address", .integer("N", range), default: usual.relay.socketsPerAddress,
        "the most connected phones of one address, such as an office's; further ones get 429. An "
          + "address of IPv6 is a /64 network")
    ) { $0.relay.socketsPerAddress = $1 },
    .init(
      .option(
        "max-sessions", .integer("N", range), default: usual.session.maxSockets,
        "the most sockets of sessions; further ones get 503")
    ) { $0.session.maxSockets = $1 },
    .init(
      .option(
        "max-sessions-per-address", .integer("N", range), default: usual.session.socketsPerAddress,
        "the most sockets of sessions of one address; further ones get 429")
    ) { $0.session.socketsPerAddress = $1 },
  ]

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
