import HoldfastCore
import HoldfastMessageData

/// The messages that were deleted most recently, as far as this run of the process knows.
///
/// The store keeps nothing of a deleted message, so that only this value tells a deleted message
/// from one that was never fetched. An edit of a message that it does not know is sent, and the
/// server refuses it.
struct RecentDeletions: Sendable, Hashable {
  private var ids: Set<MessageID> = []
  /// The same messages, oldest deletion first.
  private var order: ArraySlice<MessageID> = []

  /// The maximum number of messages. An id takes about 64 bytes.
  static let limit = 1_000

  /// The number of messages.
  var count: Int { ids.count }

  /// Returns whether a message is known to be deleted.
  func contains(_ id: MessageID) -> Bool { ids.contains(id) }

  /// Records a deletion. The oldest one makes room.
  mutating func note(_ id: MessageID) {
    guard ids.insert(id).inserted else { return }
    order.append(id)
    if order.count > Self.limit, let oldest = order.popFirst() { ids.remove(oldest) }
  }

  /// Forgets messages that are stored again, from a log that was put back.
  mutating func forget(_ stored: [MessageID]) {
    guard !ids.isEmpty, stored.contains(where: { ids.contains($0) }) else { return }
    ids.subtract(stored)
    order = order.filter { ids.contains($0) }[...]
  }
}

extension RecentDeletions: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      ids.count <= Self.limit && ids.count == order.count,
      "recent deletions: a bounded number is remembered, each once")
  }
}
