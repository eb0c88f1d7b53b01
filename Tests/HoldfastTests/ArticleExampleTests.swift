import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastRigs
import Testing

/// Compiles the `main.swift` of the README.
private func mainProgram() async throws {
  // README.md >
  let socket = try await HeldSocket("wss://example.com/feed")
  for await case .text(let line) in socket { print(line) }
  if let failure = socket.failure { print("No retry can help: \(failure)") }
  // README.md <
}

/// Compiles the example of the article "Start here". The test below runs it with a server of its
/// own.
private func startHere(_ url: String, _ show: (String) -> Void) async throws {
  // Sources/Holdfast/Holdfast.docc/Start-here.md >
  var configuration = SocketConfiguration("wss://example.com/feed")
  configuration.outbox = .memory  // keeps messages while there is no connection
  // Sources/Holdfast/Holdfast.docc/Start-here.md =
  configuration.url = url
  // Sources/Holdfast/Holdfast.docc/Start-here.md +
  let socket = try await HeldSocket(configuration)
  let order = try await socket.send("two rye loaves")
  for await event in socket {
    switch event {
    case .status(let status): show("\(status)")
    case .text(let text): show(text)
    case .proven(let through) where through >= order: show("the order has arrived")
    case .proven, .stored, .binary, .quality, .sent, .notice: break
    }
  }
  if let failure = socket.failure { show("\(failure)") }
  // Sources/Holdfast/Holdfast.docc/Start-here.md <
}

/// Compiles the example of the article "On Apple platforms".
private func passOwnParts(
  _ network: any SocketDialer & HTTPClient, isInBackground: Bool
) async throws -> HeldSocket {
  // Sources/Holdfast/Holdfast.docc/On-Apple-platforms.md >
  var configuration = SocketConfiguration("wss://example.com/feed")
  configuration.ports = DevicePorts(network: network)
  let socket = try await HeldSocket(configuration)
  // Whenever the phase of the scene changes:
  socket.setLifecycle(isInBackground ? .background : .foreground)
  // Sources/Holdfast/Holdfast.docc/On-Apple-platforms.md <
  return socket
}

/// Tests that each Swift example of the README's first section and of the articles is compiled, and
/// that the first example works as described.
@Suite(.timeLimit(.minutes(60))) struct ArticleExampleTests {
  @Test func `the first example shows states, messages and the reason of its end`() async throws {
    let plan = [PlanEntry(expect: 1, send: [.text("welcome")], close: 4000), .refuse(403)]
    try await PeerServer.run(.holdfast, plan) { server in
      var shown: [String] = []
      try await startHere(server.url) { shown.append($0) }
      #expect(shown.contains { $0.hasPrefix("connected") } && shown.contains("welcome"))
      #expect(shown.last?.hasPrefix("the server answered 403 (forbidden)") == true)
      #expect(try await server.got(1) == ["two rye loaves"])
    }
  }

  @Test func `the README's program is compiled`() throws {
    let program = "import HoldfastSocket\n\n" + (try Self.example("README.md"))
    let page = try Self.text(at: "README.md")
    #expect(page.contains("```swift\n" + program + "\n```\n"))
  }

  @Test func `every Swift example of an article is compiled`() throws {
    let sources = Self.root.appending(path: "Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var count = 0
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "md" else { continue }
      let path = "Sources" + file.path.dropFirst(sources.path.count)
      let blocks = try Self.text(at: path).components(separatedBy: "```swift\n").dropFirst()
      guard !blocks.isEmpty else { continue }
      let shown = blocks.map { $0.components(separatedBy: "\n```").first }
      let example = try Self.example(path)
      #expect(shown == [example], "\(path)")
      count += 1
    }
    #expect(count == 2)
  }

  /// Returns the lines between the marks of a page, without the indentation of the function's body
  /// and without lines that only the test needs.
  private static func example(_ page: String) throws -> String {
    let lines = try text(at: "Tests/HoldfastTests/ArticleExampleTests.swift")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "  // \(page) >"))
    let last = try #require(lines.firstIndex(of: "  // \(page) <"))
    var shown = Array(lines[(first + 1)..<last])
    if let from = shown.firstIndex(of: "  // \(page) ="),
      let to = shown.firstIndex(of: "  // \(page) +")
    {
      shown.removeSubrange(from...to)
    }
    return shown.map { $0.dropFirst(2) }.joined(separator: "\n")
  }

  private static var root: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  private static func text(at path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
