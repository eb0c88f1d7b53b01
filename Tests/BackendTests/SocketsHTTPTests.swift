import HoldfastProtocols
import HoldfastServerSockets
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets speak HTTP` {
  @Test func `answers a request`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send("POST /a?b=c HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello")
      #expect(
        try client.response()
          == SocketsClient.Response(
            status: 200,
            headers: ["x-method": "POST", "content-length": "12", "connection": "keep-alive"],
            body: "/a?b=c hello"))
    }
  }

  @Test(arguments: ["127.0.0.1", "0.0.0.0", "localhost"])
  func `listens on an IPv4 host`(host: String) async throws {
    try await SocketsRig.run {
      $0.host = host
    } _: { rig in
      let answer = try rig.client().get("/")
      #expect(answer.status == 200)
    }
  }

  @Test(arguments: ["::1", "::", "localhost"])
  func `listens on an IPv6 host`(host: String) async throws {
    try await SocketsRig.run {
      $0.host = host
    } _: { rig in
      let answer = try SocketsClient(port: rig.port, ipv6: true).get("/")
      #expect(answer.status == 200)
    }
  }

  @Test func `keeps the connection for the next request`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      for index in 0..<5 {
        #expect(try client.get("/\(index)").body == "/\(index) ")
      }
      #expect(await rig.server.run { _, hub in hub.connectionCount } == 1)
    }
  }

  @Test func `answers pipelined requests in their order`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      let requests = (0..<200).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }
      try client.send(requests.joined())
      for index in 0..<200 { #expect(try client.response().body == "/\(index) ") }
    }
  }

  @Test func `reads the next request only after a delayed response`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
      let late = try await rig.next {
        if case .request(let id, let head, _) = $0, head.path == "/later" { id } else { nil }
      }
      #expect(await rig.server.run { handler, _ in handler.pending } == [late])
      rig.server.inject { _, hub in
        hub.respond(to: late, status: 202, headers: [], body: Array("late".utf8))
        hub.respond(to: late, status: 500, headers: [], body: Array("twice".utf8))
      }
      #expect(try client.response().body == "late")
      #expect(try client.response().body == "/next ")
      rig.server.inject { _, hub in hub.respond(to: late, status: 500, headers: [], body: []) }
      #expect(try client.get("/third").body == "/third ")
    }
  }

  @Test func `reports a client that disconnects before its response`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send("GET /later HTTP/1.1\r\nHost: test\r\n\r\n")
      let asked = try await rig.next { if case .request(let id, _, _) = $0 { id } else { nil } }
      client.reset()
      let left = try await rig.next { if case .abandoned(let id) = $0 { id } else { nil } }
      #expect(left == asked)
    }
  }

  @Test func `answers a client that has closed its sending side`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send("GET /x HTTP/1.1\r\nHost: test\r\n\r\n")
      client.shutWriting()
      #expect(try client.response().body == "/x ")
      #expect(client.isAtEnd())
    }
  }

  @Test func `sends no body to HEAD`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send("HEAD /x HTTP/1.1\r\nHost: test\r\n\r\n")
      #expect(try client.response(toHead: true).headers["content-length"] == "3")
      #expect(try client.get("/y").body == "/y ")
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
  ])
  func `closes the connection after the last request`(request: String) async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send(request)
      #expect(try client.response().headers["connection"] == "close")
      #expect(client.isAtEnd())
    }
  }

  @Test func `answers Expect: 100-continue with 100`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send(
        "POST / HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
      #expect(try client.response().status == 100)
      try client.send("abc")
      #expect(try client.response().body == "/ abc")
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\nHost: a\n\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n",
  ])
  func `refuses ambiguous requests`(request: String) async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send(request + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = try client.response()
      #expect(answer.status == 400)
      #expect(answer.headers["connection"] == "close")
      #expect(client.isAtEnd())
      #expect(await rig.server.run { handler, _ in handler.pending } == [])
    }
  }
}
