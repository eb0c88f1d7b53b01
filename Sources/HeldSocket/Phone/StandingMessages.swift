package import HoldfastCore

/// The messages that a socket sends on every connection. Each has a key, by which the app replaces
/// or removes it.
package struct StandingMessages: Sendable, Hashable {
  /// The maximum number of messages.
  package static let limit = 64
  /// The maximum number of bytes of all keys and messages: 32 KiB.
  ///
  /// Together with a greeting and the longest message of an outbox, they fit into the empty queue
  /// of a socket (1 MiB).
  package static let byteLimit = 32 << 10

  /// The messages with their keys, in the order in which the keys were first set.
  var entries: [Entry] = []
  /// The sum of the bytes of all keys and messages.
  var bytes = 0

  struct Entry: Sendable, Hashable {
    let key: String
    var content: Content

    var bytes: Int {
      switch content {
      case .message(let message): key.utf8.count + message.count
      case .made: key.utf8.count
      }
    }
  }

  /// The content of a standing message.
  package enum Content: Sendable, Hashable {
    case message(SocketMessage)
    /// A function of the app makes the message on each connection. Its bytes do not count.
    case made
  }

  package init() {}

  /// Returns the content of a key; `nil` if there is none.
  package subscript(key: String) -> Content? {
    entries.first { $0.key == key }?.content
  }

  /// Sets the content of a key, or removes it if `content` is `nil`.
  ///
  /// - Returns: False if there is no room for the message. In this case, nothing changes.
  package mutating func set(_ key: String, _ content: Content?) -> Bool {
    let index = entries.firstIndex { $0.key == key }
    let freed = index.map { entries[$0].bytes } ?? 0
    guard let content else {
      if let index { entries.remove(at: index) }
      bytes -= freed
      return true
    }
    let entry = Entry(key: key, content: content)
    guard index != nil || entries.count < Self.limit, bytes - freed + entry.bytes <= Self.byteLimit
    else { return false }
    bytes += entry.bytes - freed
    if let index { entries[index] = entry } else { entries.append(entry) }
    return true
  }
}

extension StandingMessages: SelfChecking {
  package func check(_ check: inout InvariantCheck) {
    check.require(
      entries.count <= Self.limit && bytes <= Self.byteLimit,
      "standing messages: they stay within their bounds")
    guard check.isThorough else { return }
    check.require(
      bytes == entries.reduce(0) { $0 + $1.bytes },
      "standing messages: the bytes are those of its keys and messages")
    check.require(
      Set(entries.map(\.key)).count == entries.count, "standing messages: each key has one message")
  }
}
