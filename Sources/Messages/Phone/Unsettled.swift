import HoldfastCore
import HoldfastMessageData

/// The edits and deletions that arrived while a request was open or a change was being stored.
///
/// The answer of such a request may be older than they are, and bring the earlier text of a message
/// or a message that was deleted.
struct Unsettled: Sendable, Hashable {
  /// The newest versions of edited messages.
  private var edits: [MessageID: ShopMessage] = [:]
  /// The messages that were deleted, and the logs in which they were.
  private var deleted: [MessageID: String?] = [:]
  /// The memory that the edits use, in bytes.
  private var bytes = 0

  /// Whether there is neither an edit nor a deletion.
  var isEmpty: Bool { edits.isEmpty && deleted.isEmpty }

  /// The number of messages that were edited or deleted.
  var count: Int { edits.count + deleted.count }

  /// Whether further edits and deletions are left to a later catch-up.
  var isFull: Bool {
    count >= StreamSettings.unsettled || bytes >= StreamSettings.unstoredBytes
  }

  /// Records an edit.
  mutating func note(_ edit: ShopMessage) {
    guard deleted[edit.id] == nil, edits[edit.id].map(edit.isLater) ?? true else { return }
    bytes += edit.footprint - (edits.updateValue(edit, forKey: edit.id)?.footprint ?? 0)
  }

  /// Records a deletion.
  mutating func note(_ deletion: DeletedMessage) {
    bytes -= edits.removeValue(forKey: deletion.id)?.footprint ?? 0
    deleted.updateValue(deletion.changed?.epoch, forKey: deletion.id)
  }

  /// Forgets the events of other logs.
  mutating func forget(exceptOf epoch: String) {
    edits = edits.filter { $0.value.position?.epoch == epoch }
    deleted = deleted.filter { $0.value == epoch }
    bytes = edits.values.reduce(0) { $0 + $1.footprint }
  }

  /// Returns the newest known version of a message; `nil` if the message was deleted.
  func newest(_ message: ShopMessage) -> ShopMessage? {
    guard !isEmpty else { return message }
    guard deleted[message.id] == nil else { return nil }
    guard let edit = edits[message.id], edit.isLater(than: message) else { return message }
    return edit
  }

  /// Returns the newest known versions of messages, without those that were deleted.
  func newest(_ messages: [ShopMessage]) -> [ShopMessage] {
    guard !isEmpty else { return messages }
    return messages.compactMap { newest($0) }
  }
}

extension Unsettled: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    guard check.isThorough else { return }
    check.require(
      bytes == edits.values.reduce(0) { $0 + $1.footprint }, "unsettled: it knows its memory")
    check.require(
      edits.keys.allSatisfy { deleted[$0] == nil }, "unsettled: a deleted message has no version")
  }
}
