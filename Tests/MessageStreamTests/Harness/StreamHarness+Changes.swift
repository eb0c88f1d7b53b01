import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

// Edits and deletions by the phone's user.
extension StreamHarness {
  mutating func edit(_ id: MessageID, text: String) {
    give(.edit(id: .random(using: &generator), id, text: text, at: wall))
  }

  mutating func delete(_ id: MessageID) {
    give(.delete(id: .random(using: &generator), id, at: wall))
  }

  /// Carries out an edit or a deletion on the server, unless it is a repetition. A plain server
  /// answers without the message.
  mutating func change(
    _ target: MessageID, _ entry: OutboxEntry
  ) -> Result<StreamModel.Input, LinkFailure> {
    let isPlain = shop.kind == .plain
    if let deletion = shop.tombstones.first(where: { $0.id == target }),
      entry.action == .delete(target)
    {
      return .success(.deleted(entry.id, isPlain ? nil : deletion))
    }
    guard let known = shop.log.first(where: { $0.id == target }) else {
      return .failure(.http(status: 404, retryAfter: nil, detail: "no such message"))
    }
    guard known.user == "me" else {
      return .failure(.http(status: 403, retryAfter: nil, detail: "not the author"))
    }
    if entry.action == .delete(target) {
      shop.changes += 1
      let deletion = shop.delete(target)
      if hasEvents, let deletion { sendDown { .frame($0, .deleted(deletion)) } }
      return .success(.deleted(entry.id, isPlain ? nil : deletion))
    }
    guard shop.editKeys.insert(entry.id).inserted || isPlain, known.text != entry.text else {
      return .success(.edited(entry.id, isPlain ? nil : known))
    }
    shop.changes += 1
    guard let message = shop.edit(target, entry.text, at: wall) else {
      return .failure(.http(status: 404, retryAfter: nil, detail: "no such message"))
    }
    if hasEvents { sendDown { .frame($0, .edited(message)) } }
    return .success(.edited(entry.id, isPlain ? nil : message))
  }

  /// The texts on the screen, with the user's edits and deletions that wait.
  var shownTexts: [String] {
    var pending = PendingChanges()
    for update in ledger.updates { pending.take(update) }
    return ledger.shown.compactMap { pending.shown($0)?.text }
  }

  /// Posts a message of the phone's user and waits until it is stored. Returns its id.
  mutating func post(_ text: String) -> MessageID {
    send(text)
    drive { $0.texts.contains(text) && $0.model.isSettled }
    pass(.seconds(1))
    return shop.log.last { $0.text == text }?.id ?? UUID128(high: 0, low: 0)
  }

  /// The entries that were shown as failed, with their reasons.
  var failures: [String] {
    ledger.updates.compactMap { update in
      guard case .outbox(let entry) = update, case .failed(let reason) = entry.state else {
        return nil
      }
      return reason
    }
  }

  /// The entries that were reported as done, and the messages that they became.
  var done: [MessageID?] {
    ledger.updates.compactMap { update -> MessageID?? in
      if case .outboxDone(_, let message) = update { message } else { nil }
    }
  }
}
