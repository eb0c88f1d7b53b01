import LinkCore
import LinkStorage
import LinkWire
import MessageStream

/// What a server's log holds and the phone does not, in the order in which a cursor covers it.
///
/// A commit of `n` messages costs a binary search each, so that it can be asked after every one.
struct Absent: Sendable {
  /// Whether the order is that of the stamps, as on a plain server that sorts its pages by them,
  /// and not that of the log.
  private(set) var isByStamp = false
  /// Ordered by key.
  private var missing: [(key: TimelineKey, message: Message)] = []
  /// The keys of everything in the log.
  private var keys: [MessageID: TimelineKey] = [:]
  /// The first in the log that the phone keeps.
  private(set) var lowestKept: TimelineKey?

  /// Begins again with the messages of a log.
  mutating func reset(to log: [Message], isByStamp: Bool, keeping disk: StoredTimeline) {
    self = Absent()
    self.isByStamp = isByStamp
    for message in log { accept(message, isKept: disk.messages[message.id] != nil) }
  }

  /// A message is in the log from now on.
  mutating func accept(_ message: Message, isKept: Bool) {
    let key = key(of: message)
    keys[message.id] = key
    guard !isKept else { return note(key) }
    let isLast = missing.last.map { $0.key < key } ?? true
    missing.insert((key, message), at: isLast ? missing.count : missing.end { $0.key < key })
  }

  /// The phone keeps messages from now on.
  mutating func keep(_ messages: [Message]) {
    for message in messages {
      guard let key = keys[message.id] else { continue }
      note(key)
      let place = missing.end { $0.key < key }
      if missing.indices.contains(place), missing[place].key == key { missing.remove(at: place) }
    }
  }

  /// Returns what is missing from a key on; from the beginning without one.
  func from(_ key: TimelineKey?) -> ArraySlice<(key: TimelineKey, message: Message)> {
    guard let key else { return missing[...] }
    return missing[missing.end { $0.key < key }...]
  }

  private mutating func note(_ key: TimelineKey) {
    lowestKept = min(lowestKept ?? key, key)
  }

  /// The order of the log is that of the offsets; without these it is that of the arrival.
  private func key(of message: Message) -> TimelineKey {
    guard !isByStamp else { return message.key }
    let place = message.position.map { Int64(clamping: $0.offset) } ?? Int64(keys.count)
    return TimelineKey(createdAt: Timestamp(nanoseconds: place), id: message.id)
  }
}
