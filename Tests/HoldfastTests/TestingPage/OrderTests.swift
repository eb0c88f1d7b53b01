import Holdfast
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct OrderTests {
  let clock = TestClock()
  let network: FakeNetwork

  init() { network = FakeNetwork(clock: clock) }

  /// The app's configuration, with the kit's network and clock.
  var configuration: SocketConfiguration {
    var configuration = SocketConfiguration("wss://shop.example/orders")
    configuration.outbox = .memory
    configuration.ports = DevicePorts(
      network: network, reachability: FakeReachability(), clock: clock)
    return configuration
  }

  @Test func `an order that may be lost is sent again`() async throws {
    let socket = try await HeldSocket(configuration)
    let shown = Mailbox<String>()
    let app = Task { for await case .text(let text) in socket { shown.put(text) } }

    let first = try await network.nextSocket().accepted()
    first.answerPings(false)  // without a pong, nothing proves that the order arrived
    await first.send("rye is sold out")
    #expect(try await shown.next(within: .seconds(600)) == "rye is sold out")
    try await socket.send("two oat")
    #expect(try await first.nextText() == "two oat")
    await first.drop()

    // The wait before the next attempt is random. Its mean is 1 s.
    let second = try await network.nextSocket(advancing: clock).accepted()
    #expect(try await second.nextText() == "two oat")
    await socket.close()
    await app.value
  }

  @Test func `the connection closes in the background`() async throws {
    let socket = try await HeldSocket(configuration)
    let first = try await network.nextSocket().accepted()
    socket.setLifecycle(.background)
    // The socket closes after 25 s. It may send pings until then.
    var action = try await first.nextAction(advancing: clock)
    while case .ping = action { action = try await first.nextAction(advancing: clock) }
    #expect(action == .closed(code: 1001, reason: ""))
    await socket.close()
  }

  @Test func `a refusal ends the loop with a reason`() async throws {
    let socket = try await HeldSocket(configuration)
    try await network.nextSocket().reject(status: 403)
    for await _ in socket {}
    #expect(socket.failure == .http(status: 403, retryAfter: nil, detail: ""))
    await socket.close()
  }
}
