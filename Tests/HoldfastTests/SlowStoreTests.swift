import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of a stream with a slow store.
@Suite(.timeLimit(.minutes(60)))
struct SlowStoreTests {
  private let clock = TestClock()
  private let network: FakeNetwork
  private let store = HeldStore()

  init() {
    network = FakeNetwork(clock: clock)
  }

  @Test func `a slow store slows down reading, and nothing is fetched again`() async throws {
    let (asked, sent) = (Count(), Count())
    network.serve(requests: { _ in
      asked.add()
      return .success(Self.noMessages)
    })
    let stream = try await open()
    let socket = try #require(await network.sockets.next())
    await socket.accept()
    await stream.whole()
    let before = asked.value
    await store.hold()
    let sending = Task {
      for number in 1...3000 {
        await socket.send(text: Self.message(number))
        sent.add()
      }
    }
    await clock.someoneWaits(for: clock.now.advanced(by: .seconds(2)))
    #expect((1000..<2000).contains(sent.value))
    #expect(await stream.snapshot.unstoredCount < StreamSettings.unstored)
    await store.release()
    await sending.value
    var shown: [String] = []
    for await update in stream {
      guard case .messages(let messages, via: let via) = update else { continue }
      #expect(via == .live)
      shown += messages.map(\.text)
      if shown.count >= 3000 { break }
    }
    #expect(shown == (1...3000).map { "\($0)" })
    #expect(asked.value == before)
    await stream.close()
  }

  private func open() async throws -> ShopStream {
    let streams = try await ShopStreams(
      storage: .store(store), tokens: .fixed("token"),
      ports: DevicePorts(network: network, reachability: AlwaysReachable(), clock: clock))
    return try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1:1", shop: try #require(ShopID("shop"))))
  }

  private static func message(_ number: Int) -> [UInt8] {
    let id = "550e8400-e29b-41d4-a716-4466554\(10_000 + number)"
    return Array(
      #"""
      {"id":"\#(id)","shop_id":"shop","user_id":"you","message":"\#(number)",\#
      "created_at":"2026-01-03T15:30:00Z","updated_at":null,"is_edited":false}
      """#.utf8)
  }

  private static let noMessages = HTTPAnswer(
    status: 200, headers: ["content-type": "application/json"],
    body: Array(#"{"status":200,"data":{"messages":[]},"message":""}"#.utf8))
}

/// A store that delays commits on request.
private actor HeldStore: ForwardingTimelineStore {
  let store: any TimelineStore = MemoryTimelineStore()
  private var isHeld = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func hold() { isHeld = true }

  func release() {
    isHeld = false
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    if isHeld { await withCheckedContinuation { waiting.append($0) } }
    return try await store.commit(change, to: shop)
  }
}

/// A counter that any task can increment.
private final class Count: Sendable {
  private let state = Mutex(0)

  var value: Int { state.withLock(\.self) }

  func add() { state.withLock { $0 += 1 } }
}
