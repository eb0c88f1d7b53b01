public import HoldfastCore
public import HoldfastMessageData

/// The edits and deletions of the user that the server has not confirmed, as an overlay of the
/// messages on a screen.
///
/// The store and the stream's messages keep what the server has. This value shows what the user
/// asked for: an edited message has its new text, and a deleted message is hidden. An entry that
/// failed no longer changes its message, and says why.
///
///     var pending = PendingChanges()
///     for await update in stream {
///       let changed = pending.take(update)
///       // … applies the update, and shows the messages in `changed` again
///     }
public struct PendingChanges: Sendable, Hashable {
  /// The waiting and failed edits and deletions of each message, oldest first.
  private var entries: [MessageID: [OutboxEntry]] = [:]

  /// Creates a value without edits and deletions.
  public init() {}

  /// Creates a value with the edits and deletions of an outbox.
  public init(_ outbox: some Sequence<OutboxEntry>) {
    for entry in outbox { put(entry) }
  }

  /// Whether there are neither edits nor deletions.
  public var isEmpty: Bool { entries.isEmpty }

  /// Applies an update of the stream. Returns the message that is now shown differently, if any.
  @discardableResult
  public mutating func take(_ update: StreamUpdate) -> MessageID? {
    switch update {
    case .outbox(let entry): return put(entry)
    case .outboxDone(let id, message: _):
      guard let found = entries.first(where: { $0.value.contains { $0.id == id } }) else {
        return nil
      }
      let rest = found.value.filter { $0.id != id }
      entries[found.key] = rest.isEmpty ? nil : rest
      return found.key
    case .status, .messages, .edited, .deleted, .gap, .gapClosed, .history, .notice: return nil
    }
  }

  @discardableResult
  private mutating func put(_ entry: OutboxEntry) -> MessageID? {
    guard let target = entry.target else { return nil }
    var all = entries[target] ?? []
    if let index = all.firstIndex(where: { $0.id == entry.id }) {
      all[index] = entry
    } else {
      all.append(entry)
    }
    entries[target] = all
    return target
  }

  /// Returns a message as the user changed it; `nil` if the user deleted it.
  public func shown(_ message: ShopMessage) -> ShopMessage? {
    guard let all = entries[message.id] else { return message }
    let waiting = all.filter(\.isWaiting)
    if waiting.contains(where: { $0.action.isDeletion }) { return nil }
    guard let edit = waiting.last else { return message }
    var shown = message
    (shown.text, shown.isEdited) = (edit.text, true)
    return shown
  }

  /// Returns the newest edit or deletion of a message, waiting or failed; `nil` if there is none.
  public func entry(of message: MessageID) -> OutboxEntry? { entries[message]?.last }
}

extension OutboxEntry {
  fileprivate var isWaiting: Bool {
    switch state {
    case .queued: true
    case .failed: false
    }
  }
}
