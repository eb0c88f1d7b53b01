import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects edits and deletions by the user that the phone stored and the server never
/// received.
struct OwnChanges: StreamChecker {
  private(set) var found = Findings()
  /// The newest text that the user wants each message to have, until the server has had it.
  private var edits: [MessageID: String] = [:]
  /// The messages that the user wants to delete.
  private var deletions: Set<MessageID> = []
  /// The texts that the server has ever received. No two edits of this world have the same text.
  private var received: Set<String> = []
  /// The messages of the stored edits and deletions, by entry.
  private var targets: [UUID128: MessageID] = [:]
  /// The messages of the server's log.
  private var known: Set<MessageID> = []

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    guard let id = input.goneEntry, let target = targets[id] else { return }
    edits[target] = nil
    deletions.remove(target)
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .fact(.stored(let change, _)): for entry in change.outboxPut { promise(entry) }
    case .fact(.accepted(let message, isNew: true)): known.insert(message.id)
    case .fact(.changed(.edited(let message))):
      received.insert(message.text)
      if edits[message.id] == message.text { edits[message.id] = nil }
    case .fact(.changed(.deleted(let deletion))):
      edits[deletion.id] = nil
      deletions.remove(deletion.id)
      known.remove(deletion.id)
    case .fact(.beganAnew(_, let retained)): known = Set(retained.map(\.id))
    case .fact, .launched, .killed, .suspended, .resumed, .received, .ticked, .upgraded,
      .serverLost, .wentDead, .server, .began, .ended, .calm:
      return
    }
  }

  private mutating func promise(_ entry: OutboxEntry) {
    if let target = entry.target { targets[entry.id] = target }
    switch entry.action {
    case .post: return
    case .edit(let id):
      // A later change replaces an earlier one that failed.
      deletions.remove(id)
      if !received.contains(entry.text) { edits[id] = entry.text }
    case .delete(let id):
      edits[id] = nil
      deletions.insert(id)
    }
  }

  mutating func conclude(_ facts: Facts) {
    let lost = edits.filter { known.contains($0.key) }.map(\.value).sorted()
    if !lost.isEmpty {
      let texts = lost.prefix(5).joined(separator: ", ")
      found.add(.lost, at: facts.now, "edits of the user were never made: \(texts)")
    }
    let count = deletions.intersection(known).count
    if count > 0 {
      found.add(.lost, at: facts.now, "deletions of the user were never made: \(count)")
    }
  }
}

extension StreamModel.Input {
  /// The entry whose message does not exist, as the server says in a refusal.
  ///
  /// Servers that refuse all requests may say so, too. The phone then believes it.
  var goneEntry: UUID128? {
    guard case .postFailed(let id, _, .http(let status, _, _)) = self, [404, 410].contains(status)
    else { return nil }
    return id
  }
}
