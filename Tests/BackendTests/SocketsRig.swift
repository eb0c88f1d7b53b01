import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import Testing

/// A handler that responds through a closure, and forwards its events to the test.
struct SocketsHandler: SocketHandler {
  typealias Answer = @Sendable (SocketEvent, SocketHub) -> Void

  let answer: Answer
  let continuation: AsyncStream<SocketEvent>.Continuation
  /// The requests and upgrades that were received.
  var pending: [RequestID] = []
  var open: [ConnectionID] = []

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let id, _, _), .upgrade(let id, _): pending.append(id)
    case .opened(let id): open.append(id)
    case .closed(let id, _): open.removeAll { $0 == id }
    case .abandoned, .received, .text, .binary, .pong, .overflow, .drained, .starved, .crowded,
      .woke, .announced, .cut, .passed:
      break
    }
    answer(event, hub)
    continuation.yield(event)
  }

  /// Echoes requests and texts, refuses upgrades of `/no`, and does not answer `/later`.
  static let echo: Answer = { event, hub in
    switch event {
    case .request(_, let head, _) where head.path == "/later": break
    case .request(let id, let head, let body):
      hub.respond(
        to: id, status: 200, headers: [("X-Method", head.method)],
        body: Array("\(head.target) ".utf8) + body)
    case .upgrade(_, let head) where head.path == "/later": break
    case .upgrade(let id, let head) where head.path == "/no":
      hub.respond(to: id, status: 401, headers: [("WWW-Authenticate", "Bearer")], body: [])
    case .upgrade(let id, _): hub.accept(id, headers: [("X-Shop", "7")])
    case .text(let id, let bytes): hub.send(text: bytes, to: id)
    case .opened, .abandoned, .received, .binary, .pong, .overflow, .drained, .closed, .starved,
      .crowded, .woke, .announced, .cut, .passed:
      break
    }
  }
}

/// A running server and the events of its handler.
struct SocketsRig {
  let server: SocketServer<SocketsHandler>
  let port: UInt16
  let events: AsyncStream<SocketEvent>

  /// Runs `body` against a new server, and then stops the server.
  static func run(
    _ configure: (inout SocketServerConfiguration) -> Void = { _ in },
    answer: @escaping SocketsHandler.Answer = SocketsHandler.echo,
    _ body: (SocketsRig) async throws -> Void
  ) async throws {
    var configuration = SocketServerConfiguration()
    // Tests of a time limit lower it again.
    configuration.limitSteps(to: .seconds(3_600))
    configure(&configuration)
    let (events, continuation) = AsyncStream<SocketEvent>.makeStream()
    let server = try SocketServer(
      configuration, handler: SocketsHandler(answer: answer, continuation: continuation))
    let bound = try BoundPort(configuration)
    let port = bound.number
    try await server.start(on: bound)
    do {
      try await body(SocketsRig(server: server, port: port, events: events))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  func client(receiveBuffer: Int32? = nil) throws -> SocketsClient {
    try SocketsClient(port: port, receiveBuffer: receiveBuffer)
  }

  /// Waits for the first event for which `pick` returns a value, and returns that value.
  @discardableResult
  func next<Found>(_ pick: (SocketEvent) -> Found?) async throws -> Found {
    for await event in events {
      if let found = pick(event) { return found }
    }
    throw CancellationError()
  }

  func opened() async throws -> ConnectionID {
    try await next { if case .opened(let id) = $0 { id } else { nil } }
  }

  func closed() async throws -> SocketEnding {
    try await next { if case .closed(_, let ending) = $0 { ending } else { nil } }
  }
}
