import HoldfastHeldSocket
import HoldfastTestKit
import HoldfastCore
import HoldfastPorts
import Synchronization
import Testing

@testable import Holdfast

/// Tests of the effect handler of a held socket, with an app and a network that the test controls.
@Suite(.timeLimit(.minutes(10))) struct HeldSocketEffectHandlerTests {
  private let clock = TestClock()
  private let network: FakeNetwork

  init() { network = FakeNetwork(clock: clock) }

  private var options: SocketOptions {
    var options = SocketOptions()
    options.network = network
    options.reachability = AlwaysReachable()
    options.clock = clock
    return options
  }

  @Test func `a failure that echoes the URL's query does not show the query`() async throws {
    let socket = try await HeldSocket("ws://127.0.0.1:1/feed?key=SEKRIT-QUERY", options: options)
    let echo = "cannot GET /feed?key=SEKRIT-QUERY"
    await network.sockets.next()?.fail(.http(status: 403, retryAfter: nil, detail: echo))
    var reason: LinkStatus.Reason?
    for await case .status(let status) in socket where status.reason != nil {
      reason = status.reason
      break
    }
    let clean = LinkFailure.http(status: 403, retryAfter: nil, detail: "cannot GET /feed?[token]")
    #expect(reason == .failure(clean))
    await socket.close()
  }

  @Test func `a socket that failed during its dial is not kept open`() async {
    let dialer = FailingDialer()
    let desk = SocketPool(dialer, policy: .socket)
    let request = SocketRequest(
      url: "ws://127.0.0.1:1/", openTimeout: .seconds(1),
      maxMessageBytes: 1)
    await desk.open(AttemptID(1), request) { _, _ in }
    await desk.stop()
    #expect(dialer.closes.takeAll() == [])
  }
}

/// A dialer whose sockets fail before the dial returns.
private final class FailingDialer: SocketDialer, HTTPClient, SocketHandle {
  let closes = Mailbox<UInt16>()

  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    await deliver(.failed(.reset))
    return self
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer { throw .reset }
  func forgetConnections() async {}
  func send(text: [UInt8]) async -> SocketSending { .closed }
  func send(binary: [UInt8]) async -> SocketSending { .closed }
  func ping(id: UInt64) async {}
  func close(code: UInt16, reason: String) async { closes.put(code) }
}
