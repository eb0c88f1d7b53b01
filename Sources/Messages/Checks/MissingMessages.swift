import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// The messages in a server's log that the phone does not store, in the order in which a cursor
/// covers them.
///
/// A commit of `n` messages takes `n` binary searches. The value can therefore be queried after
/// every commit.
struct MissingMessages: Sendable {
  /// Whether messages are ordered by stamp rather than by log order. This is the order of a plain
  /// server that sorts its pages by stamp.
  private(set) var isByStamp = false
  /// The missing messages, ordered by key.
  private var missing: [(key: TimelineKey, message: ShopMessage)] = []
  /// The keys of all messages in the log.
  private var keys: [MessageID: TimelineKey] = [:]
  /// The key of the first message in the log that the phone stores.
  private(set) var lowestStored: TimelineKey?

  /// Resets the value to the messages of a log.
  mutating func reset(to log: [ShopMessage], isByStamp: Bool, keeping disk: StoredTimeline) {
    self = MissingMessages()
    self.isByStamp = isByStamp
    for message in log { accept(message, isStored: disk.messages[message.id] != nil) }
  }

  /// Adds a message of the log.
  mutating func accept(_ message: ShopMessage, isStored: Bool) {
    let key = key(of: message)
    keys[message.id] = key
    guard !isStored else { return note(key) }
    let isLast = missing.last.map { $0.key < key } ?? true
    missing.insert((key, message), at: isLast ? missing.count : missing.end { $0.key < key })
  }

  /// Removes a deleted message.
  mutating func remove(_ id: MessageID) {
    guard let key = keys[id] else { return }
    let index = missing.end { $0.key < key }
    if missing.indices.contains(index), missing[index].key == key { missing.remove(at: index) }
  }

  /// Changes a missing message to its last version.
  mutating func replace(_ message: ShopMessage) {
    guard let key = keys[message.id] else { return }
    let index = missing.end { $0.key < key }
    if missing.indices.contains(index), missing[index].key == key {
      missing[index].message = message
    }
  }

  /// Removes messages that the phone now stores.
  mutating func markStored(_ messages: [ShopMessage]) {
    for message in messages {
      guard let key = keys[message.id] else { continue }
      note(key)
      let index = missing.end { $0.key < key }
      if missing.indices.contains(index), missing[index].key == key { missing.remove(at: index) }
    }
  }

  /// Returns the missing messages from a key on, or all of them if the key is `nil`.
  func from(_ key: TimelineKey?) -> ArraySlice<(key: TimelineKey, message: ShopMessage)> {
    guard let key else { return missing[...] }
    return missing[missing.end { $0.key < key }...]
  }

  private mutating func note(_ key: TimelineKey) {
    lowestStored = min(lowestStored ?? key, key)
  }

  /// Returns the key by which a message is ordered.
  ///
  /// The log order is the order of the offsets, or the order of arrival if there are no offsets.
  private func key(of message: ShopMessage) -> TimelineKey {
    guard !isByStamp else { return message.key }
    let order = message.position.map { Int64(clamping: $0.offset) } ?? Int64(keys.count)
    return TimelineKey(createdAt: Timestamp(nanoseconds: order), id: message.id)
  }
}
