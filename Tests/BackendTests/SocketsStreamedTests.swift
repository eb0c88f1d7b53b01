import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets stream an answer` {
  /// Begins a response to each request. The test sends the rest of the response.
  private static let begin: SocketsHandler.Answer = { event, hub in
    guard case .request(let id, _, _) = event else { return }
    hub.begin(id, status: 200, headers: [("Content-Type", "text/event-stream")])
  }

  private func request(_ rig: SocketsRig) async throws -> RequestID {
    try await rig.next { if case .request(let id, _, _) = $0 { id } else { nil } }
  }

  private func abandoned(_ rig: SocketsRig) async throws -> RequestID {
    try await rig.next { if case .abandoned(let id) = $0 { id } else { nil } }
  }

  @Test func `streams a response in chunks and then serves the next request`() async throws {
    try await SocketsRig.run(answer: Self.begin) { rig in
      let client = try rig.client()
      for text in ["first", "second"] {
        let head = try client.get("/\(text)")
        #expect(
          head
            == SocketsClient.Response(
              status: 200,
              headers: [
                "content-type": "text/event-stream", "transfer-encoding": "chunked",
                "connection": "keep-alive",
              ], body: ""))
        let id = try await request(rig)
        await rig.server.run { _, hub in hub.write(Array("\(text) a".utf8), to: id) }
        #expect(try client.chunk() == "\(text) a")
        await rig.server.run { _, hub in
          hub.write([], to: id)
          hub.write(Array("b".utf8), to: id)
          hub.end(id)
          hub.write(Array("too late".utf8), to: id)
          hub.end(id)
        }
        #expect(try client.chunk() == "b")
        #expect(try client.chunk() == nil)
      }
    }
  }

  @Test func `streams a response to HTTP 1.0 without chunks until the connection ends`()
    async throws
  {
    try await SocketsRig.run(answer: Self.begin) { rig in
      let client = try rig.client()
      try client.send("GET / HTTP/1.0\r\nHost: test\r\n\r\n")
      #expect(try client.response().headers["transfer-encoding"] == nil)
      let id = try await request(rig)
      await rig.server.run { _, hub in
        hub.write(Array("abc".utf8), to: id)
        hub.end(id)
      }
      #expect(try client.readToEnd() == 3)
    }
  }

  @Test func `answers HEAD with the head of a streamed response`() async throws {
    try await SocketsRig.run(answer: Self.begin) { rig in
      let client = try rig.client()
      try client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
      #expect(try client.response(toHead: true).status == 200)
      #expect(try client.get("/").status == 200)
    }
  }

  @Test func `streams a response of any size while the client keeps up`() async throws {
    try await SocketsRig.run {
      $0.maxQueuedBytes = 1_024
    } answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.begin(id, status: 200, headers: [])
      hub.write([UInt8](repeating: 0x61, count: 3_000_000), to: id)
      hub.end(id)
    } _: { rig in
      let client = try rig.client()
      _ = try client.get("/")
      #expect(try client.chunk()?.utf8.count == 3_000_000)
      #expect(try client.chunk() == nil)
    }
  }

  @Test func `disconnects a client that does not keep up with a streamed response`() async throws {
    try await SocketsRig.run {
      $0.maxQueuedBytes = 1_024
    } answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.begin(id, status: 200, headers: [])
      hub.write([UInt8](repeating: 0x61, count: 30_000_000), to: id)
    } _: { rig in
      let client = try rig.client(receiveBuffer: 4_096)
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await request(rig)
      await rig.server.run { _, hub in hub.write([0x62], to: id) }
      #expect(try await abandoned(rig) == id)
    }
  }

  @Test func `disconnects a client that reads a streamed response too slowly`() async throws {
    try await SocketsRig.run {
      $0.answerTimeout = .milliseconds(20)
    } answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.begin(id, status: 200, headers: [])
      hub.write([UInt8](repeating: 0x61, count: 30_000_000), to: id)
    } _: { rig in
      let client = try rig.client(receiveBuffer: 4_096)
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await request(rig)
      #expect(try await abandoned(rig) == id)
    }
  }

  @Test(arguments: [false, true])
  func `reports a client that disconnects during a streamed response`(resets: Bool) async throws {
    try await SocketsRig.run(answer: Self.begin) { rig in
      let client = try rig.client()
      _ = try client.get("/")
      let id = try await request(rig)
      if resets { client.reset() } else { client.close() }
      #expect(try await abandoned(rig) == id)
      await rig.server.run { _, hub in
        hub.write([1], to: id)
        hub.end(id)
        #expect(hub.connectionCount == 0)
      }
    }
  }

  @Test func `reports at once a client that disconnects before its response, if requested`()
    async throws
  {
    try await SocketsRig.run(answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.noticeEnd(of: id)
    }) { rig in
      let client = try rig.client()
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await request(rig)
      client.close()
      #expect(try await abandoned(rig) == id)
    }
  }

  @Test func `answers a watched client that stays connected`() async throws {
    try await SocketsRig.run(answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.noticeEnd(of: id)
    }) { rig in
      let client = try rig.client()
      for _ in 0..<2 {
        try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        let id = try await request(rig)
        await rig.server.run { _, hub in
          hub.respond(to: id, status: 204, headers: [], body: [])
          hub.noticeEnd(of: id)
        }
        #expect(try client.response().status == 204)
      }
    }
  }

  @Test func `a stop ends unfinished streamed responses`() async throws {
    try await SocketsRig.run(answer: Self.begin) { rig in
      let client = try rig.client()
      _ = try client.get("/")
      await rig.server.stop(within: .milliseconds(1))
      #expect(client.isAtEnd())
    }
  }
}
