import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthRelay
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

/// Tests that closing a socket with 1001, a sign that its path is gone, discards idle connections.
@Suite(.timeLimit(.minutes(60))) struct ForgottenConnectionsTests {
  private let network = CountingNetwork()

  @Test func `a relay forgets idle connections when it closes a socket with 1001`() async throws {
    var configuration = RelayConfiguration(
      server: "https://backend.example", phone: UUID128(high: 1, low: 2), zone: .utc,
      profile: .foreground, storage: .memory)
    configuration.ports = DevicePorts(network: network, reachability: AlwaysReachable())
    let relay = try await Relay(configuration)
    relay.start()
    let socket = await network.fake.sockets.next()
    await socket?.accept()
    #expect(network.forgotten == 1)  // The first report of reachability.
    relay.setLifecycle(.background)
    #expect(await socket?.actions.next() == .closed(code: 1001, reason: ""))
    await relay.close()
    #expect(network.forgotten == 2)
  }

  @Test func `a stream forgets idle connections when it closes a socket with 1001`() async throws {
    let shop = try #require(ShopID("s1"))
    network.fake.serve(requests: { _ in
      .success(
        HTTPAnswer(
          status: 200, headers: ["content-type": "application/json"],
          body: Array(#"{"messages":[]}"#.utf8)))
    })
    let streams = try await ShopStreams(
      storage: .memory, tokens: .fixed("SEKRIT.TOKEN.TEXT"),
      ports: DevicePorts(network: network, reachability: AlwaysReachable()))
    let stream = try await streams.open(
      StreamConfiguration(server: "https://shop.example", shop: shop))
    let socket = await network.fake.sockets.next()
    await socket?.accept()
    #expect(network.forgotten == 1)
    stream.setLifecycle(.background)
    #expect(await socket?.actions.next() == .closed(code: 1001, reason: ""))
    await stream.close()
    #expect(network.forgotten == 2)
  }
}

/// A fake network that counts the requests to discard its idle connections.
private final class CountingNetwork: SocketDialer, HTTPClient {
  let fake = FakeNetwork(clock: BootClock())
  private let count = Mutex(0)

  var forgotten: Int { count.withLock(\.self) }

  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    await fake.open(request, deliver: deliver)
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    try await fake.send(request)
  }

  func forgetConnections() async { count.withLock { $0 += 1 } }
}
