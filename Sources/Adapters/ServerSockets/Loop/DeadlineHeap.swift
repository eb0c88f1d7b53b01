import LinkCore

/// When to look at which connection again; entries that no longer matter are skipped when due.
struct DeadlineHeap {
  struct Entry {
    let instant: Instant
    let connection: ConnectionID
  }

  private var entries: [Entry] = []

  /// The earliest instant.
  var earliest: Instant? { entries.first?.instant }

  mutating func push(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].instant < entries[parent].instant else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the earliest entry when it is due.
  mutating func pop(dueAt now: Instant) -> Entry? {
    guard let first = entries.first, first.instant <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    siftDown()
    return first
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].instant < entries[least].instant { least = child }
      }
      guard least != parent else { return }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
