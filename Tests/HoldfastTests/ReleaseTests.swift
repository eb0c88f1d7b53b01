import Holdfast
import HoldfastTestKit
import HoldfastCore
import HoldfastWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct ReleaseTests {
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
    let streams = ShopStreams(
      StreamEnvironment(
        network: FakeNetwork(clock: clock), store: MemoryTimelineStore(),
        reachability: FakeReachability(), lifecycle: FakeLifecycle(), tokens: tokens, clock: clock))
    let shop = try #require(ShopID("bakery"))
    let stream = try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1", shop: shop))
    if closes { await stream.close() }
  }
}

/// A token source that reports when it is released.
private final class FarewellTokens: TokenSource {
  private let released: Mailbox<Void>

  init(_ released: Mailbox<Void>) {
    self.released = released
  }

  deinit {
    released.put(())
  }

  func token() async throws(TokenFailure) -> String { "token" }
}
