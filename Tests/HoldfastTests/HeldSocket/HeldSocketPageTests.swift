import Foundation
import Holdfast
import HoldfastProtocols
import HoldfastServerSockets
import Synchronization
import Testing

// docs/held-socket.md >
/// Follows a feed of numbered lines, such as `42 rye is sold out`, starting after a position.
func follow(
  _ url: String, after position: String?, show: (String) async -> Bool
) async throws {
  var configuration = SocketConfiguration(url)
  configuration.position = position
  configuration.outbox = .memory

  // The first message of every connection, and its confirmation.
  configuration.messages.hello = { greeting in
    .text(greeting.position == nil ? "hello" : "hello again")
  }
  configuration.messages.confirms = { $0.text == "welcome" }

  // The position of a line, and the request for all later lines.
  configuration.messages.position = { message in
    guard let number = message.text?.prefix(while: \.isNumber), !number.isEmpty else { return nil }
    return String(number)
  }
  configuration.messages.resume = { .text("after \($0 ?? "0")") }

  // A ping that the application answers, not only its WebSocket library.
  configuration.messages.ping = .text("ping")
  configuration.messages.answersPing = { $0.text == "pong" }

  let socket = try await HeldSocket(configuration)
  socket.setStanding("topic", .text("topic bread"))  // sent on every connection
  let thanks = try await socket.send("thanks")
  for await event in socket {
    switch event {
    case .text("welcome"), .text("pong"): continue
    case .text(let line):
      if await show(line) { continue }
      return await socket.close()
    case .proven(let through) where through >= thanks: print("The thanks have arrived.")
    case .status, .quality, .sent, .stored, .proven, .notice, .binary: continue
    }
  }
  // The loop ends when no retry can help, such as after 403.
  if let failure = socket.failure { throw failure }
}
// docs/held-socket.md <

/// Tests that the example of docs/held-socket.md compiles and does what the page describes.
@Suite(.timeLimit(.minutes(60))) struct HeldSocketPageTests {
  @Test func `the example of the page follows a feed over lost connections`() async throws {
    var configuration = SocketServerConfiguration()
    configuration.webSocket = WebSocketLimits(maxMessageBytes: 65_536, oversize: .close)
    let said = Mutex<[String]>([])
    let server = try SocketServer(
      configuration, handler: FeedHandler { text in said.withLock { $0.append(text) } })
    let bound = try BoundPort(configuration)
    let port = bound.number
    try await server.start(on: bound)
    var shown: [String] = []
    try await follow("ws://127.0.0.1:\(port)/", after: "2") { line in
      shown.append(line)
      return shown.count < 4
    }
    #expect(shown == ["3 line", "4 line", "5 line", "6 line"])
    let greetings = said.withLock { $0.filter { $0.hasPrefix("hello") } }
    #expect(greetings.count >= 2 && greetings.allSatisfy { $0 == "hello again" })
    #expect(said.withLock { $0.contains("thanks") })
    #expect(said.withLock { $0.count { $0 == "topic bread" } } >= 2)
    await server.stop()
  }

  @Test func `the page shows exactly these lines`() throws {
    let lines = try Self.text(at: "Tests/HoldfastTests/HeldSocket/HeldSocketPageTests.swift")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "// docs/held-socket.md >"))
    let last = try #require(lines.firstIndex(of: "// docs/held-socket.md <"))
    let example = lines[(first + 1)..<last].joined(separator: "\n")
    #expect(last - first <= 50)
    let page = try Self.text(at: "docs/held-socket.md")
    #expect(page.contains("```swift\n" + example + "\n```\n"))
  }

  private static func text(at path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../..").standardizedFileURL
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}

/// An endless feed of numbered lines.
///
/// The feed sends two lines on each connection. It closes a connection that sends "thanks".
private struct FeedHandler: SocketHandler {
  let report: @Sendable (String) -> Void

  mutating func handle(_ event: HoldfastServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, _): hub.accept(id)
    case .text(let id, let bytes):
      let text = String(decoding: bytes, as: UTF8.self)
      report(text)
      if text.hasPrefix("hello") { hub.send(text: Array("welcome".utf8), to: id) }
      if text == "thanks" { hub.close(id, code: 1012, reason: "") }
      guard text.hasPrefix("after "), let last = Int(text.dropFirst(6)) else { return }
      for number in [last + 1, last + 2] {
        hub.send(text: Array("\(number) line".utf8), to: id)
      }
    case .request, .binary, .overflow, .abandoned, .opened, .received, .pong, .drained, .closed,
      .starved, .crowded, .woke, .announced, .cut, .passed:
      break
    }
  }
}
