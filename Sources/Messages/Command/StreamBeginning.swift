import Holdfast
import HoldfastCommandKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import Synchronization

/// The start of a new consumer's deliveries. It can check whether the store has all messages after
/// the start.
struct StreamBeginning: Sendable {
  private let start: ConsumerStart
  private let shop: ShopID
  private let store: any TimelineStore

  /// The number of messages that are read at a time.
  private static let page = 1_000

  /// Creates the start of a new consumer. Returns `nil` if the consumer already exists and
  /// continues.
  init?(
    of name: ConsumerName, from start: ConsumerStart, in shop: ShopID,
    _ store: any TimelineStore
  ) async throws(StoreFailure) {
    guard try await !store.consumers(of: shop).contains(where: { $0.name == name }) else {
      return nil
    }
    (self.start, self.shop, self.store) = (start, shop, store)
  }

  /// Returns whether the consumer lacks messages that only the server has.
  func lacks(in model: StreamModel) async throws(StoreFailure) -> Bool {
    switch start {
    case .newest: return model.hasOlder
    case .after: return false
    case .all: return try await oldest(in: model) != nil
    case .since(let time):
      guard let oldest = try await oldest(in: model) else { return false }
      return oldest.createdAt > time
    }
  }

  /// Returns the oldest stored message; `nil` if the server is not known to have older ones.
  private func oldest(in model: StreamModel) async throws(StoreFailure) -> ShopMessage? {
    var found: ShopMessage?
    var messages = try await store.load(shop, limit: 1).messages
    while let first = messages.first {
      found = first
      messages = try await store.older(than: first.key, in: shop, limit: Self.page)
    }
    guard let position = found?.position else { return model.hasOlder ? found : nil }
    return position.offset > 1 ? found : nil
  }
}

/// A counter of tasks that all have to finish.
final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) {
    left = Mutex(count)
  }

  /// Records that a task has finished. Returns `true` for the last task.
  func isLast() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
