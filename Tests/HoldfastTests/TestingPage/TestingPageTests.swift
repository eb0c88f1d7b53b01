import Foundation
import Holdfast
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Runs the example with a proxy. The page contains the lines between the two marks.
private func connectsAfterReset(_ port: UInt16) async throws -> Bool {
  // docs/testing.md >
  let proxy = try FaultProxy(upstream: port)  // the port of a server on this machine
  let socket = try await HeldSocket("ws://127.0.0.1:\(proxy.port)/orders")
  try await proxy.set(.reset)  // ends open and new connections
  try await proxy.set(.pass)
  // docs/testing.md <
  for await case .status(let status) in socket where status.phase == .connected {
    await socket.close()
    return true
  }
  return false
}

/// Tests that the examples of docs/testing.md work, and that the page contains them verbatim.
///
/// The other examples are in OrderTests.swift, ShopScreenTests.swift and PolicyTests.swift.
@Suite(.timeLimit(.minutes(60))) struct TestingPageTests {
  @Test func `the example with a proxy connects`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      let isConnected = try await connectsAfterReset(server.port)
      #expect(isConnected)
    }
  }

  @Test func `a busy server is not asked before the time that it names`() async throws {
    let example = OrderTests()
    let socket = try await HeldSocket(example.configuration)
    let start = example.clock.now
    try await example.network.nextSocket().fail(
      .http(status: 503, retryAfter: .seconds(60), detail: "busy"))
    _ = try await example.network.nextSocket(advancing: example.clock)
    #expect(start.duration(to: example.clock.now) >= .seconds(60))
    await socket.close()
  }

  @Test func `advancing after a loss stops before the ping of the lost connection`() async throws {
    let example = OrderTests()
    let socket = try await HeldSocket(example.configuration)
    let first = try await example.network.nextSocket().accepted()
    try await socket.send("two oat")
    #expect(try await first.nextText() == "two oat")
    let start = example.clock.now
    await first.drop()
    _ = try await example.network.nextSocket(advancing: example.clock)
    #expect(start.duration(to: example.clock.now) < .seconds(5))
    // `close` could wait for the clock, since the pong of the order may have been lost.
    withExtendedLifetime(socket) {}
  }

  @Test func `the page contains the examples verbatim`() throws {
    let page = try Self.text(at: "docs/testing.md")
    let orders = try Self.text(at: "Tests/HoldfastTests/TestingPage/OrderTests.swift")
    let screen = try Self.text(at: "Tests/HoldfastUITests/ShopScreenTests.swift")
    let policy = try Self.text(at: "Tests/SimulatorTests/PolicyTests.swift")
    let parts = try Self.text(at: "Tests/HoldfastTests/TestingPage/TestingPageTests.swift")
      .components(separatedBy: "  // docs/testing.md ")
    let proxy = try #require(parts.dropFirst().first).split(separator: "\n").dropFirst()
      .map { $0.dropFirst(2) + "\n" }.joined(separator: "")
    for example in [orders, screen, policy, proxy] {
      #expect(page.contains("```swift\n" + example + "```\n"))
    }
  }

  @Test func `the page quotes an error of the kit`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(clock: clock)
    let retry = clock.now.advanced(by: .milliseconds(1004))
    let client = Task { try? await clock.wait(until: retry) }
    await clock.someoneWaits(for: retry)
    let failure = await #expect(throws: WaitFailure.self) {
      try await network.nextSocket(within: .milliseconds(10))
    }
    client.cancel()
    let text = try #require(failure).description.replacing("0.01 s", with: "600.0 s")
    let words = try Self.text(at: "docs/testing.md").split { $0.isWhitespace }
    #expect(words.joined(separator: " ").contains(text))
  }

  private static func text(at path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../..").standardizedFileURL
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
