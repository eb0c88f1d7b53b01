import Foundation
import Holdfast
import HoldfastTestKit
import HoldfastUI
import Observation
import Testing

/// Returns once the condition is true. The condition is checked at the start, and after each change
/// of a property that it has read.
@MainActor func change<Model>(of model: Model, until isReached: (Model) -> Bool) async {
  while !isReached(model) {
    await withCheckedContinuation { continuation in
      withObservationTracking {
        _ = isReached(model)
      } onChange: {
        continuation.resume()
      }
    }
    await Task.yield()
  }
}

@Suite(.timeLimit(.minutes(60))) @MainActor struct ShopScreenTests {
  @Test func `a message waits while the shop connects`() async throws {
    let scratch = try Scratch()
    let clock = TestClock()
    let links = HoldfastLinks(
      server: try #require(URL(string: "https://shop.example")),
      directory: URL(filePath: scratch.path),
      ports: DevicePorts(
        network: FakeNetwork(clock: clock), reachability: FakeReachability(), clock: clock)
    ) { "token" }
    let shop = links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    let sending = Task { try await shop.send("two oat") }
    await change(of: shop) { !$0.waiting.isEmpty && $0.connection.phase == .connecting }
    #expect(shop.waiting.map(\.text) == ["two oat"])
    await shop.close()
    await #expect(throws: SendError.self) { try await sending.value }
    await screen.value
  }
}
