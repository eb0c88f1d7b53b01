import CommandKit
import HoldfastBackend
import LinkCore
import LinkRuntime
import LinkServerCore

/// `holdfast-bench session-server`: sessions of the real backend in a process of their own, with
/// wide bounds.
enum SessionServerCommand {
  private static let host = Parameter<String>.option(
    "host", .text("HOST"), default: "127.0.0.1", "where to listen")
  private static let port = Parameter<Int>.option(
    "port", .integer("PORT", 0...65_535), default: 0, "where to listen; 0 lets the system pick")
  private static let data = Parameter<String>.required(
    "data", .text("DIR"), "where the key and the sessions are kept")
  private static let inMemory = Parameter<Bool>.flag(
    "in-memory", "keep sessions in memory only")
  private static let handler = Parameter<String?>.optional(
    "handler", .text("CMD"), "answer prompts with this shell command")
  private static let certificate = Parameter<String?>.optional(
    "tls-cert", .text("FILE"), "serve TLS with this PEM certificate")
  private static let key = Parameter<String?>.optional("tls-key", .text("FILE"), "its key")

  static var command: Command {
    Command(
      "session-server", "run the backend until killed; prints its session URL, then its key file",
      examples: [.init("holdfast-bench session-server --data /tmp/sessions", "on a free port")],
      takes: host, port, data, inMemory, handler, certificate, key, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    let configuration = configuration(call)
    let stores: [any Store] = call[inMemory] ? [MemorySessionStore()] : []
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
    var configuration = BackendConfiguration(dataDirectory: call[data])
    configuration.host = call[host]
    configuration.port = UInt16(call[port])
    if let chain = call[certificate], let key = call[key] {
      configuration.certificate = .init(chainPath: chain, keyPath: key)
    }
    configuration.sessionHandler = call[handler]
    configuration.maxConnectionsPerAddress = 1_000_000
    configuration.session.maxSockets = 1_000_000
    configuration.session.socketsPerAddress = 1_000_000
    configuration.session.maxRunning = 1_000
    return configuration
  }
}
