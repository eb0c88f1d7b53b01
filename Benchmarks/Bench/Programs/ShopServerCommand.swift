import CommandKit
import HoldfastBackend
import LinkCore
import LinkServerCore
import LinkWire

/// `holdfast-bench shop-server`: the real backend in a process of its own, with wide bounds.
enum ShopServerCommand {
  private static let host = Parameter<String>.option(
    "host", .text("HOST"), default: "127.0.0.1", "where to listen")
  private static let port = Parameter<Int>.option(
    "port", .integer("PORT", 0...65_535), default: 0, "where to listen; 0 lets the system pick")
  private static let data = Parameter<String>.required(
    "data", .text("DIR"), "where messages are kept")
  private static let certificate = Parameter<String?>.optional(
    "tls-cert", .text("FILE"), "serve TLS with this PEM certificate")
  private static let key = Parameter<String?>.optional("tls-key", .text("FILE"), "its key")
  private static let ping = Parameter<Duration>.option(
    "ping-interval", .duration(.milliseconds(10) ... .seconds(3600)), default: .seconds(54),
    "how often an open socket is pinged")

  static var command: Command {
    Command(
      "shop-server", "run the backend until killed; prints its URL, then a token for it",
      examples: [.init("holdfast-bench shop-server --data /tmp/shop", "on a free port")],
      takes: host, port, data, certificate, key, ping, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    guard let shop = ShopID("bench") else { return }
    let backend = Backend(configuration(call))
    do {
      let address = try await backend.start()
      let token = try await backend.issueToken(
        user: "bench", name: "Bench", shops: [shop] + (0..<64).compactMap { ShopID("bench\($0)") },
        ttl: .seconds(86_400))
      call.console.line(address.url)
      call.console.line(token)
    } catch {
      throw CommandFailure(.failed, "the backend cannot start: \(error)")
    }
    await Echo.untilKilled()
  }

  private static func configuration(_ call: Invocation) -> BackendConfiguration {
    var configuration = BackendConfiguration(dataDirectory: call[data])
    configuration.host = call[host]
    configuration.port = UInt16(call[port])
    if let chain = call[certificate], let key = call[key] {
      configuration.certificate = .init(chainPath: chain, keyPath: key)
    }
    configuration.log = nil
    configuration.maxConnectionsPerAddress = 1_000_000
    configuration.policy.maxConnections = 1_000_000
    configuration.policy.socketsPerUser = 1_000_000
    configuration.policy.pingInterval = call[ping]
    configuration.policy.pongWait = call[ping] + .seconds(30)
    configuration.policy.postInterval = .milliseconds(1)
    configuration.policy.postBurst = 1_000_000
    return configuration
  }
}
