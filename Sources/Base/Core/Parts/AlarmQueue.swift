/// A queue that holds at most one alarm for each key, earliest first.
///
/// The queue is a binary heap that skips outdated entries. Setting or taking an alarm costs O(log
/// n). Alarms of the same instant are taken in the order of their keys.
public struct AlarmQueue<Key: Hashable & Comparable & Sendable>: Sendable {
  @usableFromInline struct Entry: Sendable {
    @usableFromInline var at: Instant
    @usableFromInline var key: Key

    @inlinable init(at: Instant, key: Key) { (self.at, self.key) = (at, key) }

    @inlinable static func < (left: Entry, right: Entry) -> Bool {
      (left.at, left.key) < (right.at, right.key)
    }
  }

  // Modules that use the queue specialize its inlinable methods, because the type is public. They
  // specialize those of a package type only if the type is also `@usableFromInline`.

  @usableFromInline var heap: [Entry] = []
  @usableFromInline var armed: [Key: Instant] = [:]

  /// Creates a queue without alarms.
  public init() {}

  /// The number of alarms that are set.
  @inlinable public var count: Int { armed.count }

  /// The keys that have an alarm.
  @inlinable public var keys: Dictionary<Key, Instant>.Keys { armed.keys }

  /// The instant of the earliest alarm.
  @inlinable public var first: Instant? { heap.first?.at }

  /// Sets the alarm of `key`, replacing an earlier one.
  @inlinable public mutating func set(_ key: Key, at instant: Instant) {
    guard armed.updateValue(instant, forKey: key) != instant else { return }
    heap.append(Entry(at: instant, key: key))
    rise(from: heap.count - 1)
    discardOutdated()
  }

  /// Returns whether an alarm of `key` is set for `instant` or earlier.
  @inlinable public func rings(_ key: Key, by instant: Instant) -> Bool {
    armed[key].map { $0 <= instant } ?? false
  }

  /// Removes the alarm of `key`, if any.
  @inlinable public mutating func clear(_ key: Key) {
    armed[key] = nil
    discardOutdated()
  }

  /// Removes the earliest alarm that is due and returns its key.
  @inlinable public mutating func take(dueAt now: Instant) -> Key? {
    guard let entry = heap.first, entry.at <= now else { return nil }
    armed[entry.key] = nil
    discardOutdated()
    return entry.key
  }

  @inlinable mutating func discardOutdated() {
    while let entry = heap.first, armed[entry.key] != entry.at {
      heap.swapAt(0, heap.count - 1)
      heap.removeLast()
      sink(from: 0)
    }
  }

  @inlinable mutating func rise(from start: Int) {
    var index = start
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  @inlinable mutating func sink(from start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < heap.count && heap[child] < heap[least] {
        least = child
      }
      guard least != index else { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}

extension AlarmQueue: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    if let first = heap.first {
      check.require(
        armed[first.key] == first.at, "alarm queue: the first entry is an alarm that is set")
    }
    check.require(
      heap.isEmpty == armed.isEmpty && heap.count >= armed.count,
      "alarm queue: each alarm has an entry")
    guard check.isThorough else { return }
    check.require(
      heap.indices.dropFirst().allSatisfy { !(heap[$0] < heap[($0 - 1) / 2]) },
      "alarm queue: no entry is earlier than the one above it")
  }
}
