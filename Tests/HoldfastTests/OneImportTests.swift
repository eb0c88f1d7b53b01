import Holdfast
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastMessageData
import HoldfastPorts
import Testing

/// Tests with the code of an app that needs only the imports of this file.
///
/// Each test also checks that this code compiles.
@Suite struct OneImportTests {
  @Test func `a stream, its policy, its updates and its store`() async throws {
    let store: any TimelineStore = HoldfastPlatform.memoryStore()
    let shop = try #require(ShopID("bakery"))
    let policy: LinkPolicy = try .messageStream.setting([("retry.first", "1s")])
    let streams = try await ShopStreams(storage: .store(store), tokens: .fixed("a.good.token"))
    let stream = try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1:1", shop: shop, policy: policy))
    let id: UUID128 = stream.enqueue("hello")
    for await case .outbox(let entry) in stream {
      #expect(entry.id == id && entry.state == .queued(tries: 0))
      break
    }
    stream.setLifecycle(.background)
    let failure: LinkFailure? = stream.failure
    #expect(failure == nil)
    await streams.close()
    let stored: [OutboxEntry] = try await store.load(shop, limit: 1).outbox
    #expect(stored.map(\.text) == ["hello"])
    await store.close()
  }

  @Test func `a relay's health store`() async throws {
    await #expect(throws: StoreFailure.self) {
      let store = try await HoldfastPlatform.readableHealthStore(in: "/dev/null/nowhere")
      await store.close()
    }
    let profile: RelayProfile = .foreground
    #expect(ZoneRules.utc.secondsEast(at: Timestamp(nanoseconds: 0)) == 0)
    #expect(profile == .foreground)
  }
}
