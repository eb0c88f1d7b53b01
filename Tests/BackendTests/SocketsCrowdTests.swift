import Glibc
import HoldfastProtocols
import HoldfastServerSockets
import HoldfastTestKit
import Synchronization
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets serve a crowd` {
  @Test func `sends the same frames to 100 clients`() async throws {
    try await SocketsRig.run { rig in
      let clients = try (0..<100).map { _ in
        let client = try rig.client()
        _ = try client.upgrade()
        return client
      }
      for _ in clients { _ = try await rig.opened() }
      rig.server.inject { handler, hub in
        for index in 0..<20 {
          hub.send(frame: WebSocketFrame.text(Array("news \(index)".utf8)), to: handler.open)
        }
      }
      for client in clients {
        for index in 0..<20 { #expect(try client.frame() == .text("news \(index)")) }
      }
    }
  }

  /// An input of a server that injects itself again until it is stopped.
  private final class EndlessInput: Sendable {
    private let isStopped = Atomic(false)

    func inject(into server: SocketServer<SocketsHandler>) {
      server.inject { _, _ in
        if !self.isStopped.load(ordering: .relaxed) { self.inject(into: server) }
      }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
  }

  @Test func `serves clients although inputs follow inputs without end`() async throws {
    try await SocketsRig.run { rig in
      let input = EndlessInput()
      input.inject(into: rig.server)
      defer { input.stop() }
      let client = try rig.client()
      _ = try client.upgrade()
      _ = try await rig.opened()
      rig.server.inject { handler, hub in
        hub.send(frame: WebSocketFrame.text(Array("news".utf8)), to: handler.open)
      }
      #expect(try client.frame() == .text("news"))
    }
  }

  @Test func `reports the client that does not read and keeps serving the others`() async throws {
    try await SocketsRig.run { rig in
      let slow = try rig.client(receiveBuffer: 4096)
      _ = try slow.upgrade()
      let slowID = try await rig.opened()
      let quick = try rig.client()
      _ = try quick.upgrade()
      let frame = WebSocketFrame.text([UInt8](repeating: 120, count: 60_000))
      var rounds = 0
      while await rig.server.run({ _, hub in hub.queuedBytes(of: slowID) }) < 200_000 {
        rig.server.inject { handler, hub in hub.send(frame: frame, to: handler.open) }
        #expect(try quick.frame().payload.count == 60_000)
        rounds += 1
      }
      for _ in 0..<3 {
        rig.server.inject { handler, hub in hub.send(frame: frame, to: handler.open) }
        #expect(try quick.frame().payload.count == 60_000)
      }
      let cut = try await rig.next { if case .overflow(let id) = $0 { id } else { nil } }
      #expect(cut == slowID)
      let queued = await rig.server.run { _, hub in
        defer { hub.drop(slowID) }
        return hub.queuedBytes(of: slowID)
      }
      #expect(queued <= 262_144)
      #expect(try await rig.closed() == .dropped)
      try quick.send(SocketsClient.text("still here"))
      #expect(try quick.frame() == .text("still here"))
    }
  }

  @Test(arguments: [(1000, false), (1001, true)])
  func `reports an overflow one byte above the queue limit`(bytes: Int, overflows: Bool)
    async throws
  {
    try await SocketsRig.run {
      $0.maxQueuedBytes = 1000
    } _: { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      let id = try await rig.opened()
      let frame = WebSocketFrame.text([UInt8](repeating: 120, count: bytes - 4))
      #expect(frame.count == bytes)
      rig.server.inject { _, hub in
        hub.send(frame: frame, to: [id])
        hub.close(id, code: 1013, reason: "")
      }
      let first = try client.frame()
      #expect(first.opcode == (overflows ? 8 : 1))
      client.close()
      var didOverflow = false
      _ = try await rig.next { event in
        if case .overflow = event { didOverflow = true }
        if case .closed = event { return true } else { return nil }
      }
      #expect(didOverflow == overflows)
    }
  }

  @Test func `reports when a backed-up queue has drained`() async throws {
    try await SocketsRig.run {
      $0.maxQueuedBytes = 50_000_000
    } _: { rig in
      let client = try rig.client(receiveBuffer: 4096)
      _ = try client.upgrade()
      let id = try await rig.opened()
      let frame = WebSocketFrame.text([UInt8](repeating: 120, count: 20_000_000))
      let queued = await rig.server.run { _, hub in
        hub.send(frame: frame, to: [id])
        return hub.queuedBytes(of: id)
      }
      #expect(queued == frame.count)
      #expect(try client.frame().payload.count == 20_000_000)
      let drained = try await rig.next { if case .drained(let id) = $0 { id } else { nil } }
      #expect(drained == id)
      #expect(await rig.server.run { _, hub in hub.queuedBytes(of: id) } == 0)
    }
  }

  @Test func `closes all sockets with 1001 on stop and sends pending responses`() async throws {
    // The kernel may give a port that it selected to another test after the stop.
    try await SocketsRig.run {
      $0.port = TestPort.random()
    } _: { rig in
      let stream = try rig.client()
      _ = try stream.upgrade()
      let id = try await rig.opened()
      let asking = try rig.client()
      try asking.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
      let asked = try await rig.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      let idle = try rig.client()
      #expect(try idle.get("/").status == 200)
      async let stopped: Void = rig.server.stop(within: .seconds(600))
      #expect(idle.isAtEnd())
      #expect(try stream.frame() == .close(1001, "server stops"))
      try stream.send(SocketsClient.close(1001))
      #expect(stream.isAtEnd())
      rig.server.inject { _, hub in hub.respond(to: asked, status: 204, headers: [], body: []) }
      #expect(try asking.response().status == 204)
      #expect(asking.isAtEnd())
      for client in [idle, stream, asking] { client.close() }
      await stopped
      #expect(try await rig.closed() == .closed(code: 1001, reason: "server stops"))
      #expect(throws: (any Error).self) { try rig.client() }
      rig.server.inject { _, hub in hub.drop(id) }
      #expect(await rig.server.run { _, hub in hub.connectionCount } == 0)
      await #expect(throws: SocketServerError.alreadyStarted) {
        try await rig.server.start(on: BoundPort(SocketServerConfiguration()))
      }
    }
  }

  @Test func `stops at once without connections`() async throws {
    try await SocketsRig.run { rig in
      // The limit is longer than that of this test.
      await rig.server.stop(within: .seconds(86_400))
    }
  }

  @Test func `disconnects remaining clients when the stop times out`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      _ = try client.upgrade()
      _ = try await rig.opened()
      await rig.server.stop(within: .milliseconds(30))
      #expect(try client.frame() == .close(1001, "server stops"))
      #expect(client.isAtEnd())
      #expect(try await rig.closed() == .stopped)
    }
  }

  @Test func `leaks no descriptor over 500 connections that end in different ways`() async throws {
    try await SocketsRig.run { rig in
      let before = descriptors(of: rig.port)
      let held = try rig.client()
      #expect(try held.get("/").status == 200)
      #expect(descriptors(of: rig.port) == before + 1)
      held.close()
      for index in 0..<500 {
        let client = try rig.client()
        switch index % 5 {
        case 0: #expect(try client.get("/").status == 200)
        case 1: _ = try client.upgrade()
        case 2: try client.send("GET / HT")
        case 3: try client.send("\u{16}\u{3}\u{1}")
        case _: break
        }
        if index % 2 == 0 { client.reset() } else { client.close() }
      }
      #expect(try rig.client().get("/").status == 200)
      while await rig.server.run({ _, hub in hub.connectionCount }) > 0 { await Task.yield() }
      #expect(descriptors(of: rig.port) == before)
    }
  }

  /// Returns the number of this process's sockets on the port. Other tests have open sockets, too.
  private func descriptors(of port: UInt16) -> Int {
    (0..<4096).count { descriptor in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe getsockname(Int32(descriptor), $0, &length)
        }
      }
      return result == 0 && address.sin_family == sa_family_t(AF_INET)
        && address.sin_port == port.bigEndian
    }
  }
}
