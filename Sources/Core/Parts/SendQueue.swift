/// An item that waits in a `SendQueue`.
public protocol QueuedItem: Sendable, Hashable {
  /// Names items that must arrive in order.
  associatedtype Lane: Hashable, Sendable

  /// The idempotency key: the same for all tries, so that the server takes the item once.
  var id: UUID128 { get }
  /// Items of one lane are sent in order, one at a time; lanes do not wait for each other.
  ///
  /// One constant for all items makes a strict queue, the item's own id sends everything at once.
  var lane: Lane { get }
  /// Where the item stands; a store keeps it with the item.
  var state: SendState { get set }
}

/// Where an item of a `SendQueue` stands.
public enum SendState: Sendable, Hashable, Codable {
  /// Waits for its turn or its next try; `tries` have failed so far.
  case queued(tries: Int)
  /// Is not tried again by itself; `reason` is for people.
  case failed(reason: String)
}

/// A queue of what the user sent and the server has not confirmed.
///
///     add ─▶ unstored ─stored─▶ queued ─take─▶ under way ─remove─▶ gone
///                                 ▲                │
///                                 ├── retryLater, abandon, waitForCredentials
///                                 └─retry─ failed ◀┴─ fail, the schedule's end
///
/// An item is stored before its first try. It leaves only on the server's word or the user's.
public struct SendQueue<Item: QueuedItem>: Sendable, Hashable {
  /// The items, oldest first.
  public internal(set) var items: [Item] = []
  /// The most items that `add` accepts; items restored from a store are always kept.
  public let limit: Int
  /// Items whose last try may have reached the server although no answer came.
  public internal(set) var unsure: Set<UUID128> = []
  /// Whether credentials were refused: nothing is tried until new ones are there.
  public private(set) var awaitsCredentials = false
  /// Items that the store does not hold yet, which must not be sent.
  @usableFromInline var unstored: Set<UUID128> = []
  /// The tries under way, oldest first.
  @usableFromInline var tries: [Try] = []
  private var lastTry: UInt64 = 0
  /// The instants before which a lane makes no try.
  @usableFromInline private(set) var pauses: [Item.Lane: Instant] = [:]

  /// A try whose answer is awaited.
  public struct Try: Sendable, Hashable {
    /// The item.
    public var id: UUID128
    /// Tells the tries of an item apart.
    public var number: TryID
    /// The item's lane.
    public var lane: Item.Lane
    /// When the try counts as unanswered.
    public var until: Instant
    /// Which credentials the try went out with.
    public var credentials: UInt64
  }

  /// Creates an empty queue of at most `limit` items.
  public init(limit: Int) {
    self.limit = limit
  }
}

// Items.
extension SendQueue {
  /// The item of this id.
  public subscript(id: UUID128) -> Item? { items.first { $0.id == id } }

  /// How many items the store does not hold; they end with the process.
  public var unstoredCount: Int { unstored.count }

  /// Whether the store holds the item.
  public func isStored(_ id: UUID128) -> Bool { !unstored.contains(id) }

  /// Adds an item that is to be stored now; false if the queue is full.
  public mutating func add(_ item: Item) -> Bool {
    guard items.count < limit else { return false }
    items.append(item)
    unstored.insert(item.id)
    return true
  }

  /// Replaces an item by a newer value of the same id and lane; its state stays.
  public mutating func replace(_ item: Item) {
    guard let index = items.firstIndex(where: { $0.id == item.id }) else { return }
    precondition(items[index].lane == item.lane, "an item of a send queue stays in its lane")
    let state = items[index].state
    items[index] = item
    items[index].state = state
  }

  /// Notes that the store holds an item; returns the item if it waits to be sent since then.
  public mutating func stored(_ id: UUID128) -> Item? {
    guard unstored.remove(id) != nil, let item = self[id], case .queued = item.state else {
      return nil
    }
    return item
  }

  /// Puts the items of an earlier run before those of this one.
  ///
  /// Each of them is unsure: the earlier run may have sent it and ended before the answer came.
  public mutating func restore(_ kept: [Item]) {
    let known = Set(kept.map { $0.id })
    items = kept + items.filter { !known.contains($0.id) }
    unsure.formUnion(known)
  }

  /// Removes an item that the server confirmed or the user discarded.
  public mutating func remove(_ id: UUID128) {
    items.removeAll { $0.id == id }
    unstored.remove(id)
    unsure.remove(id)
    endTry(of: id)
  }

  /// Marks items as not received by the server; returns those that were unsure.
  public mutating func makeSure(_ ids: Set<UUID128>) -> Set<UUID128> {
    defer { unsure.subtract(ids) }
    return unsure.intersection(ids)
  }

  /// Whether the server may have an item although it has not said so.
  @inlinable
  public func mayHaveArrived(_ id: UUID128) -> Bool { unsure.contains(id) || sending(id) != nil }
}

// Tries. What every step of a machine asks is inlinable, so that it is specialised for the item.
extension SendQueue {
  /// The try of an item that is under way.
  @inlinable
  public func sending(_ id: UUID128) -> Try? { tries.first { $0.id == id } }

  /// When a try times out or the next one is due; `nil` if nothing waits for time to pass.
  @inlinable
  public var deadline: Instant? {
    var due: Instant?
    for sending in tries { due = min(due ?? sending.until, sending.until) }
    guard !awaitsCredentials, !pauses.isEmpty else { return due }
    for (lane, instant) in pauses where !isSending(lane) {
      guard items.contains(where: { $0.lane == lane && waits($0) }) else { continue }
      due = min(due ?? instant, instant)
    }
    return due
  }

  /// The oldest item that the store holds and that has not failed; it may be under way.
  @inlinable
  public var oldestQueued: Item? { items.first(where: waits) }

  /// Whether a lane may make a try now.
  @inlinable
  public func mayTry(_ lane: Item.Lane, at now: Instant) -> Bool {
    !awaitsCredentials && !isSending(lane) && (pauses[lane] ?? now) <= now
  }

  /// Returns the item to send now, marked as under way; `nil` if none may be sent.
  ///
  /// - Parameter isAllowed: Whether an item whose turn it is may go; the items behind it in its
  ///   lane wait with it.
  public mutating func take(
    at now: Instant, timeout: Duration, credentials: UInt64 = 0,
    where isAllowed: (Item) -> Bool = { _ in true }
  ) -> Item? {
    var held: Set<Item.Lane> = []
    let found = items.first { item in
      guard waits(item), mayTry(item.lane, at: now), !held.contains(item.lane) else {
        return false
      }
      if isAllowed(item) { return true }
      held.insert(item.lane)
      return false
    }
    guard let next = found else { return nil }
    pauses[next.lane] = nil
    lastTry += 1
    tries.append(
      Try(
        id: next.id, number: TryID(lastTry), lane: next.lane, until: now.advanced(by: timeout),
        credentials: credentials))
    return next
  }

  /// Ends the tries under way because their connection is gone: each becomes unsure.
  public mutating func abandon() {
    unsure.formUnion(tries.map { $0.id })
    tries = []
  }

  /// Returns an item whose try timed out; the caller then says what follows for it.
  public func expired(at now: Instant) -> UUID128? { tries.first { $0.until <= now }?.id }

  /// Ends a try without an answer; the item is unsure, and its turn comes again.
  public mutating func release(_ id: UUID128) {
    guard sending(id) != nil else { return }
    endTry(of: id)
    unsure.insert(id)
  }

  /// Gives a try another time limit: the server has the item and works on it.
  public mutating func extend(_ id: UUID128, until: Instant) {
    guard let index = tries.firstIndex(where: { $0.id == id }) else { return }
    tries[index].until = until
  }

  /// Ends a try that failed in a way that may pass.
  ///
  /// - Parameters:
  ///   - isUnsure: Whether the server may have received the item.
  ///   - wish: How long the server asked to be left alone, as far as it is obeyed.
  ///   - schedule: The waits between tries; at its end the item fails.
  /// - Returns: The item with its new state; `nil` if it is gone or has failed already.
  public mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, wish: Duration?, at now: Instant, schedule: Schedule,
    chance: inout Chance
  ) -> Item? {
    endTry(of: id)
    guard let index = items.firstIndex(where: { $0.id == id }),
      case .queued(let tries) = items[index].state
    else { return nil }
    if isUnsure { unsure.insert(id) }
    guard let wait = schedule.wait(before: tries, atLeast: wish, chance: &chance) else {
      return fail(id, "no answer from the server")
    }
    items[index].state = .queued(tries: tries + 1)
    pauses[items[index].lane] = now.advanced(by: wait)
    return items[index]
  }

  /// Ends a try whose credentials were refused, and waits for new ones unless they came meanwhile.
  public mutating func waitForCredentials(_ id: UUID128, newerThan present: UInt64) {
    awaitsCredentials = sending(id)?.credentials == present
    endTry(of: id)
  }

  /// Allows tries again with new credentials.
  public mutating func credentialsRenewed() { awaitsCredentials = false }

  /// Ends an item that is not tried again by itself; returns it with its new state.
  public mutating func fail(_ id: UUID128, _ reason: String) -> Item? {
    endTry(of: id)
    guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
    items[index].state = .failed(reason: reason)
    return items[index]
  }

  /// Queues a failed item again because the user asked for it; returns it with its new state.
  public mutating func retry(_ id: UUID128) -> Item? {
    guard let index = items.firstIndex(where: { $0.id == id }),
      case .failed = items[index].state
    else { return nil }
    items[index].state = .queued(tries: 0)
    pauses[items[index].lane] = nil
    return items[index]
  }

  /// Counts a try that could not begin, if there was none; returns the item with its new state.
  public mutating func postpone(_ id: UUID128) -> Item? {
    guard let index = items.firstIndex(where: { $0.id == id }),
      items[index].state == .queued(tries: 0)
    else { return nil }
    items[index].state = .queued(tries: 1)
    return items[index]
  }

  /// Makes a lane wait until `instant` at least.
  public mutating func pause(_ lane: Item.Lane, until instant: Instant) {
    pauses[lane] = max(pauses[lane] ?? instant, instant)
  }

  /// Forgets the pauses that are over, so that `deadline` lies ahead even if nothing may be sent.
  public mutating func wake(at now: Instant) {
    if pauses.contains(where: { $0.value <= now }) { pauses = pauses.filter { $0.value > now } }
  }

  /// Ends all pauses: the network is back, or the app is in front.
  public mutating func hurry() { pauses = [:] }

  @inlinable
  func waits(_ item: Item) -> Bool {
    guard case .queued = item.state else { return false }
    return !unstored.contains(item.id)
  }

  /// Whether a try of a lane is under way.
  @inlinable
  public func isSending(_ lane: Item.Lane) -> Bool {
    tries.contains { $0.lane == lane }
  }

  private mutating func endTry(of id: UUID128) { tries.removeAll { $0.id == id } }
}

extension SendQueue: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      unstored.count <= items.count && unsure.count <= items.count,
      "send queue: what it knows of an item ends with the item")
    check.require(tries.count <= items.count, "send queue: an item has one try at a time")
    guard check.isThorough else { return }
    let ids = Set(items.map { $0.id })
    check.require(ids.count == items.count, "send queue: an item is in it once")
    check.require(
      unstored.isSubset(of: ids) && unsure.isSubset(of: ids),
      "send queue: it knows nothing of items that are gone")
    check.require(
      Set(tries.map { $0.lane }).count == tries.count, "send queue: a lane has one try at a time")
    check.require(
      tries.allSatisfy { sending in self[sending.id].map(waits) ?? false },
      "send queue: only a stored item that waits is tried")
  }
}
