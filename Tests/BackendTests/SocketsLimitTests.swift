import HoldfastProtocols
import HoldfastServerSockets
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets keep their bounds` {
  /// Returns a GET request whose head has exactly `bytes` bytes.
  private func head(bytes: Int) -> String {
    let start = "GET / HTTP/1.1\r\nHost: a\r\nX: "
    return start + String(repeating: "x", count: bytes - start.utf8.count - 4) + "\r\n\r\n"
  }

  @Test(arguments: [(999, 200), (1000, 200), (1001, 431), (100_000, 431)])
  func `limits the size of the head`(bytes: Int, status: Int) async throws {
    try await SocketsRig.run {
      $0.http.maxHeadBytes = 1000
    } _: { rig in
      let client = try rig.client()
      try? client.send(head(bytes: bytes))
      #expect(try client.response().status == status)
    }
  }

  @Test(arguments: [(99, 200), (100, 200), (101, 414)])
  func `limits the length of the target`(bytes: Int, status: Int) async throws {
    try await SocketsRig.run {
      $0.http.maxTargetBytes = 100
    } _: { rig in
      let target = "/" + String(repeating: "x", count: bytes - 1)
      let answer = try rig.client().get(target)
      #expect(answer.status == status)
    }
  }

  @Test(arguments: [(9, 200), (10, 200), (11, 413), (1_000_000, 413)])
  func `limits the body and answers a client that is still sending`(
    bytes: Int, status: Int
  ) async throws {
    try await SocketsRig.run {
      $0.http.maxBodyBytes = 10
    } _: { rig in
      let client = try rig.client()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(bytes)\r\n\r\n")
      try? client.send([UInt8](repeating: 120, count: bytes))
      #expect(try client.response().status == status)
    }
  }

  /// Sends one byte every 20 ms until the server responds.
  private func drip(_ client: SocketsClient) throws -> SocketsClient.Response {
    client.setReadTimeout(.milliseconds(20))
    for _ in 0..<500 {
      do { return try client.response() } catch let failure as SocketsClient.Failure {
        guard failure.errno == 11 else { throw failure }
        try client.send("x")
      }
    }
    throw CancellationError()
  }

  @Test(arguments: [
    "", "GET / HTTP/1.1\r\nHost: a\r\nX: ",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n",
  ])
  func `disconnects a client that sends a request too slowly at the deadline`(start: String)
    async throws
  {
    try await SocketsRig.run {
      $0.headTimeout = .milliseconds(200)
      $0.bodyTimeout = .milliseconds(200)
    } _: { rig in
      let begun = ContinuousClock.now
      let client = try rig.client()
      try client.send(start)
      #expect(try drip(client).status == 408)
      #expect(ContinuousClock.now - begun > .milliseconds(180))
    }
  }

  @Test func `answers 408 to a client that sends nothing`() async throws {
    try await SocketsRig.run {
      $0.headTimeout = .milliseconds(50)
    } _: { rig in
      let answer = try rig.client().response()
      #expect(answer.status == 408)
    }
  }

  @Test func `closes an idle connection`() async throws {
    try await SocketsRig.run {
      $0.idleKeepAlive = .milliseconds(50)
    } _: { rig in
      let client = try rig.client()
      #expect(try client.get("/").status == 200)
      #expect(client.isAtEnd())
    }
  }

  @Test func `disconnects a client that does not read the response`() async throws {
    try await SocketsRig.run {
      $0.answerTimeout = .milliseconds(100)
    } answer: { event, hub in
      guard case .request(let id, _, _) = event else { return }
      hub.respond(
        to: id, status: 200, headers: [], body: [UInt8](repeating: 120, count: 50_000_000))
    } _: { rig in
      let client = try rig.client(receiveBuffer: 4096)
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      try await rig.next { if case .request = $0 { true } else { nil } }
      let other = try rig.client()
      other.close()
      while await rig.server.run({ _, hub in hub.connectionCount }) > 0 { await Task.yield() }
      #expect(try client.readToEnd() < 50_000_000)
    }
  }

  @Test func `closes connections above the limit of an address, not counting WebSockets`()
    async throws
  {
    try await SocketsRig.run {
      $0.maxConnectionsPerAddress = 2
    } _: { rig in
      let first = try rig.client()
      let second = try rig.client()
      #expect(try first.get("/").status == 200)
      #expect(try second.get("/").status == 200)
      #expect(try rig.client().isAtEnd())
      try await rig.next { $0 == .crowded(address: "127.0.0.1") ? true : nil }
      _ = try second.upgrade()
      let third = try rig.client()
      #expect(try third.get("/").status == 200)
      #expect(try rig.client().isAtEnd())
      first.close()
      while await rig.server.run({ _, hub in hub.connectionCount }) > 2 { await Task.yield() }
      #expect(try rig.client().get("/").status == 200)
    }
  }

  @Test func `accepts no connections above the limit until one is closed`() async throws {
    try await SocketsRig.run {
      $0.maxConnections = 2
    } _: { rig in
      let first = try rig.client()
      let second = try rig.client()
      #expect(try first.get("/").status == 200)
      #expect(try second.get("/").status == 200)
      let third = try rig.client()
      try third.send("GET /third HTTP/1.1\r\nHost: a\r\n\r\n")
      third.setReadTimeout(.milliseconds(50))
      #expect(throws: SocketsClient.Failure.self) { try third.response() }
      #expect(await rig.server.run { _, hub in hub.connectionCount } == 2)
      first.close()
      third.setReadTimeout(.seconds(600))
      #expect(try third.response().body == "/third ")
    }
  }
}
