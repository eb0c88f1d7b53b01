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
  var options = SocketOptions()
  options.position = position
  options.outbox = .memory

  // The first message of every connection, and its confirmation.
  options.language.hello = { greeting in
    .text(greeting.position == nil ? "hello" : "hello again")
  }
  options.language.confirms = { $0.text == "welcome" }

  // The position of a line, and the request for later lines after a loss.
  options.language.position = { message in
    guard let number = message.text?.prefix(while: \.isNumber), !number.isEmpty else { return nil }
    return String(number)
  }
  options.language.resume = { .text("after \($0)") }

  // A ping that the application answers, not only its WebSocket library.
  options.language.ping = .text("ping")
  options.language.answersPing = { $0.text == "pong" }

  let socket = try await HeldSocket(url, policy: .socket, options: options)
  socket.send("thanks")
  for await event in socket {
    switch event {
    case .text("welcome"), .text("pong"): continue
    case .text(let line):
      if await show(line) { continue }
      // Lines may arrive while the socket closes.
      return await socket.close()
    case .status(let status) where status.phase == .failed:
      await socket.close()  // such as 403, where a retry cannot help
    case .status, .quality, .sent, .notice, .binary: continue
    }
  }
}
// docs/held-socket.md <

/// Tests that the example of docs/held-socket.md compiles and does what the page describes.
@Suite(.timeLimit(.minutes(10))) struct HeldSocketPageTests {
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
      .starved, .crowded, .woke, .announced, .cut:
      break
    }
  }
}
