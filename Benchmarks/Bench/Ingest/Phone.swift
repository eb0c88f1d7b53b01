import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastSQLiteStores
import HoldfastTestKit
import Synchronization

/// A phone that uses the public API with a real store and real sockets, as an app does.
struct Phone: Sendable {
  let stream: ShopStream
  let store: CountingStore

  /// Opens a shop with its own directory.
  static func open(_ server: String, _ shop: ShopID, in directory: String) async throws -> Phone {
    let store = CountingStore(try await SQLiteTimelineStore.open(in: directory))
    let streams = try await ShopStreams(
      storage: .store(store), tokens: .fixed("bench"),
      ports: DevicePorts(network: try HoldfastPlatform.network(proxy: "")))
    let stream = try await streams.open(StreamConfiguration(server: server, shop: shop))
    return Phone(stream: stream, store: store)
  }

  /// Reads updates until `count` messages have been shown, and returns the time of the last one.
  func read(_ count: Int) async throws -> ContinuousClock.Instant {
    var shown = 0
    for await update in stream {
      switch update {
      case .messages(let messages, via: _):
        shown += messages.count
        if shown >= count { return .now }
      case .status, .edited, .deleted, .gap, .gapClosed, .outbox, .outboxDone, .history, .notice:
        break
      }
    }
    throw Unavailable("the stream ended after \(shown) of \(count) messages")
  }

  func close() async {
    await stream.close()
    await store.close()
  }
}

/// A store that records the sizes of its commits.
final class CountingStore: ForwardingTimelineStore {
  let store: any TimelineStore
  private let sizes = Mutex<[Int]>([])

  init(_ store: any TimelineStore) { self.store = store }

  var batches: [Int] { sizes.withLock(\.self) }

  func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    if !change.messages.isEmpty { sizes.withLock { $0.append(change.messages.count) } }
    return try await store.commit(change, to: shop)
  }
}
