import LinkCore
import LinkWire

/// Texts that are known here, and that a plain server's history repeats under ids of its own.
///
/// They outlive a connection: the history may come on the next one.
struct KnownTexts: Sendable, Hashable {
  private struct Known: Sendable, Hashable {
    var key: UUID128
    var conversation: String
    var text: String
  }

  /// As many as prompts may wait; beyond, the oldest is forgotten.
  static let limit = SessionSettings.outboxLimit
  private var all: [Known] = []

  /// Notes a prompt or the response to it, once however often it is sent.
  mutating func add(_ text: String, of key: UUID128, in conversation: String) {
    all.removeAll { $0.key == key }
    all.append(Known(key: key, conversation: conversation, text: text))
    if all.count > Self.limit { all.removeFirst() }
  }

  /// Takes a text that a history repeats; false for another one.
  mutating func take(_ entry: SessionEntry) -> Bool {
    guard let index = index(of: entry) else { return false }
    all.remove(at: index)
    return true
  }

  func contains(_ entry: SessionEntry) -> Bool { index(of: entry) != nil }

  private func index(of entry: SessionEntry) -> Int? {
    all.firstIndex { $0.conversation == entry.conversation && $0.text == entry.text }
  }
}
