import HoldfastAppleNetwork
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of the HTTP client over the URLSession of this system.
@Suite(.timeLimit(.minutes(60)))
struct ClientTests {
  @Test func `satisfies the contract of an HTTP client`() async throws {
    let closed = try Listener(backlog: nil)
    let requests = Mailbox<FarRequest>()
    // URLSession sends a GET request again if its connection carried an earlier exchange and is lost.
    let server = try FarRequest.server(requests, keepAlive: false)
    // Each unanswered request blocks a thread until the request is dropped.
    let asked = Mutex<[FarRequest]>([])
    defer { asked.withLock(\.self).forEach { $0.drop() } }
    try await httpClientContract(
      URLSessionClient(),
      server: ContractServer(
        url: server.url, refusingURL: "http://127.0.0.1:\(closed.port)/",
        next: {
          let request = try #require(await requests.next())
          asked.withLock { $0.append(request) }
          return LocatedExchange(request: request)
        }))
  }

  @Test func `a response contains the retry-after, and a redirect is not followed`() async throws {
    let server = try TestServer { peer in
      while peer.request() != nil {
        peer.answer(302, [("Location", "/next"), ("Retry-After", "7")], "here")
      }
    }
    let client = URLSessionClient()
    for _ in 0..<2 {
      let answer = try await client.send(
        HTTPCall(method: "GET", url: server.url, timeout: .seconds(60), maxBodyBytes: 100))
      #expect(answer.status == 302 && answer.retryAfter == .seconds(7))
      #expect(answer.body == Array("here".utf8) && answer.headers["location"] == "/next")
      await client.forgetConnections()
    }
  }

  @Test func `a cancelled task fails at once, also before its request was sent`() async throws {
    let server = try TestServer { $0.drain() }
    for _ in 0..<50 {
      let sending = Task {
        try await URLSessionClient().send(
          HTTPCall(method: "GET", url: server.url, timeout: .seconds(600), maxBodyBytes: 1))
      }
      sending.cancel()
      await #expect(throws: LinkFailure.self) { try await sending.value }
    }
  }

  @Test func `the time limit is measured by the given clock`() async throws {
    let server = try TestServer { $0.drain() }
    let clock = TestClock()
    let client = URLSessionClient(clock: clock)
    let sending = Task {
      try await client.send(
        HTTPCall(method: "GET", url: server.url, timeout: .seconds(90), maxBodyBytes: 1))
    }
    await clock.advanceToNextDeadline()
    await #expect(throws: LinkFailure.timeout(.response)) { try await sending.value }
    #expect(clock.now == .second(90))
  }

  @Test func `a request that cannot be sent is a local failure`() async throws {
    let client = URLSessionClient()
    let calls: [HTTPCall] = [
      HTTPCall(method: "GET", url: "http://a.invalid/", timeout: .seconds(60), maxBodyBytes: 1),
      HTTPCall(method: "G T", url: "http://[::1]/", timeout: .seconds(60), maxBodyBytes: 1),
      HTTPCall(method: "GET", url: "ws://[::1]/", timeout: .seconds(60), maxBodyBytes: 1),
      HTTPCall(
        method: "GET", url: "http://[::1]/", headers: [("A", "b\r\nC: d")], timeout: .seconds(60),
        maxBodyBytes: 1),
    ]
    for call in calls {
      do throws(LinkFailure) {
        _ = try await client.send(call)
        Issue.record("sent \(call.url)")
      } catch {
        guard case .local = error else {
          Issue.record("\(error)")
          continue
        }
      }
    }
  }

  @Test func `no cookie is kept, and the query and headers reach the server`() async throws {
    let server = try TestServer { peer in
      while let (head, _) = peer.request() {
        let seen = "\(head.target) \(head.first("cookie") ?? "-") \(head.first("x-a") ?? "-")"
        peer.answer(200, [("Set-Cookie", "a=b"), ("Cache-Control", "max-age=600")], seen)
      }
    }
    let client = URLSessionClient()
    for number in 0..<3 {
      let answer = try await client.send(
        HTTPCall(
          method: "GET", url: server.url + "/p", headers: [("X-A", "\(number)")],
          query: [("token", "a/b c")], timeout: .seconds(60), maxBodyBytes: 100))
      #expect(String(decoding: answer.body, as: UTF8.self) == "/p?token=a%2Fb%20c - \(number)")
    }
  }
}

/// An exchange whose redirects have a Location, without which FoundationNetworking loses the body.
private struct LocatedExchange: FarExchange {
  let request: FarRequest

  var received: (method: String, headers: [String: String], body: [UInt8]) { request.received }

  func respond(status: Int, headers: [String: String], body: [UInt8]) async {
    let more = (300..<400).contains(status) ? ["Location": "/elsewhere"] : [:]
    request.respond(status: status, headers: headers.merging(more) { $1 }, body: body)
  }

  func drop() async { request.drop() }
}
