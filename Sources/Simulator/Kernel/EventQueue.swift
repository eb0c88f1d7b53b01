public import HoldfastCore
import HoldfastLinkChecks

/// A queue of future events, ordered by time. Events with equal times are ordered by insertion.
///
/// A binary heap of small keys refers to the slots that hold the events. Adding or removing an
/// event takes O(log n) time.
public struct EventQueue<Event> {
  private struct Key {
    var at: Int64
    var order: UInt64
    var slot: Int

    static func < (left: Key, right: Key) -> Bool {
      left.at != right.at ? left.at < right.at : left.order < right.order
    }
  }

  private var heap: [Key] = []
  private var slots: [Event?] = []
  private var free: [Int] = []
  private var order: UInt64 = 0

  /// Creates an empty queue.
  public init() {}

  /// The time of the earliest event.
  public var next: Instant? { heap.first.map { Instant(nanoseconds: $0.at) } }

  public mutating func add(_ event: consuming Event, at time: Instant) {
    order += 1
    let slot: Int
    if let reused = free.popLast() {
      slots[reused] = event
      slot = reused
    } else {
      slots.append(event)
      slot = slots.count - 1
    }
    heap.append(Key(at: time.nanoseconds, order: order, slot: slot))
    rise()
  }

  /// Removes and returns the earliest event; `nil` if the queue is empty.
  public mutating func pop() -> Event? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    free.append(first.slot)
    return slots[first.slot].take()
  }

  private mutating func rise() {
    var index = heap.count - 1
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func sink() {
    var index = 0
    while true {
      var least = index
      let left = 2 * index + 1
      if left < heap.count, heap[left] < heap[least] { least = left }
      if left + 1 < heap.count, heap[left + 1] < heap[least] { least = left + 1 }
      guard least != index else { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}
