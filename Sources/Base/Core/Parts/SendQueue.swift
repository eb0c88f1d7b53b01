/// An item that waits in a `SendQueue`.
public protocol QueuedItem: Sendable, Hashable {
  /// The ordering key: items with equal keys must arrive in order.
  associatedtype OrderingKey: Hashable, Sendable

  /// The idempotency key, equal for all attempts, so that the server accepts the item once.
  var id: UUID128 { get }
  /// The item's ordering key. Items with equal keys are sent in order, one at a time; items with
  /// different keys do not wait for each other.
  ///
  /// If the key is a constant, the queue sends one item at a time. If the key is the item's own id,
  /// all items can be sent at once.
  var orderingKey: OrderingKey { get }
  /// The state of the item, stored with it.
  var state: SendState { get set }
}

/// The state of an item of a `SendQueue`.
public enum SendState: Sendable, Hashable, Codable {
  /// The item waits for its turn or its next attempt. `tries` attempts have failed so far.
  case queued(tries: Int)
  /// The item is not retried automatically. `reason` is human-readable.
  case failed(reason: String)
}

/// A queue of the user's items that the server has not confirmed.
///
///     add ─▶ unstored ─stored─▶ queued ─take─▶ under way ─remove─▶ gone
///                                 ▲                │
///                                 ├── retryLater, abandon, waitForCredentials
///                                 └─retry─ failed ◀┴─ fail, the schedule's end
///
/// An item is stored before its first attempt. It leaves the queue only when the server confirms it
/// or the user discards it.
public struct SendQueue<Item: QueuedItem>: Sendable, Hashable {
  /// The items, oldest first.
  @inlinable public var items: [Item] { list }
  @usableFromInline var list: [Item] = []
  /// The maximum number of items that `add` accepts. Items restored from a store are always kept.
  public let limit: Int
  /// The items whose last attempt may have reached the server although no response arrived.
  @inlinable public var unsure: Set<UUID128> { doubtful }
  @usableFromInline var doubtful: Set<UUID128> = []
  /// Whether credentials were rejected. If so, no item is sent until new credentials are available.
  @inlinable public var awaitsCredentials: Bool { isRefused }
  @usableFromInline var isRefused = false
  /// The items that the store does not contain yet. They must not be sent.
  @usableFromInline var unstored: Set<UUID128> = []
  /// The attempts under way, oldest first.
  @usableFromInline var tries: [Try] = []
  @usableFromInline var lastTry: UInt64 = 0
  /// For each ordering key, the instant before which none of its items is sent.
  @usableFromInline var pauses: [Item.OrderingKey: Instant] = [:]

  /// An attempt that awaits a response.
  public struct Try: Sendable, Hashable {
    /// The item's id.
    public var id: UUID128
    /// The number of the attempt, which distinguishes attempts of one item.
    public var number: TryID
    /// The item's ordering key.
    public var orderingKey: Item.OrderingKey
    /// The instant at which the attempt times out.
    public var until: Instant
    /// The generation of the credentials with which the attempt was sent.
    public var credentials: UInt64

    @inlinable
    init(
      id: UUID128, number: TryID, orderingKey: Item.OrderingKey, until: Instant,
      credentials: UInt64
    ) {
      (self.id, self.number, self.orderingKey) = (id, number, orderingKey)
      (self.until, self.credentials) = (until, credentials)
    }
  }

  /// Creates an empty queue of at most `limit` items.
  public init(limit: Int) {
    self.limit = limit
  }
}

// Functions that a machine uses in every step are inlinable, so that they are specialized for the
// item type.

// Items.
extension SendQueue {
  /// Returns the item with this id.
  @inlinable
  public subscript(id: UUID128) -> Item? { list.first { $0.id == id } }

  /// The number of items that are not stored and would be lost with the process.
  @inlinable
  public var unstoredCount: Int { unstored.count }

  /// Returns whether the item is stored.
  @inlinable
  public func isStored(_ id: UUID128) -> Bool { !unstored.contains(id) }

  /// Adds an item, which the caller must store now. Returns false if the queue is full.
  @inlinable
  public mutating func add(_ item: Item) -> Bool {
    guard list.count < limit else { return false }
    list.append(item)
    unstored.insert(item.id)
    return true
  }

  /// Replaces an item with a newer value of the same id and ordering key, and keeps its state.
  public mutating func replace(_ item: Item) {
    guard let index = list.firstIndex(where: { $0.id == item.id }) else { return }
    precondition(
      list[index].orderingKey == item.orderingKey, "an item of a send queue keeps its ordering key"
    )
    let state = list[index].state
    list[index] = item
    list[index].state = state
  }

  /// Notes that an item was stored. Returns the item if it may now be sent.
  @inlinable
  public mutating func stored(_ id: UUID128) -> Item? {
    guard unstored.remove(id) != nil, let item = self[id], case .queued = item.state else {
      return nil
    }
    return item
  }

  /// Inserts the items of an earlier run before those of this run.
  ///
  /// Each of them is unsure, since the earlier run may have sent it and ended before the response
  /// arrived.
  public mutating func restore(_ stored: [Item]) {
    let known = Set(stored.map { $0.id })
    list = stored + list.filter { !known.contains($0.id) }
    doubtful.formUnion(known)
  }

  /// Removes an item that the server confirmed or the user discarded.
  @inlinable
  public mutating func remove(_ id: UUID128) {
    list.removeAll { $0.id == id }
    unstored.remove(id)
    doubtful.remove(id)
    endTry(of: id)
  }

  /// Marks items as not received by the server. Returns the ids of those that were unsure.
  public mutating func clearUnsure(_ ids: Set<UUID128>) -> Set<UUID128> {
    defer { doubtful.subtract(ids) }
    return unsure.intersection(ids)
  }

  /// Returns whether the server may have received an item that it has not confirmed.
  @inlinable
  public func mayHaveArrived(_ id: UUID128) -> Bool { unsure.contains(id) || sending(id) != nil }
}

// Attempts.
extension SendQueue {
  /// Returns the attempt of an item that is under way.
  @inlinable
  public func sending(_ id: UUID128) -> Try? { tries.first { $0.id == id } }

  /// When an attempt times out or the next one is due; `nil` if nothing waits for a time.
  @inlinable
  public var deadline: Instant? {
    var due: Instant?
    for sending in tries { due = min(due ?? sending.until, sending.until) }
    guard !awaitsCredentials, !pauses.isEmpty else { return due }
    for (key, instant) in pauses where !isSending(key) {
      guard list.contains(where: { $0.orderingKey == key && waits($0) }) else { continue }
      due = min(due ?? instant, instant)
    }
    return due
  }

  /// The oldest item that is stored and has not failed. It may be under way.
  @inlinable
  public var oldestQueued: Item? { list.first(where: waits) }

  /// Returns whether an item with an ordering key may be sent now.
  @inlinable
  public func mayTry(_ key: Item.OrderingKey, at now: Instant) -> Bool {
    !awaitsCredentials && !isSending(key) && (pauses[key] ?? now) <= now
  }

  /// Whether there is a stored item that is not under way.
  @inlinable
  public var hasUntried: Bool { list.count > tries.count + unstored.count }

  /// Marks the next item to send as under way and returns it. Returns `nil` if none may be sent.
  ///
  /// - Parameter isAllowed: A function that returns whether an item may be sent when its turn
  ///   comes. If it returns false, later items with the same ordering key wait too.
  @inlinable
  public mutating func take(
    at now: Instant, timeout: Duration, credentials: UInt64 = 0,
    where isAllowed: (Item) -> Bool = { _ in true }
  ) -> Item? {
    guard hasUntried else { return nil }
    var held: Set<Item.OrderingKey> = []
    let found = list.first { item in
      guard waits(item), mayTry(item.orderingKey, at: now), !held.contains(item.orderingKey) else {
        return false
      }
      if isAllowed(item) { return true }
      held.insert(item.orderingKey)
      return false
    }
    guard let next = found else { return nil }
    pauses[next.orderingKey] = nil
    lastTry += 1
    tries.append(
      Try(
        id: next.id, number: TryID(lastTry), orderingKey: next.orderingKey,
        until: now.advanced(by: timeout),
        credentials: credentials))
    return next
  }

  /// Ends the attempts under way because their connection was lost. Their items become unsure.
  @inlinable
  public mutating func abandon() {
    doubtful.formUnion(tries.map { $0.id })
    tries = []
  }

  /// Returns an item whose attempt timed out. The caller decides how to continue.
  @inlinable
  public func expired(at now: Instant) -> UUID128? { tries.first { $0.until <= now }?.id }

  /// Ends an attempt without a response. The item becomes unsure and waits for its turn again.
  @inlinable
  public mutating func release(_ id: UUID128) {
    guard sending(id) != nil else { return }
    endTry(of: id)
    doubtful.insert(id)
  }

  /// Extends the time-out of an attempt because the server has the item and is processing it.
  public mutating func extend(_ id: UUID128, until: Instant) {
    guard let index = tries.firstIndex(where: { $0.id == id }) else { return }
    tries[index].until = until
  }

  /// Ends an attempt that failed in a way that may be temporary.
  ///
  /// - Parameters:
  ///   - isUnsure: Whether the server may have received the item.
  ///   - retryAfter: The part of the server's retry-after that is honored.
  ///   - schedule: The waits between attempts. The item fails after the last one.
  /// - Returns: The item with its new state; `nil` if it was removed or has already failed.
  public mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, retryAfter: Duration?, at now: Instant, schedule: Schedule,
    generator: inout RandomSource
  ) -> Item? {
    endTry(of: id)
    guard let index = list.firstIndex(where: { $0.id == id }),
      case .queued(let tries) = list[index].state
    else { return nil }
    if isUnsure { doubtful.insert(id) }
    guard let wait = schedule.wait(before: tries, atLeast: retryAfter, generator: &generator) else {
      return fail(id, "no answer from the server")
    }
    list[index].state = .queued(tries: tries + 1)
    pauses[list[index].orderingKey] = now.advanced(by: wait)
    return list[index]
  }

  /// Ends an attempt whose credentials were rejected. Attempts then wait for new credentials,
  /// unless these have arrived in the meantime.
  public mutating func waitForCredentials(_ id: UUID128, newerThan present: UInt64) {
    isRefused = sending(id)?.credentials == present
    endTry(of: id)
  }

  /// Allows attempts again with new credentials.
  public mutating func credentialsRenewed() { isRefused = false }

  /// Marks an item as failed, so that it is not retried automatically. Returns the item with its
  /// new state.
  public mutating func fail(_ id: UUID128, _ reason: String) -> Item? {
    endTry(of: id)
    guard let index = list.firstIndex(where: { $0.id == id }) else { return nil }
    list[index].state = .failed(reason: reason)
    return list[index]
  }

  /// Queues a failed item again at the user's request. Returns the item with its new state.
  public mutating func retry(_ id: UUID128) -> Item? {
    guard let index = list.firstIndex(where: { $0.id == id }),
      case .failed = list[index].state
    else { return nil }
    list[index].state = .queued(tries: 0)
    pauses[list[index].orderingKey] = nil
    return list[index]
  }

  /// Counts an attempt that could not begin as failed if it is the item's first. Returns the item
  /// with its new state.
  public mutating func postpone(_ id: UUID128) -> Item? {
    guard let index = list.firstIndex(where: { $0.id == id }),
      list[index].state == .queued(tries: 0)
    else { return nil }
    list[index].state = .queued(tries: 1)
    return list[index]
  }

  /// Delays the items with an ordering key at least until `instant`.
  public mutating func pause(_ key: Item.OrderingKey, until instant: Instant) {
    pauses[key] = max(pauses[key] ?? instant, instant)
  }

  /// Removes the pauses that are over, so that `deadline` is in the future even if nothing may be
  /// sent.
  public mutating func wake(at now: Instant) {
    if pauses.contains(where: { $0.value <= now }) { pauses = pauses.filter { $0.value > now } }
  }

  /// Ends all pauses because the network is back or the app is in the foreground.
  public mutating func retryNow() { pauses = [:] }

  @inlinable
  func waits(_ item: Item) -> Bool {
    guard case .queued = item.state else { return false }
    return !unstored.contains(item.id)
  }

  /// Returns whether an attempt with an ordering key is under way.
  @inlinable
  public func isSending(_ key: Item.OrderingKey) -> Bool {
    tries.contains { $0.orderingKey == key }
  }

  @inlinable
  mutating func endTry(of id: UUID128) { tries.removeAll { $0.id == id } }
}

extension SendQueue: SelfChecking {
  @inlinable
  public func check(_ check: inout InvariantCheck) {
    check.require(
      unstored.count <= list.count && unsure.count <= list.count,
      "send queue: state of an item ends with the item")
    check.require(tries.count <= list.count, "send queue: an item has one try at a time")
    guard check.isThorough else { return }
    let ids = Set(list.map { $0.id })
    check.require(ids.count == list.count, "send queue: an item is in it once")
    check.require(
      unstored.isSubset(of: ids) && unsure.isSubset(of: ids),
      "send queue: it knows nothing of items that are gone")
    check.require(
      Set(tries.map { $0.orderingKey }).count == tries.count,
      "send queue: an ordering key has one try at a time")
    check.require(
      tries.allSatisfy { sending in self[sending.id].map(waits) ?? false },
      "send queue: only a stored item that waits is tried")
  }
}
