import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import Testing

@testable import HoldfastCurlNetwork

@Suite(.timeLimit(.minutes(60)))
struct RestTests {
  @Test func `a response of any status is returned whole`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.answer(503, [("Retry-After", "7"), ("X-Two", "a"), ("X-Two", "b")], "{}")
    }
    let response = try await CurlNetwork().send(.to(server.url + "/v1"))
    #expect(response.status == 503)
    #expect(response.headers["retry-after"] == "7")
    #expect(response.headers["x-two"] == "a, b")
    #expect(response.body == Array("{}".utf8))
  }

  @Test(arguments: ["GET", "POST", "PUT", "DELETE", "PATCH"])
  func `method, query, fields and body arrive as given`(method: String) async throws {
    let server = try TestServer { peer in
      guard let (head, body) = peer.request() else { return }
      let token = head.first("authorization") ?? "none"
      let type = head.first("content-type") ?? "none"
      let said = String(decoding: body, as: UTF8.self)
      peer.answer(200, [], "\(head.method) \(head.target) \(token) \(type) \(said)")
    }
    let hasBody = method != "GET" && method != "DELETE"
    let response = try await CurlNetwork().send(
      .to(
        server.url + "/a?x=1", method: method, headers: [("Authorization", "Bearer t0ken")],
        query: [("q", "ä &+/")], body: hasBody ? Array("hi".utf8) : []))
    let expected = "\(method) /a?x=1&q=%C3%A4%20%26%2B%2F Bearer t0ken none "
    #expect(String(decoding: response.body, as: UTF8.self) == expected + (hasBody ? "hi" : ""))
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `a client for public addresses connects to no other, whatever a name resolves to`(
    host: String
  ) async throws {
    let count = Counter()
    let server = try TestServer { peer in
      count.add()
      _ = peer.request()
      peer.answer(200, [], "secret")
    }
    let port = try #require(server.url.split(separator: ":").last)
    let network = try CurlNetwork(CurlConfiguration(proxy: "", onlyPublicAddresses: true))
    await #expect(throws: LinkFailure.self) {
      try await network.send(.to("http://\(host):\(port)"))
    }
    #expect(count.value == 0)
    #expect(try await CurlNetwork().send(.to("http://\(host):\(port)")).status == 200)
  }

  @Test func `one connection serves many requests`() async throws {
    let count = Counter()
    let server = try TestServer { peer in
      count.add()
      while peer.request() != nil { peer.answer(200, [], "ok") }
    }
    let network = try CurlNetwork()
    for _ in 0..<5 { _ = try await network.send(.to(server.url)) }
    #expect(count.value == 1)
  }

  @Test func `a POST without a response is sent once, and its failure is reported`() async throws {
    let posts = Counter()
    let server = try TestServer { peer in
      while let (head, _) = peer.request() {
        guard head.method == "POST" else {
          peer.answer(200, [], "ok")
          continue
        }
        posts.add()
        return
      }
    }
    let network = try CurlNetwork()
    for _ in 0..<3 {
      _ = try await network.send(.to(server.url))
      await #expect(throws: LinkFailure.self) {
        try await network.send(.to(server.url, method: "POST", body: [1]))
      }
    }
    #expect(posts.value == 3)
  }

  @Test func `connections are closed when the network is released`() async throws {
    let (ends, end) = AsyncStream<Void>.makeStream()
    let server = try TestServer { peer in
      while peer.request() != nil { peer.answer(200) }
      end.yield()
    }
    _ = try await CurlNetwork().send(.to(server.url))
    for await _ in ends { break }
  }

  @Test func `twenty requests run concurrently`() async throws {
    let server = try TestServer { peer in
      while let (head, _) = peer.request() { peer.answer(200, [], head.target) }
    }
    let network = try CurlNetwork()
    try await withThrowingTaskGroup(of: (Int, HTTPAnswer).self) { group in
      for number in 0..<20 {
        group.addTask { (number, try await network.send(.to("\(server.url)/\(number)"))) }
      }
      for try await (number, response) in group {
        #expect(response.body == Array("/\(number)".utf8))
      }
    }
  }

  @Test func `redirects are returned and not followed`() async throws {
    let server = try TestServer { peer in
      while peer.request() != nil { peer.answer(302, [("Location", "/login")]) }
    }
    #expect(try await CurlNetwork().send(.to(server.url)).status == 302)
  }

  @Test func `a header field of 300 kB is a protocol error, not a lack of memory`() async throws {
    let server = try TestServer { peer in
      while peer.request() != nil {
        peer.answer(200, [("X-Long", String(repeating: "a", count: 300_000))])
      }
    }
    let network = try CurlNetwork()
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to(server.url))
    }
    #expect(failure == .protocolError(detail: "A field of the answer's head is too long."))
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `a body is accepted up to its limit`(count: Int, fits: Bool) async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.answer(200, [], String(repeating: "x", count: count))
    }
    let network = try CurlNetwork()
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to(server.url, maxBodyBytes: 100))
    }
    #expect(failure == (fits ? nil : .protocolError(detail: "The answer is over 100 bytes.")))
  }

  @Test func `silence after the request is a response time-out`() async throws {
    let server = try TestServer { $0.drain() }
    let network = try CurlNetwork()
    let found = await timeout(in: .response) { limit in
      await failure { () async throws(LinkFailure) in
        try await network.send(.to(server.url, timeout: limit))
      }
    }
    #expect(found == .timeout(.response))
  }

  @Test func `a closed port is reported as refused and an unknown host name as a DNS failure`()
    async throws
  {
    let network = try CurlNetwork(CurlConfiguration(proxy: "", allowsPlaintext: true))
    let closed = try Listener(backlog: nil)
    let refused = await failure { () async throws(LinkFailure) in
      try await network.send(.to("http://127.0.0.1:\(closed.port)"))
    }
    #expect(refused == .refused)
    let unknown = await failure { () async throws(LinkFailure) in
      try await network.send(.to("http://no-such-host.invalid"))
    }
    guard case .dns = unknown else {
      Issue.record("\(String(describing: unknown))")
      return
    }
  }

  @Test func `an end before the response is distinguished from a reset`() async throws {
    let ending = try TestServer { peer in
      _ = peer.request()
      peer.end()
    }
    let resetting = try TestServer { peer in
      _ = peer.request()
      peer.reset()
    }
    let network = try CurlNetwork()
    let ended = await failure { () async throws(LinkFailure) in
      try await network.send(.to(ending.url))
    }
    #expect(ended == .ended)
    let reset = await failure { () async throws(LinkFailure) in
      try await network.send(.to(resetting.url))
    }
    #expect(reset == .reset)
  }

  @Test func `an answer that is not HTTP breaks the protocol`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.write(Array("SSH-2.0-Open\r\n\r\n".utf8))
    }
    let network = try CurlNetwork()
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to(server.url))
    }
    guard case .protocolError = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test func `cancelling the task ends the transfer`() async throws {
    let (ends, end) = AsyncStream<Void>.makeStream()
    let (begins, begin) = AsyncStream<Void>.makeStream()
    let server = try TestServer { peer in
      _ = peer.request()
      begin.yield()
      peer.drain()
      end.yield()
    }
    let network = try CurlNetwork()
    let task = Task {
      await failure { () async throws(LinkFailure) in try await network.send(.to(server.url)) }
    }
    for await _ in begins { break }
    task.cancel()
    #expect(await task.value == .local(detail: "The request was cancelled."))
    // This waits until the server has observed the end of its connection.
    for await _ in ends { break }
  }

  @Test func `an unreachable proxy is a proxy failure`() async throws {
    let closed = try Listener(backlog: nil)
    let network = try CurlNetwork(
      CurlConfiguration(proxy: "http://127.0.0.1:\(closed.port)", allowsPlaintext: true))
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to("http://example.invalid/"))
    }
    guard case .proxy = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test func `a tunnel refused by the proxy is a proxy failure`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.answer(407)
    }
    let network = try CurlNetwork(CurlConfiguration(proxy: server.url))
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to("https://example.invalid/"))
    }
    #expect(failure == .proxy(detail: "The proxy answered 407."))
  }

  @Test func `plaintext to another host is refused before anything is sent`() async throws {
    let network = try CurlNetwork()
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to("http://example.invalid/"))
    }
    #expect(
      failure
        == .local(
          detail: "Plaintext to example.invalid is refused; use TLS, or set allowsPlaintext."))
  }

  @Test(arguments: [("X", "a\r\nB: c"), ("X Y", "a"), ("", "a")])
  func `a header with a forbidden name or value is refused`(name: String, value: String)
    async throws
  {
    let network = try CurlNetwork()
    let failure = await failure { () async throws(LinkFailure) in
      try await network.send(.to("http://127.0.0.1:1", headers: [(name, value)]))
    }
    #expect(
      failure == .local(detail: "A header's name or value contains a character that HTTP forbids."))
  }
}
