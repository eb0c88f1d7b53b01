import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer

/// The command `HoldfastBench shop-server`, which runs the real backend with high limits.
enum ShopServerCommand {
  private static let data = Parameter<String>.required(
    "data", .text("DIR"), "where messages are kept")
  private static let ping = Parameter<Duration>.option(
    "ping-interval", .duration(.milliseconds(10) ... .seconds(3600)), default: .seconds(54),
    "how often an open socket is pinged")

  static var command: Command {
    Command(
      "shop-server", "run the backend until killed; prints its URL, then a token for it",
      examples: [.init("HoldfastBench shop-server --data /tmp/shop", "on a free port")],
      takes: ServerParameters.host, ServerParameters.port, data, ServerParameters.certificate,
      ServerParameters.key, ping, action: run)
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
    var configuration = ServerParameters.configuration(call, in: call[data])
    configuration.log = nil
    configuration.policy.maxConnections = 1_000_000
    configuration.policy.socketsPerUser = 1_000_000
    configuration.policy.pingInterval = call[ping]
    configuration.policy.pongWait = call[ping] + .seconds(30)
    configuration.policy.postInterval = .milliseconds(1)
    configuration.policy.postBurst = 1_000_000
    return configuration
  }
}
