import Foundation
import HoldfastCore
import HoldfastHeldSocket
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import Holdfast

/// Tests of the effect handler of a held socket, with an app and a network that the test controls.
@Suite(.timeLimit(.minutes(60))) struct HeldSocketEffectHandlerTests {
  private let clock = TestClock()
  private let network: FakeNetwork

  init() { network = FakeNetwork(clock: clock) }

  private func make(
    _ change: (inout SocketConfiguration) -> Void = { _ in }
  ) async throws -> HeldSocket {
    var configuration = SocketConfiguration("ws://127.0.0.1:1/feed?key=SEKRIT-QUERY")
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    change(&configuration)
    return try await HeldSocket(configuration)
  }

  /// Returns a source of the tokens `token-1`, `token-2` and so on.
  private static func tokens() -> TokenSource {
    let made = SharedCounter()
    return TokenSource { "token-\(made.next())" }
  }

  private static let signIn = LinkFailure.http(
    status: 401, retryAfter: nil, detail: "the user must sign in")

  @Test func `a failure that echoes the URL's query does not show the query`() async throws {
    let socket = try await make()
    let echo = "cannot GET /feed?key=SEKRIT-QUERY"
    try await network.nextSocket().fail(.http(status: 403, retryAfter: nil, detail: echo))
    for await _ in socket {}
    let clean = LinkFailure.http(status: 403, retryAfter: nil, detail: "cannot GET /feed?[token]")
    #expect(socket.failure == clean)
    await socket.close()
  }

  @Test func `the loop ends at a final failure, and goes on after another attempt`() async throws {
    let socket = try await make()
    let refused = LinkFailure.http(status: 403, retryAfter: nil, detail: "")
    try await network.nextSocket().fail(refused)
    var phases: [LinkStatus.Phase] = []
    for await case .status(let status) in socket { phases.append(status.phase) }
    #expect(phases == [.connecting, .failed])
    #expect(socket.failure == refused)
    socket.reconnect()
    try await network.nextSocket().accepted().send("back")
    for await case .text(let text) in socket {
      #expect(text == "back")
      break
    }
    #expect(socket.failure == nil)
    await socket.close()
  }

  @Test(arguments: TokenPlacement.allCases)
  func `the request contains the token only where it belongs`(
    placement: TokenPlacement
  ) async throws {
    let socket = try await make {
      $0.tokens = .fixed("secret-token")
      $0.placement = placement
      $0.messages.hello = { .text("hello \($0.token ?? "nobody")") }
    }
    let server = try await network.nextSocket().accepted()
    #expect(
      server.request.headers.map(\.value)
        == (placement == .header ? ["Bearer secret-token"] : []))
    #expect(server.request.query.map(\.value) == (placement == .query ? ["secret-token"] : []))
    #expect(try await server.nextText() == "hello secret-token")
    await socket.close()
  }

  @Test func `a token that a message refuses is renewed once`() async throws {
    let socket = try await make {
      $0.tokens = Self.tokens()
      $0.placement = .greeting
      $0.messages.hello = { .text($0.token ?? "") }
      $0.messages.awaitsConfirmation = true
      $0.messages.read = { message in
        SocketReading(
          confirms: message.text == "welcome", refusal: message.text == "denied" ? .token : nil)
      }
    }
    for token in ["token-1", "token-2"] {
      let server = try await network.nextSocket().accepted()
      #expect(try await server.nextText() == token)
      await server.send("denied")
    }
    for await _ in socket {}
    #expect(socket.failure == Self.signIn)
    await socket.close()
  }

  @Test func `a refused token is not used again`() async throws {
    let socket = try await make {
      $0.tokens = .fixed("old")
      $0.messages.confirms = { $0.text == "welcome" }
      $0.messages.refuses = { $0.text == "denied" ? .token : nil }
    }
    try await network.nextSocket().accepted().send("denied")
    for await _ in socket {}
    #expect(socket.failure == Self.signIn)
    await socket.close()
  }

  @Test(arguments: [("retry", "Bearer token-2"), ("retryJittered", "Bearer token-1")])
  func `a close with 4401 renews the token unless the policy has another action`(
    action: String, header: String
  ) async throws {
    let policy = try LinkPolicy.socket.setting([("failure.closedUnauthorized", action)])
    let socket = try await make {
      $0.policy = policy
      $0.tokens = Self.tokens()
    }
    try await network.nextSocket().accepted().close(code: 4401, reason: "")
    // A renewal takes no time, and a retry follows after a wait.
    let second =
      if action == "retry" {
        try await network.nextSocket()
      } else {
        try await network.nextSocket(advancing: clock)
      }
    #expect(second.request.headers.map(\.value) == [header])
    await socket.close()
  }

  @Test func `messages have numbers, and their proof is reported`() async throws {
    let outbox = MemoryOutbox()
    try await outbox.add(OutboxMessage(id: 5, message: .text("old")))
    let socket = try await make { $0.outbox = .durable(outbox) }
    let numbers = [
      try await socket.send("text"), socket.enqueue([1]), try await socket.send(Data([2])),
      try await socket.send(.text("last")),
    ]
    #expect(numbers == [6, 7, 8, 9])
    let server = try await network.nextSocket().accepted()
    for await case .proven(through: 9) in socket { break }
    for text in ["old", "text", "last"] { #expect(try await server.nextText() == text) }
    await socket.close()
    #expect(try await outbox.load() == [])
  }

  @Test func `the server's program can acknowledge messages, which replaces pongs`() async throws {
    let socket = try await make {
      $0.outbox = .memory
      $0.messages.messageID = { sent in sent.text.flatMap { $0.isEmpty ? nil : $0 } }
      $0.messages.acknowledgedID = { received in
        received.text.flatMap { $0.hasPrefix("ack ") ? String($0.dropFirst(4)) : nil }
      }
    }
    let first = try await network.nextSocket().accepted()
    for text in ["order 1", "order 2", ""] { try await socket.send(text) }
    for text in ["order 1", "order 2", ""] { #expect(try await first.nextText() == text) }
    // The text without an ID has arrived. The server's WebSocket answers pings, its program only
    // one message.
    await first.send("ack order 1")
    for await case .proven(through: 1) in socket { break }
    await first.drop()
    let second = try await network.nextSocket(advancing: clock).accepted()
    #expect(try await second.nextText() == "order 2")
    await second.send("ack order 2")
    for await case .proven(through: 3) in socket { break }
    await socket.close()
  }

  @Test func `sending throws the reason why a message was not accepted`() async throws {
    let socket = try await make()
    await #expect(throws: HeldSocket.SendError(id: 1, .notConnected)) {
      try await socket.send("early")
    }
    _ = try await network.nextSocket().accepted()
    await socket.waitUntil(\.isConnected)
    #expect(try await socket.send("in time") == 2)
    let long = Data(count: 1_000_001)
    await #expect(throws: HeldSocket.SendError(id: 3, .refused(.tooLong(bytes: long.count)))) {
      try await socket.send(long)
    }
    await socket.close()
    await #expect(throws: HeldSocket.SendError(id: 4, .closed)) { try await socket.send("late") }
  }

  @Test func `a durable outbox accepts a message when it is stored`() async throws {
    let outbox = MemoryOutbox()
    let socket = try await make { $0.outbox = .durable(outbox) }
    #expect(try await socket.send("kept") == 1)
    #expect(try await outbox.load().map(\.message) == [.text("kept")])
    for await case .stored(through: 1) in socket { break }
    // The socket claims its outbox until it is closed.
    await #expect(throws: OpenError.self) { try await make { $0.outbox = .durable(outbox) } }
    await socket.close()
    let next = try await make { $0.outbox = .durable(outbox) }
    #expect(next.restored.map(\.id) == [1])
    await outbox.close()
    await #expect(throws: HeldSocket.SendError.self) { try await next.send("not kept") }
    await next.close()
  }

  @Test func `a standing message can contain the position of the last message`() async throws {
    let socket = try await make { $0.messages.position = { $0.text } }
    socket.setStanding("bread") { position in .text("bread after \(position ?? "start")") }
    let first = try await network.nextSocket().accepted()
    #expect(try await first.nextText() == "bread after start")
    await first.send("41")
    for await case .text("41") in socket { break }
    await first.drop()
    let second = try await network.nextSocket(advancing: clock).accepted()
    #expect(try await second.nextText() == "bread after 41")
    socket.setStanding("bread", .text("bread"))
    #expect(try await second.nextText() == "bread")
    await socket.close()
  }

  @Test func `a program that only sends needs no loop`() async throws {
    let socket = try await make { $0.outbox = .memory }
    let server = try await network.nextSocket().accepted()
    for number in 1...2_000 {
      try await socket.send("\(number)")
      #expect(try await server.nextText() == "\(number)")
      await socket.waitUntil { $0.queue.entries.isEmpty }
    }
    var (count, proven): (UInt64, UInt64) = (0, 0)
    for await event in socket {
      if case .sent(let sent) = event { count = sent }
      if case .proven(let through) = event { proven = through }
      if (count, proven) == (2_000, 2_000) { break }
    }
    await socket.close()
  }

  @Test func `a renewal during an attempt does not change the token of the attempt`() async throws {
    let policy = try LinkPolicy.socket.setting([
      ("gate.refreshTimeout", "2s"), ("establish.timeout", "60s"),
      ("establish.openTimeout", "60s"),
    ])
    let made = SharedCounter()
    let expiry = Date(clock.wall.advanced(by: .seconds(10)))
    let socket = try await make {
      $0.policy = policy
      $0.placement = .greeting
      $0.messages.hello = { .text($0.token ?? "") }
      $0.tokens = .expiring {
        let number = made.next()
        return TokenSource.Token("token-\(number)", expiresAt: number == 1 ? expiry : nil)
      }
    }
    let first = try await network.nextSocket()
    // The first token is renewed after half of its lifetime.
    let later = clock.now.advanced(by: .seconds(30))
    clock.advance(by: .seconds(6))
    await socket.waitUntil { $0.deadline.map { $0 > later } ?? true }
    await first.accept()
    #expect(try await first.nextText() == "token-1")
    await first.close(code: 4401, reason: "token-1 has expired")
    // The refusal is that of the first token, so the second one remains valid.
    let second = try await network.nextSocket(advancing: clock).accepted()
    #expect(try await second.nextText() == "token-2")
    await socket.close()
  }

  @Test func `a standing message is sent on each connection, and once when it changes`()
    async throws
  {
    let socket = try await make()
    socket.setStanding("topic", .text("bread"))
    let first = try await network.nextSocket().accepted()
    #expect(try await first.nextText() == "bread")
    socket.setStanding("topic", .text("bread"))
    socket.setStanding("topic", .text("cake"))
    #expect(try await first.nextText() == "cake")
    await first.drop()
    let second = try await network.nextSocket(advancing: clock).accepted()
    #expect(try await second.nextText() == "cake")
    await socket.close()
  }

  @Test func `a socket that failed during its dial is not kept open`() async {
    let dialer = FailingDialer()
    let desk = SocketPool(dialer, policy: .socket)
    let request = SocketRequest(
      url: "ws://127.0.0.1:1/", openTimeout: .seconds(1),
      maxMessageBytes: 1)
    await desk.open(AttemptID(1), request) { _, _ in }
    await desk.stop()
    #expect(dialer.closes.takeAll() == [])
  }
}

/// A counter that tasks share.
private final class SharedCounter: Sendable {
  private let count = Mutex(0)

  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}

/// A dialer whose sockets fail before the dial returns.
private final class FailingDialer: SocketDialer, HTTPClient, SocketHandle {
  let closes = Mailbox<UInt16>()

  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    await deliver(.failed(.reset))
    return self
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer { throw .reset }
  func forgetConnections() async {}
  func send(text: [UInt8]) async -> SocketSending { .closed }
  func send(binary: [UInt8]) async -> SocketSending { .closed }
  func ping(id: UInt64) async {}
  func close(code: UInt16, reason: String) async { closes.put(code) }
}
