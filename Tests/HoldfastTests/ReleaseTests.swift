import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct ReleaseTests {
  @Test(arguments: [true, false])
  func `a closed or dropped stream releases its dependencies`(
    isClosed: Bool
  ) async throws {
    let released = Mailbox<Void>()
    try await open(FarewellTokens(released), closes: isClosed)
    #expect(await released.next() != nil)
  }

  private func open(_ tokens: FarewellTokens, closes: Bool) async throws {
    let clock = TestClock()
    let streams = try await ShopStreams(
      storage: .memory, tokens: tokens.source,
      ports: DevicePorts(
        network: FakeNetwork(clock: clock), reachability: FakeReachability(),
        lifecycle: FakeLifecycle(), clock: clock))
    let shop = try #require(ShopID("bakery"))
    let stream = try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1", shop: shop))
    if closes { await stream.close() }
  }
}

/// The tokens of a source that reports when it is released.
private final class FarewellTokens: Sendable {
  private let released: Mailbox<Void>

  init(_ released: Mailbox<Void>) {
    self.released = released
  }

  var source: TokenSource { TokenSource { self.token } }

  deinit {
    released.put(())
  }

  private var token: String { "token" }
}
