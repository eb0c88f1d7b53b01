import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSessionServer

/// The command `HoldfastBench session-server`, which runs the backend's sessions with high limits.
enum SessionServerCommand {
  private static let data = Parameter<String>.required(
    "data", .text("DIR"), "where the key and the sessions are kept")
  private static let inMemory = Parameter<Bool>.flag(
    "in-memory", "keep sessions in memory only")
  private static let handler = Parameter<String?>.optional(
    "handler", .text("CMD"), "answer prompts with this shell command")

  static var command: Command {
    Command(
      "session-server", "run the backend until killed; prints its session URL, then its key file",
      examples: [.init("HoldfastBench session-server --data /tmp/sessions", "on a free port")],
      takes: ServerParameters.host, ServerParameters.port, data, inMemory, handler,
      ServerParameters.certificate,
      ServerParameters.key, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    let configuration = configuration(call)
    let stores: [any SuspendableStore] = call[inMemory] ? [MemorySessionStore()] : []
    let backend = Backend(configuration, stores: stores)
    do {
      let address = try await backend.start()
      call.console.line(address.session)
      call.console.line(configuration.sessionKeyPath)
    } catch {
      throw CommandFailure(.failed, "the backend cannot start: \(error)")
    }
    await Echo.untilKilled()
  }

  private static func configuration(_ call: Invocation) -> BackendConfiguration {
    var configuration = ServerParameters.configuration(call, in: call[data])
    configuration.sessionHandler = call[handler]
    configuration.session.maxSockets = 1_000_000
    configuration.session.socketsPerAddress = 1_000_000
    configuration.session.maxRunning = 1_000
    return configuration
  }
}
