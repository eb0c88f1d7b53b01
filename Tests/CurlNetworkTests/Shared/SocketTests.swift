import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastTestKit
import Testing

/// Tests of sockets that hold for every dialer.
@Suite(.timeLimit(.minutes(60)))
struct SocketTests {
  /// Returns a server that echoes text messages until the client closes the socket.
  static func echo(deflate: Bool = false) throws -> TestServer {
    try TestServer { peer in
      peer.upgrade(deflate: deflate)
      while let event = peer.event() {
        if case .text(let text) = event { peer.send(String(decoding: text, as: UTF8.self)) }
        if case .closed = event { return }
      }
    }
  }

  @Test(arguments: [false, true])
  func `a socket opens and echoes messages, with and without deflate`(deflate: Bool) async throws {
    let server = try Self.echo(deflate: deflate)
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    guard case .opened(let headers) = await socket.next() else {
      Issue.record("not opened")
      return
    }
    #expect(headers["x-test"] == "yes")
    #expect((headers["sec-websocket-extensions"] != nil) == deflate)
    let long = String(repeating: "hello ", count: 50_000)
    for text in ["", "a", "äöü", long] {
      #expect(await socket.handle.send(text: Array(text.utf8)) == .queued)
      #expect(await socket.next() == .text(Array(text.utf8)))
    }
  }

  @Test func `query and headers travel with the upgrade`() async throws {
    let server = try TestServer { peer in
      let head = peer.upgrade()
      peer.send("\(head?.target ?? "") \(head?.first("authorization") ?? "")")
      peer.drain()
    }
    let socket = await Opened(
      try newDialer(),
      .to(
        server.socketURL + "?v=1", headers: [("Authorization", "Bearer abc")],
        query: [("token", "a/b c")]))
    #expect(
      await socket.nextAfterOpening()
        == .text(Array("/socket?v=1&token=a%2Fb%20c Bearer abc".utf8)))
  }

  @Test(arguments: [1000, 1001, 1012, 1013, 1014, 4001] as [UInt16])
  func `the peer's close code and reason come through`(code: UInt16) async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.send("last")
      peer.close(code, "because")
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.nextAfterOpening() == .text(Array("last".utf8)))
    #expect(await socket.next() == .failed(.closed(code: code, reason: "because")))
    #expect(await socket.next() == nil)
  }

  @Test func `closing sends the code, waits for the peer, and nothing follows`() async throws {
    let (seen, see) = AsyncStream<WebSocketEvent>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      while let event = peer.event() {
        see.yield(event)
        if case .closed = event { return }
      }
    }
    let log = Log()
    let opened = Gate()
    let handle = try await newDialer().open(.to(server.socketURL)) { event in
      await log.add(event)
      await opened.open()
    }
    await opened.wait()
    await handle.close(code: 4002, reason: "done")
    for await event in seen {
      #expect(event == .closed(code: 4002, reason: "done"))
      break
    }
    #expect(await handle.send(text: [0x61]) == .closed)
    #expect(await log.count == 1)
  }

  @Test func `a message before an invalid frame is answered before the socket closes`() async throws
  {
    let (seen, see) = AsyncStream<WebSocketEvent>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      // RFC 6455 section 5.2: opcode 5 is reserved.
      peer.write(WebSocketFrame.text(Array("hello".utf8)) + [0x85, 0])
      while let event = peer.event() {
        see.yield(event)
        if case .closed = event { return }
      }
    }
    let handles = Mailbox<any SocketHandle>()
    let handle = try await newDialer().open(.to(server.socketURL)) { event in
      guard case .text(let text) = event, let handle = await handles.next() else { return }
      #expect(await handle.send(text: text) == .queued)
    }
    handles.put(handle)
    var events: [WebSocketEvent] = []
    for await event in seen.prefix(2) { events.append(event) }
    #expect(events.first == .text(Array("hello".utf8)))
    guard case .closed(code: 1002, reason: _) = events.last else {
      Issue.record("not closed with 1002: \(events)")
      return
    }
  }

  @Test func `closing does not wait longer than a second for a silent peer`() async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      // The peer never reads, so it never answers the close frame.
      peer.park()
    }
    defer { server.release() }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    _ = await socket.next()
    let taken = await ContinuousClock().measure {
      await socket.handle.close(code: 1000, reason: "")
    }
    #expect(taken >= .seconds(1))
    // The bound is far above one second, since the machine may be busy.
    #expect(taken < .seconds(60))
  }

  @Test func `a ping is answered and reported`() async throws {
    let (pongs, pong) = AsyncStream<WebSocketEvent>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      peer.ping("are you there")
      if let event = peer.event() { pong.yield(event) }
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    #expect(await socket.nextAfterOpening() == .ping)
    for await event in pongs {
      #expect(event == .pong(Array("are you there".utf8)))
      break
    }
  }

  @Test func `a pong reports the id of its ping, and an unsolicited pong is ignored`() async throws
  {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.write([0x8A, 8, 9, 9, 9, 9, 9, 9, 9, 9])
      while peer.event() != nil {}
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    _ = await socket.next()
    await socket.handle.ping(id: 7)
    #expect(await socket.next() == .pong(id: 7))
    await socket.handle.ping(id: .max)
    #expect(await socket.next() == .pong(id: .max))
  }

  @Test(arguments: [(100, true), (101, false)])
  func `a message above the limit is dropped and the next one is delivered`(
    count: Int, fits: Bool
  ) async throws {
    let big = [UInt8](repeating: 0x62, count: count)
    let server = try TestServer { peer in
      peer.upgrade()
      peer.send(binary: big)
      peer.send("next")
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL, maxMessageBytes: 100))
    let expected: SocketEvent = fits ? .binary(big) : .oversized(bytes: UInt64(count))
    #expect(await socket.nextAfterOpening() == expected)
    #expect(await socket.next() == .text(Array("next".utf8)))
  }

  @Test func `many small messages in one read come in order`() async throws {
    let texts = (0..<20_000).map { "m\($0)" }
    let server = try TestServer { peer in
      peer.upgrade()
      for text in texts { peer.send(text) }
      peer.close(1000)
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    _ = await socket.next()
    var seen: [String] = []
    while case .text(let text) = await socket.next() {
      seen.append(String(decoding: text, as: UTF8.self))
    }
    #expect(seen.count == texts.count)
    #expect(seen.elementsEqual(texts))
  }

  @Test func `a slow reader pauses the socket and later receives every message`() async throws {
    let message: [UInt8] = [0x82, 126, 0x03, 0xE8] + [UInt8](repeating: 1, count: 1_000)
    let (stalls, stall) = AsyncStream<Int>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      stall.yield(peer.flood(message, timeLimit: 200))
      peer.drain()
    }
    let gate = Gate()
    let counter = Counter()
    let handle = try await newDialer().open(.to(server.socketURL)) { event in
      guard case .binary = event else { return }
      await gate.wait()
      counter.add()
    }
    var written = 0
    for await count in stalls {
      written = count
      break
    }
    // Only the kernel's buffers and one read of the client can hold bytes in transit.
    #expect(written < 64_000_000)
    #expect(counter.value == 0)
    await gate.open()
    await counter.reach(written / message.count)
    await handle.close(code: 1000, reason: "")
  }

  @Test func `sending stops when the queue is full`() async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.park()
    }
    defer { server.release() }
    let network = try newDialer(maxQueuedBytes: 100_000, offersDeflate: false)
    let socket = await Opened(network, .to(server.socketURL))
    _ = await socket.next()
    let text = [UInt8](repeating: 0x61, count: 50_000)
    var accepted = 0
    while await socket.handle.send(text: text) == .queued, accepted < 10_000 { accepted += 1 }
    #expect(accepted > 0)
    #expect(accepted < 10_000)
  }

  @Test func `a peer that sends pings without reading is not read endlessly`() async throws {
    let ping: [UInt8] = [0x89, 125] + [UInt8](repeating: 1, count: 125)
    let pings = Array(repeatElement(ping, count: 500).joined())
    let (stalls, stall) = AsyncStream<Int>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      stall.yield(peer.flood(pings, timeLimit: 200))
    }
    let network = try newDialer(maxQueuedBytes: 100_000)
    let socket = await Opened(network, .to(server.socketURL))
    for await written in stalls {
      #expect(written < 64_000_000)
      break
    }
    _ = socket
  }

  @Test func `the reset of a peer that sends pings without reading is detected`() async throws {
    let ping: [UInt8] = [0x89, 125] + [UInt8](repeating: 1, count: 125)
    let pings = Array(repeatElement(ping, count: 500).joined())
    let server = try TestServer { peer in
      peer.upgrade()
      _ = peer.flood(pings, timeLimit: 200)
      peer.reset()
    }
    let network = try newDialer(maxQueuedBytes: 100_000)
    let socket = await Opened(network, .to(server.socketURL))
    // If a write encounters the reset first, the read only sees the end of the stream.
    let failure = try #require(await socket.failure())
    #expect([.reset, .ended].contains(failure))
  }

  @Test func `dropping the handle closes the socket`() async throws {
    let (codes, code) = AsyncStream<WebSocketEvent>.makeStream()
    let server = try TestServer { peer in
      peer.upgrade()
      while let event = peer.event() { code.yield(event) }
    }
    let network = try newDialer()
    do {
      let socket = await Opened(network, .to(server.socketURL))
      _ = await socket.next()
    }
    for await event in codes {
      #expect(event == .closed(code: 1001, reason: ""))
      break
    }
  }

  @Test func `closing while dialing reports a single failure`() async throws {
    let (begins, begin) = AsyncStream<Void>.makeStream()
    let server = try TestServer { peer in
      begin.yield()
      peer.drain()
    }
    let socket = await Opened(try newDialer(), .to(server.socketURL))
    for await _ in begins { break }
    await socket.handle.close(code: 1000, reason: "")
    await socket.handle.close(code: 1000, reason: "")
    #expect(await socket.next() == .failed(.local(detail: "Closed before it opened.")))
    #expect(await socket.next() == nil)
  }
}
