import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60)))
struct FakeNetworkTests {
  let clock = TestClock()

  @Test
  func `satisfies the contract of a dialer`() async throws {
    let network = FakeNetwork(clock: clock)
    try await socketDialerContract(Refusing(network), server: server(of: network))
  }

  @Test
  func `the contract detects a dialer that does not wait for delivery`() async throws {
    let network = FakeNetwork(clock: clock)
    let dialer = Refusing(network, overlapping: true)
    await #expect(throws: ContractViolation.self) {
      try await socketDialerContract(dialer, server: server(of: network))
    }
  }

  @Test
  func `satisfies the contract of an HTTP client`() async throws {
    let network = FakeNetwork(clock: clock)
    try await httpClientContract(Refusing(network), server: httpServer(of: network))
  }

  @Test
  func `the contract detects a client that accepts bodies above the limit`() async throws {
    let network = FakeNetwork(clock: clock)
    let client = Refusing(network, extraBody: 1)
    await #expect(throws: ContractViolation.self) {
      try await httpClientContract(client, server: httpServer(of: network))
    }
  }

  @Test
  func `a test answers a request`() async throws {
    let network = FakeNetwork(clock: clock)
    async let response = network.send(request)
    let exchange = try #require(await network.exchanges.next())
    #expect(exchange.request.url == request.url)
    exchange.respond(status: 200, headers: ["ETag": "x"], body: [1, 2])
    #expect(
      try await response == HTTPAnswer(status: 200, headers: ["etag": "x"], body: [1, 2]))
  }

  @Test
  func `a rule answers requests`() async throws {
    let network = FakeNetwork(clock: clock)
    network.serve { request in .failure(request.method == "GET" ? .refused : .reset) }
    await #expect(throws: LinkFailure.refused) { try await network.send(request) }
  }

  @Test
  func `a request without an answer times out`() async throws {
    let network = FakeNetwork(clock: clock)
    let sending = Task { try await network.send(request) }
    await clock.someoneWaits(for: .second(10))
    clock.advance(to: .second(10))
    await #expect(throws: LinkFailure.timeout(.response)) { try await sending.value }
  }

  @Test
  func `a cancelled request ends`() async throws {
    let network = FakeNetwork(clock: clock)
    let sending = Task { try await network.send(request) }
    _ = await network.exchanges.next()
    sending.cancel()
    await #expect(throws: LinkFailure.local(detail: "cancelled")) { try await sending.value }
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `a body up to the limit is accepted`(bytes: Int, fits: Bool) async throws {
    let network = FakeNetwork(clock: clock)
    network.serve { _ in
      .success(HTTPAnswer(status: 200, headers: [:], body: [UInt8](repeating: 0, count: bytes)))
    }
    let response = try? await network.send(request)
    #expect((response != nil) == fits)
  }

  @Test
  func `messages to a peer that does not read are refused at the limit`() async throws {
    let network = FakeNetwork(clock: clock)
    network.serve { (socket: FakeSocket) in
      socket.limitUnread(to: 2)
      await socket.accept()
    }
    let events = Mailbox<SocketEvent>()
    let request = SocketRequest(url: "ws://a", openTimeout: .seconds(1), maxMessageBytes: 10)
    let handle = await network.open(request) { events.put($0) }
    #expect(await events.next() == .opened(headers: [:]))
    #expect(await handle.send(text: [1]) == .queued)
    #expect(await handle.send(text: [2]) == .queued)
    #expect(await handle.send(text: [3]) == .full)
  }

  @Test
  func `a listener receives the current state at once, then each change`() async {
    let fake = FakeReachability(.unreachable)
    var listener = fake.changes().makeAsyncIterator()
    fake.change(to: .unreachable)
    fake.change(to: .captivePortal)
    #expect(await listener.next() == .unreachable)
    #expect(await listener.next() == .captivePortal)
  }

  @Test
  func `a listener receives the app's lifecycle events`() async {
    let fake = FakeLifecycle()
    fake.send(.background)
    var listener = fake.changes().makeAsyncIterator()
    fake.send(.foreground)
    #expect(await listener.next()?.event == .background)
    #expect(await listener.next()?.event == .foreground)
  }

  private var request: HTTPCall {
    HTTPCall(method: "GET", url: "http://a/b", timeout: .seconds(10), maxBodyBytes: 100)
  }

  private func httpServer(of network: FakeNetwork) -> ContractServer<any FarExchange> {
    ContractServer(
      url: "http://fake", refusingURL: Refusing.url,
      next: {
        guard let exchange = await network.exchanges.next() else {
          throw ContractViolation("the network is closed")
        }
        return exchange
      },
      pass: { [clock] time in clock.advance(by: time) })
  }

  private func server(of network: FakeNetwork) -> ContractServer<any FarSocket> {
    ContractServer(
      url: "ws://fake", refusingURL: Refusing.url,
      next: {
        guard let socket = await network.sockets.next() else {
          throw ContractViolation("the network is closed")
        }
        return socket
      },
      pass: { [clock] time in clock.advance(by: time) })
  }
}

/// A fake network in which connections to one address are refused. It can be made to break the
/// contract.
private struct Refusing: SocketDialer, HTTPClient {
  static let url = "ws://nobody"
  let network: FakeNetwork
  let overlapping: Bool
  let extraBody: Int

  init(_ network: FakeNetwork, overlapping: Bool = false, extraBody: Int = 0) {
    self.network = network
    self.overlapping = overlapping
    self.extraBody = extraBody
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    guard request.url != Self.url else { throw .refused }
    var request = request
    request.maxBodyBytes += extraBody
    return try await network.send(request)
  }

  func forgetConnections() async {}

  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    let handle = await network.open(request) { event in
      if overlapping { Task { await deliver(event) } } else { await deliver(event) }
    }
    if request.url == Self.url, let socket = await network.sockets.next() {
      await socket.fail(.refused)
    }
    return handle
  }
}
