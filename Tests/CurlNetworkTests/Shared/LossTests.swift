import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import Testing

/// Tests of connections that fail, which hold for every dialer.
@Suite(.timeLimit(.minutes(60)))
struct LossTests {
  @Test(
    arguments: [
      (401, [], #"{"message":"token expired"}"#, nil, "token expired"),
      (503, [("Retry-After", "12")], #"{"error":"draining"}"#, 12, "draining"),
      (
        503,
        [
          ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
          ("Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"),
        ], "<html>busy</html>", 30, "Service Unavailable"
      ),
      (200, [], #"{"message":3,"error":"odd"}"#, nil, "odd"),
    ] as [(Int, [(String, String)], String, Int?, String)])
  func `a refused upgrade reports the status, Retry-After and the reason`(
    status: Int, headers: [(String, String)], body: String, seconds: Int?, detail: String
  ) async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.answer(status, headers, body)
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(
      await socket.next()
        == .failed(
          .http(
            status: status, retryAfter: seconds.map { .seconds($0) }, detail: detail)))
    #expect(await socket.next() == nil)
  }

  /// Responses to an upgrade that do not open a WebSocket, and the detail reported for a server on
  /// this machine, which is reached without a network.
  static let pages: [(Int, [(String, String)], String, String)] = [
    (308, [("Location", "/ws/?token=abc#d")], "", "points to /ws/"),
    (
      302, [("Location", "https://elsewhere.example/login?to=x")], "",
      "points to https://elsewhere.example/login"
    ),
    (511, [], "", ""),
    (200, [("Content-Type", "text/html; charset=utf-8")], "<html>hello</html>", "a web page"),
  ]

  @Test(arguments: pages)
  func `a redirect or a page instead of an upgrade is reported with its status and target`(
    status: Int, headers: [(String, String)], body: String, detail: String
  ) async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.answer(status, headers, body)
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.failure() == .http(status: status, retryAfter: nil, detail: detail))
  }

  @Test func `a refusal's reason that arrives late is waited for`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.write(
        Array("HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n{\"message\"".utf8)
      )
      peer.write(Array(":\"not you\"}\r\n0\r\n\r\n".utf8))
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.failure() == .http(status: 403, retryAfter: nil, detail: "not you"))
  }

  @Test func `a refusal's reason is read from a chunked body`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.write(
        Array(
          ("HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"message\r\n"
            + "C\r\n\":\"not you\"}\r\n0\r\n\r\n").utf8))
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.failure() == .http(status: 403, retryAfter: nil, detail: "not you"))
  }

  @Test func `a wrong accept key breaks the protocol`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.write(
        Array(
          ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n").utf8))
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    let failure = await socket.failure()
    #expect(failure == .protocolError(detail: "Sec-WebSocket-Accept does not match the key"))
  }

  @Test(arguments: [
    ([0x81, 0x81, 1, 2, 3, 4, 5], "a server's frame is masked"),
    ([0x81, 0x01, 0xFF], "a text that is not UTF-8"),
    ([0x91, 0x01, 0x61], "a reserved bit is set"), ([0x83, 0x00], "a reserved opcode"),
    ([0x09, 0x00], "a fragmented control frame"),
    ([0x80, 0x01, 0x61], "a continuation frame outside a fragmented message"),
  ])
  func `a protocol error names the violated rule`(frame: [UInt8], detail: String) async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.write(frame)
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    let failure = await socket.failure()
    #expect(failure == .protocolError(detail: detail))
  }

  @Test func `a masked frame from the server breaks the protocol`() async throws {
    let (codes, code) = AsyncStream<WebSocketEvent>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      peer.write([0x81, 0x81, 1, 2, 3, 4, 5])
      while let event = peer.event() { code.yield(event) }
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    guard case .protocolError = await socket.failure() else {
      Issue.record("accepted")
      return
    }
    for await event in codes {
      guard case .closed(code: 1002, _) = event else {
        Issue.record("\(event)")
        return
      }
      break
    }
  }

  @Test func `a closed port is refused`() async throws {
    let closed = try Listener(backlog: nil)
    let socket = await Opened(try newDialer(), .to("ws://127.0.0.1:\(closed.port)"))
    #expect(await socket.next() == .failed(.refused))
    #expect(await socket.next() == nil)
  }

  @Test func `an unknown host name is a DNS failure`() async throws {
    let socket = await Opened(try newDialer(), .to("wss://no-such-host.invalid/?token=s3cret"))
    guard case .dns(let detail) = await socket.failure() else {
      Issue.record("not dns")
      return
    }
    #expect(!detail.contains("s3cret"))
  }

  @Test func `a server that never answers the upgrade causes an upgrade time-out`() async throws {
    let server = try TestServer { $0.drain() }
    let failure = try await timeout(in: .upgrade) { limit in
      await Opened(try newDialer(), .to(server.socketURL, openTimeout: limit)).failure()
    }
    #expect(failure == .timeout(.upgrade))
  }

  @Test func `a full backlog causes a connect time-out`() async throws {
    let listener = try Listener(backlog: 0)
    var callers: [Caller] = []
    while callers.count < 16 {
      let caller = listener.call()
      callers.append(caller)
      if !caller.isConnected { break }
    }
    let socket = await Opened(
      try newDialer(),
      .to("ws://127.0.0.1:\(listener.port)", openTimeout: .milliseconds(150)))
    #expect(await socket.next() == .failed(.timeout(.connect)))
    _ = callers
  }

  @Test(arguments: [true, false])
  func `a reset is distinguished from an end without a close frame`(isReset: Bool) async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.send("x")
      // The client's reply shows that it has read the message before the connection ends.
      _ = peer.event()
      isReset ? peer.reset() : peer.end()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.nextAfterOpening() == .text([0x78]))
    await socket.handle.send(text: [0x79])
    #expect(await socket.next() == .failed(isReset ? .reset : .ended))
    #expect(await socket.next() == nil)
  }

  @Test func `an end of the stream before the upgrade is reported as ended`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.end()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.next() == .failed(.ended))
  }

  @Test(arguments: ["ws://example.invalid/", "ws://127.0.0.1.example.invalid/", "ws://[::2]/"])
  func `plaintext to another host is refused, and the error names the remedy`(url: String)
    async throws
  {
    let socket = await Opened(try newDialer(), .to(url))
    guard case .local(let detail) = await socket.failure() else {
      Issue.record("not refused")
      return
    }
    #expect(detail.contains("allowsPlaintext"))
  }

  @Test func `no failure contains a secret, even if the server repeats it`() async throws {
    let secret = "s3cret/token value"
    let server = try TestServer { peer in
      guard let (head, _) = peer.request() else { return }
      let body = #"{"message":"bad token \#(head.first("authorization") ?? "")"}"#
      peer.answer(401, [], body)
      peer.drain()
    }
    let network = try newDialer()
    for url in [
      server.socketURL, "ws://127.0.0.1:1", "wss://no-such-host.invalid", "ws://e.invalid",
      "http:/",
    ] {
      let socket = await Opened(
        network,
        .to(url, headers: [("Authorization", "Bearer \(secret)")], query: [("token", secret)]))
      let failure = await socket.failure()
      #expect(failure != nil)
      let text = String(describing: failure)
      #expect(!text.contains("s3cret"))
      #expect(!text.contains("token="))
    }
  }
}
