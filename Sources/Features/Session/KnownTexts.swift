import LinkCore
import LinkWire

/// Texts that are known here, and that a plain server's history repeats under ids of its own.
///
/// They outlive a connection: the history may come on the next one.
struct KnownTexts: Sendable, Hashable {
  private struct Known: Sendable, Hashable {
    var key: UUID128
    var conversation: String
    /// The text; empty once a message has repeated it.
    var text: String
    /// The server's id of the message that repeated it.
    var message: String?
  }

  /// As many as prompts may wait; beyond, the oldest is forgotten.
  static let limit = SessionSettings.outboxLimit
  private var all: [Known] = []

  /// Notes a prompt or the response to it, once however often it is sent.
  mutating func add(_ text: String, of key: UUID128, in conversation: String) {
    all.removeAll { $0.key == key && $0.message == nil }
    all.append(Known(key: key, conversation: conversation, text: text))
    if all.count > Self.limit { all.removeFirst() }
  }

  /// Takes a message that repeats a text: the one that repeated it before, or one of its words.
  ///
  /// - Returns: The key of the prompt; `nil` for another message.
  mutating func take(_ entry: SessionEntry) -> UUID128? {
    guard let index = index(of: entry) else { return nil }
    (all[index].text, all[index].message) = ("", entry.id)
    return all[index].key
  }

  /// Whether a message repeats a text that is known.
  func contains(_ entry: SessionEntry) -> Bool { index(of: entry) != nil }

  /// Whether a message was taken before.
  func hasTaken(_ entry: SessionEntry) -> Bool { indexOfTaken(entry) != nil }

  private func index(of entry: SessionEntry) -> Int? {
    indexOfTaken(entry)
      ?? all.firstIndex {
        $0.message == nil && $0.conversation == entry.conversation && $0.text == entry.text
      }
  }

  private func indexOfTaken(_ entry: SessionEntry) -> Int? {
    all.firstIndex { $0.message == entry.id && $0.conversation == entry.conversation }
  }
}
