import HoldfastCommandKit
import HoldfastProtocols
import HoldfastServerSockets

/// The command `HoldfastBench echo-server`, which runs an echo server on the backend's sockets for
/// a conformance suite.
enum EchoServerCommand {
  private static let port = Parameter<Int>.option(
    "port", .integer("PORT", 0...65_535), default: 0, "where to listen; 0 lets the system pick")
  private static let deflate = Parameter<Bool>.flag("deflate", "agree to permessage-deflate")

  static var command: Command {
    Command(
      "echo-server", "echo every message until killed",
      examples: [.init("HoldfastBench echo-server --port 9001", "on a fixed port")],
      takes: port, deflate, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    var configuration = SocketServerConfiguration()
    configuration.port = UInt16(call[port])
    configuration.allowsDeflate = call[deflate]
    configuration.webSocket = WebSocketLimits(
      maxMessageBytes: Echo.maxMessageBytes, maxFragments: Echo.maxFragments, oversize: .close)
    configuration.maxQueuedBytes = 4 * Echo.maxMessageBytes
    do {
      let bound = try BoundPort(configuration)
      let port = bound.number
      let server = try SocketServer(configuration, handler: EchoHandler())
      try await server.start(on: bound)
      call.console.line("ws://127.0.0.1:\(port)")
    } catch {
      throw CommandFailure(.failed, "the server cannot start: \(error)")
    }
    await Echo.untilKilled()
  }
}

/// Bounds for a test suite that sends up to 16 MiB, even in frames of 64 bytes.
enum Echo {
  static let maxMessageBytes = 64 << 20
  static let maxFragments = 1 << 20

  /// Waits until a signal ends the process.
  static func untilKilled() async {
    let (never, _) = AsyncStream<Never>.makeStream()
    for await _ in never {}
  }
}

/// A handler that echoes each message.
private struct EchoHandler: SocketHandler {
  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, _): hub.accept(id)
    case .request(let id, let head, let body):
      let seen = "\(head.method) \(head.target) \(body.count)\n"
      hub.respond(to: id, status: 200, headers: [], body: Array(seen.utf8))
    case .text(let id, let bytes): hub.send(text: bytes, to: id)
    case .binary(let id, let bytes): hub.send(binary: bytes, to: id)
    case .overflow(let id): hub.drop(id)
    case .abandoned, .opened, .received, .pong, .drained, .closed, .woke, .starved, .crowded,
      .announced, .cut, .passed:
      break
    }
  }
}
