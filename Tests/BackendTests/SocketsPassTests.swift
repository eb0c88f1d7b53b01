import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import HoldfastTestKit
import Testing

/// Tests of requests that one server passes on to another.
@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets pass requests on` {
  typealias Client = SocketsClient

  private static let refusal =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone"

  private static let failure =
    "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\nConnection: close\r\n\r\nended"

  /// Returns an answer that passes every request on.
  private static func passing(
    to node: SocketEndpoint, within time: Duration = .seconds(600)
  ) -> SocketsHandler.Answer {
    { event, hub in
      switch event {
      case .request(let id, let head, let body):
        hub.pass(
          id, to: node, message(head, body), within: time, orAnswer: Array(refusal.utf8),
          afterSending: Array(failure.utf8))
      case .upgrade(let id, let head):
        hub.pass(
          id, to: node, message(head, nil), within: time, orAnswer: Array(refusal.utf8),
          afterSending: Array(failure.utf8))
      case .opened, .abandoned, .received, .text, .binary, .pong, .overflow, .drained, .closed,
        .starved, .crowded, .woke, .announced, .cut, .passed:
        break
      }
    }
  }

  private static func message(_ head: HTTPRequestHead, _ body: [UInt8]?) -> [UInt8] {
    let fields = head.headers.filter { $0.name != "connection" }.map { "\($0.name): \($0.value)" }
    let lines =
      ["\(head.method) \(head.target) HTTP/1.1"] + fields
      + ["connection: \(body == nil ? "Upgrade" : "close")", "", ""]
    return Array(lines.joined(separator: "\r\n").utf8) + (body ?? [])
  }

  /// Runs `body` with a server, and one that passes its requests on to it.
  private func both(
    _ configure: (inout SocketServerConfiguration) -> Void = { _ in },
    answer: @escaping SocketsHandler.Answer = SocketsHandler.echo,
    _ body: (SocketsRig, SocketsRig) async throws -> Void
  ) async throws {
    try await SocketsRig.run(configure, answer: answer) { node in
      let endpoint = try #require(SocketEndpoint("127.0.0.1:\(node.port)"))
      try await SocketsRig.run(configure, answer: Self.passing(to: endpoint)) { front in
        try await body(front, node)
      }
    }
  }

  private func ended(_ rig: SocketsRig) async throws -> Bool {
    try await rig.next { if case .passed(_, let isAnswered) = $0 { isAnswered } else { nil } }
  }

  @Test func `returns the response of the other server, and then closes`() async throws {
    try await both { front, _ in
      let client = try front.client()
      try client.send("POST /a?b=c HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nxyz")
      let answer = try client.response()
      #expect(answer.status == 200)
      #expect(answer.body == "/a?b=c xyz")
      #expect(answer.headers["connection"] == "close")
      #expect(client.isAtEnd())
      #expect(try await ended(front))
    }
  }

  @Test func `carries a WebSocket in both directions, and its end`() async throws {
    try await both { front, node in
      let client = try front.client()
      // The first message follows the request at once.
      try client.send(Array(Client.upgradeRequest().utf8) + Client.text("early"))
      #expect(try client.response().status == 101)
      #expect(try client.frame() == .text("early"))
      let long = String(repeating: "x", count: 60_000)
      try client.send(Client.text(long))
      #expect(try client.frame() == .text(long))
      try client.send(Client.close(1000))
      #expect(try client.frame() == .close(1000))
      #expect(client.isAtEnd())
      #expect(try await node.closed() == .peerClosed(code: 1000, reason: ""))
      #expect(try await ended(front))
    }
  }

  @Test func `answers with the refusal if the other server cannot be reached`() async throws {
    let endpoint = try #require(SocketEndpoint("127.0.0.1:\(TestPort.random())"))
    try await SocketsRig.run(answer: Self.passing(to: endpoint)) { front in
      for isUpgrade in [false, true] {
        let client = try front.client()
        let answer = isUpgrade ? try client.upgrade() : try client.get("/")
        #expect(answer.status == 503)
        #expect(answer.body == "gone")
        #expect(client.isAtEnd())
        #expect(try await ended(front) == false)
      }
    }
  }

  @Test func `answers with the failure if the other server ends without a response`() async throws {
    try await both { front, node in
      let client = try front.client()
      try client.send("GET /later HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await node.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      await node.server.run { _, hub in hub.connection(of: id).map { hub.drop($0) } }
      #expect(try client.response().body == "ended")
      #expect(try await ended(front) == false)
    }
  }

  @Test func `answers with a failure if the response does not begin in time`() async throws {
    try await SocketsRig.run { node in
      let endpoint = try #require(SocketEndpoint("127.0.0.1:\(node.port)"))
      let answer = Self.passing(to: endpoint, within: .milliseconds(20))
      try await SocketsRig.run(answer: answer) { front in
        let client = try front.client()
        // A busy machine may not even have sent the request.
        #expect(["gone", "ended"].contains(try client.get("/later").body))
        #expect(client.isAtEnd())
        #expect(try await ended(front) == false)
      }
    }
  }

  @Test func `a slow client that has sent its last byte receives the whole response`()
    async throws
  {
    let size = 32 << 20
    try await both(answer: { _, _ in }) { front, node in
      let client = try front.client(receiveBuffer: 65_536)
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await node.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      client.shutWriting()
      node.server.inject { _, hub in
        hub.respond(to: id, status: 200, headers: [], body: [UInt8](repeating: 7, count: size))
      }
      #expect(try client.response().body.utf8.count == size)
    }
  }

  @Test func `closes a WebSocket whose server is gone`() async throws {
    try await both { front, node in
      let client = try front.client()
      #expect(try client.upgrade().status == 101)
      let id = try await node.opened()
      await node.server.run { _, hub in hub.drop(id) }
      #expect(client.isAtEnd())
      #expect(try await ended(front))
    }
  }

  @Test func `tells the other server that the client has left`() async throws {
    try await both { front, node in
      var client: Client? = try front.client()
      #expect(try client?.upgrade().status == 101)
      client = nil
      #expect(try await node.closed() == .ended)
      let other = try front.client()
      try other.send("GET /later HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await node.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      await node.server.run { _, hub in hub.noticeEnd(of: id) }
      other.close()
      try await node.next { if case .abandoned(id) = $0 { () } else { nil } }
    }
  }

  @Test func `a client that has sent its last byte receives its response`() async throws {
    try await both { front, node in
      let client = try front.client()
      try client.send("GET /later HTTP/1.1\r\nHost: test\r\n\r\n")
      let id = try await node.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      client.shutWriting()
      node.server.inject { _, hub in
        hub.respond(to: id, status: 200, headers: [], body: Array("late".utf8))
      }
      #expect(try client.response().body == "late")
    }
  }

  @Test func `holds little of a response that the client does not read`() async throws {
    let size = 32 << 20
    let answer: SocketsHandler.Answer = { event, hub in
      if case .request(let id, _, _) = event {
        hub.respond(to: id, status: 200, headers: [], body: [UInt8](repeating: 7, count: size))
      }
    }
    try await both(answer: answer) { front, node in
      let client = try front.client(receiveBuffer: 65_536)
      try client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      #expect(try client.response().body.utf8.count == size)
      #expect(try await ended(front))
    }
  }

  @Test func `passes on what comes over TLS`() async throws {
    let files = try await SelfSigned()
    try await SocketsRig.run { node in
      let endpoint = try #require(SocketEndpoint("127.0.0.1:\(node.port)"))
      let tls = TLSFiles(certificatePath: files.chain, keyPath: files.key)
      try await SocketsRig.run({ $0.tls = tls }, answer: Self.passing(to: endpoint)) { front in
        let answer = try await Shell.run([
          "curl", "-sk", "--data", "y", "https://127.0.0.1:\(front.port)/x",
        ])
        #expect(answer == "/x y")
      }
    }
  }

  @Test(arguments: [
    ("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:8788", "[::1]:8788"), ("10.0.0.1:0", "10.0.0.1:0"),
    ("[fd00::1]:65535", "[fd00::1]:65535"), ("10.0.0.1", nil), ("host:1", nil), ("::1:80", nil),
    ("10.0.0.1:65536", nil), ("", nil), (":80", nil), ("[::1]", nil), ("10.0.0.1:-1", nil),
  ])
  func `an endpoint is a numeric address and a port`(text: String, expected: String?) {
    #expect(SocketEndpoint(text)?.description == expected)
  }
}
