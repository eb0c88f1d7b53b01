import LinkCore
import LinkWire
import MessageStream

/// Which messages of a plain server were stamped so far back that nobody looks there for what is
/// new: by more than the overlap, as when its clock was set back.
///
/// Where its pages are sorted by stamp, the client does not promise to find these, nor to know its
/// own again when the answer to a post was lost.
struct Stamps: Sendable {
  private var newest: Timestamp?
  private var beyond: Set<MessageID> = []

  mutating func note(_ message: Message, _ facts: Standing<StreamFeature>) {
    guard facts.own.server == .plain else { return }
    let newest = max(newest ?? message.createdAt, message.createdAt)
    self.newest = newest
    let earliest = newest.advanced(by: .zero - facts.own.settings.overlap)
    if message.createdAt < earliest { beyond.insert(message.id) }
  }

  func isBeyond(_ id: MessageID) -> Bool { beyond.contains(id) }
}
