public import HoldfastCore
import HoldfastFeaturePorts
public import HoldfastMessageData
import Synchronization

/// A consumer of a shop's stored messages, for a program that must read each message across
/// restarts.
///
///     guard let name = ConsumerName("indexer") else { return }
///     let consumer = try await stream.consumer(name)
///     for try await batch in consumer {
///       for delivery in batch {
///         if let message = delivery.message { index(message) } else { remove(delivery.id) }
///       }
///       try await consumer.acknowledge(through: batch)
///     }
///
/// The store keeps the acknowledgements. After a restart, the program continues after the last
/// acknowledged delivery. Deliveries without an acknowledgement are repeated, and none is skipped.
/// Each batch has 1 to 256 deliveries. The sequence ends when the stream is closed. After
/// `finish()`, it ends once all stored deliveries have been delivered.
///
/// Only one loop may read a consumer. A stream may have several consumers.
public final class ShopConsumer: Sendable, AsyncSequence {
  /// The deliveries of one batch, ordered by number.
  public typealias Element = [ShopDelivery]

  /// The maximum size of a batch.
  public static let limit = 256

  /// The consumer's name.
  public let name: ConsumerName
  private let shop: ShopID
  private let store: any TimelineStore
  private let signal: ChangeSignal
  private let first: UInt64

  init(
    _ name: ConsumerName, of shop: ShopID, in store: any TimelineStore, from start: ConsumerStart,
    signal: ChangeSignal
  ) async throws(StoreFailure) {
    (self.name, self.shop, self.store, self.signal) = (name, shop, store, signal)
    try await store.addConsumer(name, of: shop, from: start)
    let state = try await store.consumers(of: shop).first { $0.name == name }
    first = state?.acknowledged ?? 0
  }

  /// The progress of the consumer.
  public var state: ConsumerState {
    get async throws(StoreFailure) {
      let states = try await store.consumers(of: shop)
      return states.first { $0.name == name } ?? ConsumerState(name: name)
    }
  }

  /// Returns an iterator over the deliveries after the last acknowledged one.
  public func makeAsyncIterator() -> Iterator {
    Iterator(consumer: self, rings: signal.rings.makeAsyncIterator(), number: first)
  }

  /// Durably acknowledges all deliveries up to a number.
  ///
  /// - Throws: `.other` if the number is above that of the last stored delivery, or the failure of
  ///   the store.
  public func acknowledge(through number: UInt64) async throws(StoreFailure) {
    try await store.acknowledge(name, of: shop, through: number)
  }

  /// Durably acknowledges a batch and all deliveries before it.
  public func acknowledge(through batch: [ShopDelivery]) async throws(StoreFailure) {
    guard let last = batch.last else { return }
    try await acknowledge(through: last.number)
  }

  /// Ends the sequence once all stored deliveries have been delivered.
  public func finish() { signal.finish() }

  /// The iterator of a consumer.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let consumer: ShopConsumer
    fileprivate var rings: AsyncStream<Void>.Iterator
    fileprivate var number: UInt64
    fileprivate var isLast = false

    /// Returns the next batch, or `nil` at the end of the sequence.
    public mutating func next() async throws(StoreFailure) -> [ShopDelivery]? {
      try await next(isolation: nil)
    }

    /// Returns the next batch, or `nil` at the end of the sequence.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(StoreFailure) -> [ShopDelivery]? {
      while !Task.isCancelled, !consumer.signal.isClosed {
        let batch = try await consumer.store.deliveries(
          to: consumer.name, of: consumer.shop, after: number, limit: ShopConsumer.limit)
        if let last = batch.last {
          number = last.number
          return batch
        }
        // After the last signal, the queue is read once more.
        guard !isLast else { return nil }
        isLast = await rings.next(isolation: actor) == nil
      }
      return nil
    }
  }
}

/// A signal to a consumer that its queue may have grown. Several signals may be combined into one.
final class ChangeSignal: Sendable {
  let rings: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let isShut = Mutex(false)

  init() {
    (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Whether the stream is closed.
  var isClosed: Bool { isShut.withLock { $0 } }

  func ring() { continuation.yield() }

  /// Ends the signals. Queued deliveries are still delivered.
  func finish() { continuation.finish() }

  /// Ends the signals and the deliveries.
  func close() {
    isShut.withLock { $0 = true }
    continuation.finish()
  }
}

/// The signals of a stream's consumers.
final class ChangeSignals: Sendable {
  private struct State {
    /// The signals. The references are weak, because each consumer owns its signal.
    var signals: [Weak] = []
    var isClosed = false
  }

  private struct Weak {
    weak var signal: ChangeSignal?
  }

  private let state = Mutex(State())

  /// Returns a new signal. It is closed if the stream is closed.
  func add() -> ChangeSignal {
    let signal = ChangeSignal()
    let isClosed = state.withLock { state in
      state.signals.removeAll { $0.signal == nil }
      if !state.isClosed { state.signals.append(Weak(signal: signal)) }
      return state.isClosed
    }
    if isClosed { signal.close() }
    return signal
  }

  /// The number of consumers that can be signaled.
  var count: Int { living.count }

  func ring() { for signal in living { signal.ring() } }

  func close() {
    state.withLock { $0.isClosed = true }
    for signal in living { signal.close() }
  }

  private var living: [ChangeSignal] { state.withLock { $0.signals.compactMap(\.signal) } }
}
