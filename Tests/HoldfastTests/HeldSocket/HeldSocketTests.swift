import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastRigs
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of the public API of held sockets, over real sockets.
@Suite(.timeLimit(.minutes(60))) struct HeldSocketTests {
  private static func policy(_ changes: (String, String)...) throws -> LinkPolicy {
    let brisk = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    return try LinkPolicy.socket.setting(
      [("retry.first", brisk), ("retry.reconnect", brisk), ("retry.serverJitter", "10ms")] + changes
    )
  }

  @Test func `shows status, texts and bytes, and ends with 1000`() async throws {
    let plan = [PlanEntry(expect: 1, send: [.text("a"), .binary(3)])]
    try await PeerServer.run(.holdfast, plan) { server in
      let socket = try await HeldSocket(server.url, policy: try Self.policy())
      await socket.waitUntil(\.isConnected)
      try await socket.send("hello")
      var events: [HeldSocket.Event] = []
      for await event in socket {
        events.append(event)
        if case .binary = event { break }
      }
      #expect(
        events == [
          .status(LinkStatus(phase: .connecting, attempt: 1)),
          .status(LinkStatus(phase: .connected, mode: .live, quality: .good)), .sent(count: 1),
          .text("a"), .binary(Data([0, 1, 2])),
        ])
      await socket.close()
      let code = try await server.next { $0.event == "ended" ? $0.code : nil }
      #expect(code == 1000)
    }
  }

  @Test func `an app that does not read loses nothing and keeps its connection`() async throws {
    // The 120 messages of 500 kB amount to four times the limit for unread messages.
    let plan = [PlanEntry(send: Array(repeating: .long(500_000), count: 120))]
    try await PeerServer.run(.holdfast, plan) { server in
      let policy = try Self.policy(("liveness.ping", "1s"), ("liveness.pongTimeout", "20s"))
      let socket = try await HeldSocket(server.url, policy: policy)
      // Wait longer than the ping interval and the pong time-out together. If a pause in reading
      // counted as silence, the socket would end.
      let clock = BootClock()
      try await clock.wait(until: clock.now.advanced(by: .seconds(22)))
      var (bytes, connections) = (0, 0)
      for await event in socket {
        if case .text(let text) = event { bytes += text.utf8.count }
        if case .status(let status) = event, status.phase == .connected { connections += 1 }
        if bytes == 60_000_000 { break }
      }
      #expect(bytes == 60_000_000)
      #expect(connections == 1)
      await socket.close()
    }
  }

  @Test func `a durable outbox continues in the next run`() async throws {
    let scratch = try Scratch()
    var store = try await HoldfastPlatform.outbox(in: scratch.path)
    let port = TestPort.random()
    var configuration = SocketConfiguration(
      "ws://127.0.0.1:\(port)/", policy: try Self.policy())
    configuration.outbox = .durable(store)
    let first = try await HeldSocket(configuration)
    for text in ["1", "2", "3"] { try await first.send(text) }
    await #expect(throws: OpenError.self) { try await HeldSocket(configuration) }
    await first.close()
    await #expect(throws: HeldSocket.SendError(id: 4, .closed)) { try await first.send("late") }
    await store.close()
    store = try await HoldfastPlatform.outbox(in: scratch.path)
    configuration.outbox = .durable(store)
    #expect(try await store.load().map(\.message) == [.text("1"), .text("2"), .text("3")])
    let again = configuration
    try await PeerServer.run(.holdfast, [.echo], port: port) { server in
      let second = try await HeldSocket(again)
      #expect(second.restored.map(\.id) == [1, 2, 3])
      #expect(try await second.send("4") == 4)
      #expect(try await server.got(4) == ["1", "2", "3", "4"])
      await second.waitUntil { $0.queue.entries.isEmpty }
      await second.close()
    }
    #expect(try await store.load() == [])
    let third = try await HeldSocket(again)
    #expect(try await third.send("5") == 5)
    await third.close()
    await store.close()
  }

  @Test func `a greeting contains the token`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      var configuration = SocketConfiguration(server.url, policy: try Self.policy())
      configuration.tokens = .fixed("token-123456")
      configuration.messages.hello = { .text("login \($0.token ?? "without")") }
      let socket = try await HeldSocket(configuration)
      #expect(try await server.opened().headers?["authorization"] == "Bearer token-123456")
      #expect(try await server.got(1) == ["login token-123456"])
      await socket.close()
    }
  }

  @Test(arguments: ["", "nonsense", "ws:///", "ws://user@host/", "wss://host/#part"])
  func `an invalid URL is refused immediately`(url: String) async {
    await #expect(throws: OpenError.self) { try await HeldSocket(url) }
  }

  @Test(arguments: [
    ("http://127.0.0.1/", "ws or wss"), ("ftp://127.0.0.1/", "ws or wss"),
    ("ws://example.com/feed", "allowsPlaintext"), ("ws://192.0.2.1/feed", "allowsPlaintext"),
  ])
  func `the error for a URL names the remedy`(url: String, remedy: String) async throws {
    let error = await #expect(throws: OpenError.self) { try await HeldSocket(url) }
    #expect(try #require(error).description.contains(remedy))
  }

  @Test func `a network of the app does not allow plaintext to another device`() async throws {
    var configuration = SocketConfiguration("WS://example.com/feed")
    configuration.ports.network = FakeNetwork(clock: TestClock())
    let refused = configuration
    let error = await #expect(throws: OpenError.self) { try await HeldSocket(refused) }
    #expect(try #require(error).description.contains("allowsPlaintext"))
  }

  private static let misfits:
    [(remedy: String, change: @Sendable (inout SocketConfiguration) -> Void)] = [
      ("messages.hello", { ($0.tokens, $0.placement) = (.fixed("token"), .greeting) }),
      (
        "awaitsConfirmation",
        {
          $0.messages.read = { _ in SocketReading() }
          $0.messages.confirms = { $0.text == "welcome" }
        }
      ),
      ("messages.read", { $0.messages.awaitsConfirmation = true }),
      ("messages.answersPing", { $0.messages.ping = .text("ping") }),
      ("messages.messageID", { $0.messages.acknowledgedID = { $0.text } }),
      ("messages.acknowledgedID", { $0.messages.messageID = { $0.text } }),
      (
        "outbox `memory` or `durable`",
        {
          $0.messages.messageID = { $0.text }
          $0.messages.acknowledgedID = { $0.text }
          $0.outbox = .waiting
        }
      ),
    ]

  @Test func `functions that do not fit together are refused, with the remedy`() async throws {
    for (remedy, change) in Self.misfits {
      var configuration = SocketConfiguration("wss://example.com/feed")
      change(&configuration)
      let refused = configuration
      let error = await #expect(throws: OpenError.self) { try await HeldSocket(refused) }
      #expect(try #require(error).description.contains(remedy))
    }
  }

  @Test func `plaintext to another device can be allowed`() async throws {
    let network = FakeNetwork(clock: TestClock())
    var configuration = SocketConfiguration("ws://example.com/feed")
    configuration.ports.network = network
    configuration.allowsPlaintext = true
    let socket = try await HeldSocket(configuration)
    #expect(try await network.nextSocket().request.url == "ws://example.com/feed")
    await socket.close()
  }
}
