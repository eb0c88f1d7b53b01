import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// A record of the updates shown to the user. It checks each update against the rules of a
/// timeline.
struct Ledger {
  /// The messages shown in this run of the process, in timeline order.
  private(set) var shown: [ShopMessage] = []
  private var ids: Set<MessageID> = []
  /// The first 20 problems found, in any run.
  private(set) var problems: [String] = []
  /// The updates reported in this run.
  private(set) var updates: [StreamUpdate] = []
  private(set) var hasMore = true

  /// Begins a new run of the process. Its screen is empty at first.
  mutating func beginRun() {
    shown = []
    ids = []
    updates = []
    hasMore = true
  }

  mutating func blame(_ problem: String) {
    if problems.count < 20 { problems.append(problem) }
  }

  mutating func note(_ update: StreamUpdate) {
    updates.append(update)
    switch update {
    case .messages(let messages, via: _): note(messages)
    case .history(let more): hasMore = more
    case .edited(let messages):
      for message in messages where !ids.contains(message.id) {
        blame("edited but never shown: \(message.text)")
      }
      for message in messages {
        if let index = shown.firstIndex(where: { $0.id == message.id }) { shown[index] = message }
      }
    case .deleted(let deletions):
      for deletion in deletions { ids.remove(deletion.id) }
      shown.removeAll { !ids.contains($0.id) }
    case .status, .gap, .gapClosed, .outbox, .outboxDone, .notice: return
    }
  }

  private mutating func note(_ messages: [ShopMessage]) {
    if messages.isEmpty { blame("an empty batch") }
    for (left, right) in zip(messages, messages.dropFirst()) where left.key >= right.key {
      blame("out of order within a batch: \(left.text), \(right.text)")
    }
    for message in messages {
      guard ids.insert(message.id).inserted else {
        blame("shown twice: \(message.text)")
        continue
      }
      let index = shown.lastIndex { $0.key < message.key }.map { $0 + 1 } ?? 0
      shown.insert(message, at: index)
    }
  }

  /// Checks that exactly the accepted messages were shown in this run. If the log began anew,
  /// messages that the server no longer has may still be shown.
  mutating func compare(with accepted: [ShopMessage], isWholeLog: Bool = true) {
    let missing = accepted.filter { !ids.contains($0.id) }
    if !missing.isEmpty {
      blame("lost \(missing.count): \(missing.prefix(5).map(\.text))")
    }
    if isWholeLog, shown.count > accepted.count { blame("shown but never accepted") }
  }
}
