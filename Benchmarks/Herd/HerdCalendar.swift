import HoldfastCore

/// A queue of clients by time: a heap for the current tenth of a second, and lists for later ones.
///
/// Of a million clients, only a few are due at any moment. The heap therefore stays small.
struct HerdCalendar: Sendable {
  struct Entry: Sendable, Comparable {
    var at: Instant
    var index: Int32

    static func < (left: Entry, right: Entry) -> Bool {
      left.at == right.at ? left.index < right.index : left.at < right.at
    }
  }

  private static let width: Int64 = 100_000_000
  private let origin: Int64
  private let end: Instant
  private var later: [[Entry]] = []
  private var present = 0
  private var heap: [Entry] = []

  init(from origin: Instant, until end: Instant) {
    self.origin = origin.nanoseconds
    self.end = end
  }

  /// Adds an entry, unless its time is at or after the end.
  mutating func add(_ entry: Entry) {
    guard entry.at < end else { return }
    let slot = Int(max(0, entry.at.nanoseconds - origin) / Self.width)
    if slot <= present {
      push(entry)
    } else {
      while later.count <= slot { later.append([]) }
      later[slot].append(entry)
    }
  }

  /// Returns the earliest entry, or `nil` if the queue is empty.
  mutating func first() -> Entry? {
    while heap.isEmpty {
      guard present + 1 < later.count else { return nil }
      present += 1
      let due = later[present]
      later[present] = []
      for entry in due { push(entry) }
    }
    return heap[0]
  }

  private mutating func push(_ entry: Entry) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child] < heap[parent] else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes the earliest entry. The previous call of `first` must have returned it.
  mutating func removeFirst() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { return }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < heap[parent] else { return }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
