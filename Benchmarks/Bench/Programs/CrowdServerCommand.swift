import HoldfastCommandKit
import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets

/// The command `HoldfastBench crowd-server`, which runs the package's server sockets.
///
/// It supports the commands of all servers in the transport benchmarks, `fan N` and `push N`, and
/// echoes every other message.
enum CrowdServerCommand {
  private static let certificate = Parameter<String?>.optional(
    "tls-cert", .text("FILE"), "serve TLS with this PEM certificate")
  private static let key = Parameter<String?>.optional("tls-key", .text("FILE"), "its key")
  private static let deflate = Parameter<Bool>.flag("deflate", "agree to permessage-deflate")
  private static let ping = Parameter<Duration>.option(
    "ping-interval", .duration(.milliseconds(10) ... .seconds(3600)), default: .seconds(3600),
    "how often an open socket is pinged")

  static var command: Command {
    Command(
      "crowd-server", "serve a crowd of sockets until killed; prints its port",
      examples: [.init("HoldfastBench crowd-server", "on a free port")],
      takes: certificate, key, deflate, ping, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    var configuration = SocketServerConfiguration()
    configuration.maxConnections = 100_000
    configuration.maxConnectionsPerAddress = 100_000
    configuration.maxQueuedBytes = 1 << 30
    configuration.allowsDeflate = call[deflate]
    if let chain = call[certificate], let key = call[key] {
      configuration.tls = TLSFiles(certificatePath: chain, keyPath: key)
    }
    do {
      let bound = try BoundPort(configuration)
      let port = bound.number
      let server = try SocketServer(
        configuration, handler: CrowdHandler(pingInterval: call[ping]))
      try await server.start(on: bound)
      call.console.line("\(port)")
    } catch {
      throw CommandFailure(.failed, "the server cannot start: \(error)")
    }
    await Echo.untilKilled()
  }
}

/// A handler that tracks all connected clients and the number of messages still to be sent to them.
private struct CrowdHandler: SocketHandler {
  /// A message of 300 bytes. Its first byte is the mark that the load generator counts.
  private static let frame = WebSocketFrame.text(
    [UInt8(ascii: "@")] + [UInt8](repeating: UInt8(ascii: "f"), count: 299))

  let pingInterval: Duration
  private var clients: [ConnectionID] = []
  /// The number of messages still to be sent to all clients. One is sent in each turn of the loop.
  private var left = 0
  private var pingAt: Instant?

  init(pingInterval: Duration) { self.pingInterval = pingInterval }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, _): hub.accept(id)
    case .request(let id, _, _): hub.respond(to: id, status: 404, headers: [], body: [])
    case .opened(let id):
      clients.append(id)
      if pingAt == nil { pingAt = hub.now.advanced(by: pingInterval) }
    case .text(let id, let bytes): obey(bytes, from: id, on: hub)
    case .binary(let id, let bytes): hub.send(binary: bytes, to: id)
    case .closed(let id, _): clients.removeAll { $0 == id }
    case .woke: sendNext(hub)
    case .abandoned, .received, .pong, .overflow, .drained, .starved, .crowded, .announced,
      .cut, .passed:
      break
    }
    hub.wake(at: left > 0 ? hub.now : pingAt)
  }

  private mutating func obey(_ bytes: [UInt8], from id: ConnectionID, on hub: SocketHub) {
    let fields =
      bytes.count < 32 ? String(decoding: bytes, as: UTF8.self).split(separator: " ") : []
    switch (fields.first, fields.last.flatMap { Int($0) }) {
    case ("fan", let count?): left += count
    case ("push", let count?): push(count, to: id, on: hub)
    case _: hub.send(text: bytes, to: id)
    }
  }

  private mutating func sendNext(_ hub: SocketHub) {
    if left > 0 {
      left -= 1
      hub.send(frame: Self.frame, to: clients)
    }
    if let due = pingAt, due <= hub.now {
      for id in clients { hub.ping(id) }
      pingAt = due.advanced(by: pingInterval)
    }
  }

  /// Queues all messages at once, since it is the client's speed that is measured.
  private func push(_ count: Int, to id: ConnectionID, on hub: SocketHub) {
    let atOnce = 200
    let piece = (0..<atOnce).flatMap { _ in Self.frame }
    for _ in 0..<(count / atOnce) { hub.send(frame: piece, to: [id]) }
  }
}
