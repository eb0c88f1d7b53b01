import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests of the number of messages that a stream loads from its store into memory.
@Suite(.timeLimit(.minutes(60))) struct StreamMemoryTests {
  private let clock = TestClock()

  /// A message with a text of 9,900 bytes and the author "you" takes 9,900 + 3 + 256 bytes, so 196
  /// such messages fit into 2,000,000 bytes.
  @Test(arguments: [(300, 9_900, 196), (300, 10, 300), (1_200, 10, 1_000)])
  func `a stream loads no more of its store than memory holds`(
    count: Int, length: Int, retained: Int
  ) async throws {
    let shop = try #require(ShopID("shop"))
    let store = MemoryTimelineStore()
    let text = String(repeating: "x", count: length)
    let messages = (1...count).map { number in
      ShopMessage(
        id: UUID128(high: 1, low: UInt64(number)), shop: shop, user: "you", username: nil,
        text: text, createdAt: Timestamp(nanoseconds: Int64(number) * 1_000_000_000))
    }
    _ = try await store.commit(TimelineChange(messages: messages), to: shop)
    let streams = try await ShopStreams(
      storage: .store(store), tokens: .fixed("token"),
      ports: DevicePorts(
        network: FakeNetwork(clock: clock), reachability: AlwaysReachable(), clock: clock))
    let stream = try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1:1", shop: shop))
    for await update in stream {
      if case .messages = update { break }
    }
    #expect(await stream.snapshot.timeline.messages == messages.suffix(retained))
    await stream.close()
  }
}
