import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets speak WebSocket` {
  typealias Client = SocketsClient

  @Test func `upgrades and echoes messages`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      let answer = try client.upgrade()
      #expect(answer.status == 101)
      #expect(answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
      #expect(answer.headers["x-shop"] == "7")
      try client.send(Client.text("grüezi"))
      #expect(try client.frame() == .text("grüezi"))
    }
  }

  @Test func `refuses an upgrade with the handler's answer`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      let answer = try client.upgrade("/no")
      #expect(answer.status == 401)
      #expect(answer.headers["www-authenticate"] == "Bearer")
      #expect(client.isAtEnd())
    }
  }

  @Test func `refuses an invalid handshake without calling the handler`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      let answer = try client.get(
        "/stream", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n")
      #expect(answer.status == 426)
      #expect(answer.headers["sec-websocket-version"] == "13")
      #expect(await rig.server.run { handler, _ in handler.pending } == [])
    }
  }

  @Test func `keeps bytes after the handshake until the upgrade is accepted`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send(Array(Client.upgradeRequest("/later").utf8) + Client.text("early"))
      let asked = try await rig.next { if case .upgrade(let id, _) = $0 { id } else { nil } }
      try client.send(Client.text("still early"))
      rig.server.inject { _, hub in hub.accept(asked) }
      #expect(try client.response().status == 101)
      #expect(try client.frame() == .text("early"))
      #expect(try client.frame() == .text("still early"))
    }
  }

  @Test func `reports received bytes before their messages, and a pong with its payload`()
    async throws
  {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      let id = try await rig.opened()
      rig.server.inject { _, hub in hub.ping(id, payload: [1, 2]) }
      #expect(try client.frame() == Client.Frame(opcode: 9, payload: [1, 2]))
      try client.send(Client.frame(10, [1, 2]) + Client.text("a") + Client.frame(9, [3]))
      #expect(try client.frame() == Client.Frame(opcode: 10, payload: [3]))
      #expect(try client.frame() == .text("a"))
      var received: [SocketEvent] = []
      try await rig.next { event in
        received.append(event)
        if case .text = event { return true } else { return nil }
      }
      #expect(received == [.received(id), .pong(id, [1, 2]), .text(id, [97])])
    }
  }

  @Test func `answers a client's close frame and ignores later messages`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      try client.send(Client.close(1000) + Client.text("behind the close"))
      #expect(try client.frame() == .close(1000))
      #expect(client.isAtEnd())
      #expect(try await rig.closed() == .peerClosed(code: 1000, reason: ""))
    }
  }

  @Test func `answers a message before the close frame that arrived with it`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      try client.send(Client.text("last words") + Client.frame(9, [1]) + Client.close(1000))
      #expect(try client.frame() == Client.Frame(opcode: 10, payload: [1]))
      #expect(try client.frame() == .text("last words"))
      #expect(try client.frame() == .close(1000))
      #expect(client.isAtEnd())
    }
  }

  @Test func `closes with a code and waits for the client's close frame`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      let id = try await rig.opened()
      rig.server.inject { _, hub in
        hub.close(id, code: 4001, reason: "enough")
        hub.close(id, code: 4002, reason: "again")
        hub.send(text: [97], to: id)
      }
      #expect(try client.frame() == .close(4001, "enough"))
      try client.send(Client.text("not told") + Client.close(4001))
      #expect(try await rig.closed() == .closed(code: 4001, reason: "enough"))
      #expect(client.isAtEnd())
    }
  }

  @Test func `disconnects a client that does not answer a close frame`() async throws {
    try await SocketsRig.run {
      $0.closeTimeout = .milliseconds(50)
    } _: { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      let id = try await rig.opened()
      rig.server.inject { _, hub in hub.close(id, code: 1000, reason: "") }
      #expect(try client.frame() == .close(1000))
      #expect(client.isAtEnd())
      #expect(try await rig.closed() == .closed(code: 1000, reason: ""))
    }
  }

  @Test func `closes with 1002 after an invalid frame`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      try client.send([0x81, 1, 97])
      let frame = try client.frame()
      #expect(Array(frame.payload.prefix(2)) == [0x03, 0xEA])
      #expect(client.isAtEnd())
      let ending = try await rig.closed()
      guard case .violation(code: 1002, _) = ending else {
        Issue.record("\(ending)")
        return
      }
    }
  }

  @Test(arguments: [(99, false), (100, false), (101, true)])
  func `closes with 1009 after a message above the size limit`(bytes: Int, isCut: Bool) async throws
  {
    try await SocketsRig.run {
      $0.webSocket.maxMessageBytes = 100
    } _: { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      try client.send(Client.text(String(repeating: "x", count: bytes)))
      let frame = try client.frame()
      #expect(frame.opcode == (isCut ? 8 : 1))
      if isCut { #expect(Array(frame.payload.prefix(2)) == [0x03, 0xF1]) }
    }
  }

  @Test func `distinguishes a reset and an end of stream from a close`() async throws {
    try await SocketsRig.run { rig in
      let first = try rig.client()
      _ = try first.upgrade()
      first.close()
      #expect(try await rig.closed() == .ended)
      let second = try rig.client()
      _ = try second.upgrade()
      second.reset()
      guard case .reset = try await rig.closed() else {
        Issue.record("no reset")
        return
      }
    }
  }

  @Test func `drop disconnects one client`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      let id = try await rig.opened()
      let address = await rig.server.run { _, hub in
        defer { hub.drop(id) }
        return hub.peerAddress(of: id)
      }
      #expect(address == NetworkAddress("127.0.0.1"))
      #expect(client.isAtEnd())
      #expect(try await rig.closed() == .dropped)
      #expect(await rig.server.run { _, hub in hub.peerAddress(of: id) } == nil)
    }
  }

  @Test func `negotiates deflate if allowed`() async throws {
    try await SocketsRig.run {
      $0.allowsDeflate = true
    } _: { rig in
      let client = try rig.client()
      let answer = try client.upgrade(
        "/stream", "Sec-WebSocket-Extensions: permessage-deflate\r\n")
      #expect(answer.headers["sec-websocket-extensions"]?.hasPrefix("permessage-deflate") == true)
      try client.send(Client.text("plain is allowed too"))
      #expect(try client.frame().opcode == 1)
    }
  }

  @Test func `wakes the handler at the requested instant`() async throws {
    try await SocketsRig.run { rig in
      let asked = await rig.server.run { _, hub in
        let instant = hub.now.advanced(by: .milliseconds(30))
        hub.wake(at: hub.now.advanced(by: .seconds(30)))
        hub.wake(at: instant)
        return instant
      }
      try await rig.next { if case .woke = $0 { true } else { nil } }
      #expect(await rig.server.run { _, hub in hub.now } >= asked)
    }
  }
}
