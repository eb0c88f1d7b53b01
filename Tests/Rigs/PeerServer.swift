import Foundation
import Glibc
import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import HoldfastTestKit

/// The software that runs the WebSocket server of a test.
package enum Maker: String, CaseIterable, Sendable {
  /// The sockets of this package, in the test process.
  case holdfast
  /// Python's `websockets` and `aiohttp`, which `scripts/peers` installs.
  case websockets, aiohttp

  /// The path of a Python interpreter with both packages, or `nil` if they are not installed.
  package static var python: String? {
    let package = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../..").standardizedFileURL.path
    return [package, FileManager.default.currentDirectoryPath]
      .map { "\($0)/.build/socket-peers/bin/python" }
      .first(where: FileManager.default.isExecutableFile)
  }

  package static let foreign = python == nil ? [] : [Maker.websockets, .aiohttp]
  package static let installed = [Maker.holdfast] + foreign
}

/// The behavior of a server on one connection.
///
/// The last entry of a plan also applies to all later connections.
package struct PlanEntry: Codable, Sendable {
  /// The status with which the server refuses the upgrade, if it refuses it.
  package var refuse: Int?
  /// The number of messages that the server waits for before it sends anything.
  package var expect: Int?
  package var send: [Item]?
  /// The code with which the server closes the connection. Without a code, the server echoes
  /// messages.
  package var close: UInt16?
  /// The reason in the close frame. Only this package's server sends it.
  package var reason: String?

  package init(
    refuse: Int? = nil, expect: Int? = nil, send: [Item]? = nil, close: UInt16? = nil,
    reason: String? = nil
  ) {
    self.refuse = refuse
    self.expect = expect
    self.send = send
    self.close = close
    self.reason = reason
  }

  package static let echo = PlanEntry()

  package static func refuse(_ status: Int) -> PlanEntry { PlanEntry(refuse: status) }

  /// A message. A long message is given by its length.
  package enum Item: Codable, Sendable {
    case text(String)
    case long(Int)
    case binary(Int)

    private enum Keys: String, CodingKey { case text, binary }

    package init(from decoder: any Decoder) throws {
      self = .text(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
      if case .text(let text) = self {
        var container = encoder.singleValueContainer()
        return try container.encode(text)
      }
      var container = encoder.container(keyedBy: Keys.self)
      switch self {
      case .text: return
      case .long(let count): try container.encode(count, forKey: .text)
      case .binary(let count): try container.encode(count, forKey: .binary)
      }
    }

    /// The content of the message, which the Python script creates in the same way.
    package var bytes: [UInt8] {
      switch self {
      case .text(let text): Array(text.utf8)
      case .long(let count): Array(repeating: UInt8(ascii: "x"), count: count)
      case .binary(let count): (0..<count).map { UInt8($0 % 251) }
      }
    }
  }
}

/// An event that a server reports.
package struct PeerEvent: Decodable, Sendable, Equatable {
  package var event: String
  package var connection: Int?
  package var port: UInt16?
  package var subprotocol: String?
  package var headers: [String: String]?
  package var compressed: Bool?
  package var text: String?
  package var long: Int?
  package var binary: Int?
  package var code: Int?
}

/// A WebSocket server that follows a plan.
package final class PeerServer: Sendable {
  package let port: UInt16
  package let events: AsyncStream<PeerEvent>
  private let process: LabProcess?
  private let server: SocketServer<PlanHandler>?

  package var url: String { "ws://127.0.0.1:\(port)/feed" }

  /// Runs `body` with a server, and stops the server afterwards.
  package static func run(
    _ maker: Maker, _ plan: [PlanEntry], port: UInt16 = 0,
    _ body: (PeerServer) async throws -> Void
  ) async throws {
    let server =
      maker == .holdfast
      ? try await PeerServer(plan, port: port) : try await PeerServer(maker, plan, port: port)
    do {
      try await body(server)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private init(_ maker: Maker, _ plan: [PlanEntry], port: UInt16) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Peers/server.py").path
    let plan = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
    let process = try LabProcess(
      [Maker.python ?? "python3", script, maker.rawValue, "\(port)", plan],
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    let (events, sink) = AsyncStream.makeStream(of: PeerEvent.self)
    let (ports, port) = AsyncStream.makeStream(of: UInt16.self)
    Task {
      for await line in process.lines {
        guard let event = try? JSONDecoder().decode(PeerEvent.self, from: Data(line.utf8)) else {
          continue
        }
        if let number = event.port { port.yield(number) } else { sink.yield(event) }
      }
      port.finish()
      sink.finish()
    }
    guard let number = await ports.first(where: { _ in true }) else {
      var errors: [String] = []
      for await line in process.diagnostics { errors.append(line) }
      throw PeerFailed(errors: errors)
    }
    (self.port, self.events, self.process, server) = (number, events, process, nil)
  }

  private init(_ plan: [PlanEntry], port: UInt16) async throws {
    var configuration = SocketServerConfiguration()
    configuration.port = port
    configuration.allowsDeflate = true
    configuration.webSocket = WebSocketLimits(maxMessageBytes: 32 << 20, oversize: .close)
    configuration.maxQueuedBytes = 128 << 20
    let (events, sink) = AsyncStream.makeStream(of: PeerEvent.self)
    let server = try SocketServer(configuration, handler: PlanHandler(plan: plan, events: sink))
    let bound = try Self.bind(configuration)
    self.port = bound.number
    try await server.start(on: bound)
    (self.events, process, self.server) = (events, nil, server)
  }

  /// Binds a port. Retries while a connection of another test occupies the port.
  private static func bind(_ configuration: SocketServerConfiguration) throws -> BoundPort {
    while true {
      do {
        return try BoundPort(configuration)
      } catch {
        guard configuration.port != 0, case .bind(_, _, EADDRINUSE) = error else { throw error }
        try Task.checkCancellation()
      }
    }
  }

  package func stop() async {
    process?.signal(SIGKILL)
    _ = await process?.exit()
    await server?.stop()
  }

  /// Sends a signal to a server that runs in its own process.
  package func signal(_ number: Int32) { process?.signal(number) }

  /// Reads events until `pick` returns a value, and returns that value.
  package func next<Found>(_ pick: (PeerEvent) -> Found?) async throws -> Found {
    for await event in events {
      if let found = pick(event) { return found }
    }
    throw PeerFailed(errors: ["the server has ended"])
  }

  /// Returns the next event that reports an opened connection.
  package func opened() async throws -> PeerEvent {
    try await next { $0.event == "opened" ? $0 : nil }
  }

  /// Returns the next `count` messages that the server received. Binary messages are given by size.
  package func got(_ count: Int) async throws -> [String] {
    var texts: [String] = []
    while texts.count < count {
      texts.append(try await next { $0.event == "got" ? $0.text ?? "\($0.binary ?? 0)" : nil })
    }
    return texts
  }
}

package struct PeerFailed: Error {
  package var errors: [String]

  package init(
    errors: [String]
  ) {
    self.errors = errors
  }
}

/// A handler that follows a plan on the sockets of this package.
private struct PlanHandler: SocketHandler {
  let plan: [PlanEntry]
  let events: AsyncStream<PeerEvent>.Continuation
  private var count = 0
  private var open: [ConnectionID: (number: Int, entry: PlanEntry, left: Int)] = [:]

  init(plan: [PlanEntry], events: AsyncStream<PeerEvent>.Continuation) {
    (self.plan, self.events) = (plan, events)
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, let head): upgrade(id, head, hub)
    case .opened(let id): play(id, hub)
    case .text(let id, let bytes): got(id, bytes, isText: true, hub)
    case .binary(let id, let bytes): got(id, bytes, isText: false, hub)
    case .closed(let id, let ending): ended(id, ending)
    case .overflow(let id): hub.drop(id)
    case .request, .abandoned, .received, .pong, .drained, .starved, .crowded, .woke,
      .announced, .cut, .passed:
      break
    }
  }

  private mutating func upgrade(_ id: RequestID, _ head: HTTPRequestHead, _ hub: SocketHub) {
    count += 1
    let entry = plan[min(count, plan.count) - 1]
    var headers: [String: String] = [:]
    for name in ["authorization", "x-test", "sec-websocket-extensions"] {
      headers[name] = head.first(name)
    }
    if let status = entry.refuse {
      events.yield(PeerEvent(event: "refused", connection: count, headers: headers))
      return hub.respond(to: id, status: status, headers: [], body: [])
    }
    let offers = head.first("sec-websocket-protocol")?.split(separator: ", ") ?? []
    let chosen = offers.first { $0 == "feed.v2" || $0 == "feed.v1" }.map { String($0) }
    events.yield(
      PeerEvent(
        event: "opened", connection: count, subprotocol: chosen, headers: headers,
        compressed: headers["sec-websocket-extensions"] != nil))
    if let connection = hub.connection(of: id) {
      open[connection] = (count, entry, entry.expect ?? 0)
    }
    hub.accept(id, headers: chosen.map { [("Sec-WebSocket-Protocol", $0)] } ?? [])
  }

  private func play(_ id: ConnectionID, _ hub: SocketHub) {
    guard let (_, entry, left) = open[id], left == 0 else { return }
    for item in entry.send ?? [] {
      if case .binary = item {
        hub.send(binary: item.bytes, to: id)
      } else {
        hub.send(text: item.bytes, to: id)
      }
    }
    if let code = entry.close { hub.close(id, code: code, reason: entry.reason ?? "") }
  }

  private mutating func got(_ id: ConnectionID, _ bytes: [UInt8], isText: Bool, _ hub: SocketHub) {
    guard let (number, entry, left) = open[id] else { return }
    let text = isText && bytes.count < 200 ? String(decoding: bytes, as: UTF8.self) : nil
    events.yield(
      PeerEvent(
        event: "got", connection: number, text: text,
        long: isText && text == nil ? bytes.count : nil, binary: isText ? nil : bytes.count))
    open[id] = (number, entry, left - 1)
    if left == 1 { play(id, hub) }
    guard left <= 0, entry.close == nil else { return }
    if isText { hub.send(text: bytes, to: id) } else { hub.send(binary: bytes, to: id) }
  }

  private mutating func ended(_ id: ConnectionID, _ ending: SocketEnding) {
    let number = open.removeValue(forKey: id)?.number
    let code: UInt16 =
      switch ending {
      case .peerClosed(let code, _), .closed(let code, _), .violation(let code, _): code
      case .ended, .reset, .dropped, .stopped: 1006
      }
    events.yield(PeerEvent(event: "ended", connection: number, code: Int(code)))
  }
}
