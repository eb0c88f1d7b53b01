import HoldfastCore
import HoldfastStorage
import HoldfastWire

// Edits and deletions by the user. They wait in the outbox as messages do. The store keeps only the
// server's versions: what the user asked for is an overlay, `PendingChanges`.
extension StreamModel {
  /// Adds an edit or a deletion to the outbox. A command with the id of an entry changes nothing.
  mutating func change(
    _ id: UUID128, _ action: OutboxEntry.Action, _ text: String, at wall: Timestamp,
    _ step: inout Step
  ) {
    note(wall: wall, at: step.now)
    guard outbox.queue[id] == nil else { return }
    _ = outbox.takeRefused(id)
    accept(
      OutboxEntry(id: id, shop: settings.shop, text: text, createdAt: wall, action: action), &step)
  }

  /// Removes the entries that a new edit or deletion makes pointless.
  mutating func dropSuperseded(by entry: OutboxEntry) {
    for old in outbox.superseded(by: entry) { finish(old, message: nil) }
  }

  /// Removes an edit or a deletion from the outbox. The removal is reported after it is stored
  /// together with its result, so that the screen shows no earlier text in between.
  private mutating func finish(_ id: UUID128, message: MessageID?) {
    if outbox.takeRefused(id) == nil {
      outbox.remove(id)
      commits.waiting.remove(id)
    }
    commits.waiting.finished.append(TimelineBatch.Finished(entry: id, message: message))
  }

  /// Removes the edits and deletions of a message that was deleted, except for one under way.
  mutating func dropChanges(of message: MessageID) {
    let entries = (outbox.entries + outbox.refused).filter { $0.target == message }
    for entry in entries where outbox.queue.sending(entry.id) == nil {
      finish(entry.id, message: entry.action.isDeletion ? message : nil)
    }
  }

  /// Applies the answer to an edit. A plain server answers without the message: then the text is
  /// stored that was asked for, as the earliest version that follows the known one, so that any
  /// later version of the server replaces it.
  mutating func edited(_ id: UUID128, _ message: ShopMessage?, _ step: inout Step) {
    drive(.requested(nil), &step)
    guard let entry = outbox.queue[id], let target = entry.target else { return }  // a late event
    finish(id, message: target)
    if let message, message.id == target {
      outbox.author = message.user
      takeAnswer(message, &step)
    } else if let known = known(target), !takesNoMore {
      edit(known.edited(to: entry.text))
    }
    drive(.trigger(.messageSent), &step)
  }

  private mutating func takeAnswer(_ message: ShopMessage, _ step: inout Step) {
    guard !takesNoMore, !unsettled.isFull else {
      recovery.again = true
      return
    }
    edit(message)
    if let changed = message.changed { follow(noteAnswer(at: changed), &step) }
  }

  /// Applies the answer to a deletion.
  mutating func deleted(_ id: UUID128, _ deletion: ShopDeletion?, _ step: inout Step) {
    drive(.requested(nil), &step)
    guard let target = outbox.queue[id]?.target else { return }  // a late event
    finish(id, message: target)
    if let deletion, deletion.id == target {
      delete(DeletedMessage(deletion), &step)
      follow(noteAnswer(at: deletion.changed), &step)
    } else {
      delete(DeletedMessage(id: target), &step)
    }
    drive(.trigger(.messageSent), &step)
  }

  /// Returns whether the event that a request caused belongs to a backlog whose events are not
  /// dense. The answer can overtake these events, so that the cursor must not move to it.
  func isAmongBacklog(_ position: ShopPosition) -> Bool {
    recovery.backlog?.isSparse ?? false && recovery.isOfBacklog(position)
  }

  /// Moves the cursor to the event that a request caused, if no event before it is missing.
  private mutating func noteAnswer(at position: ShopPosition) -> Arrival {
    isAmongBacklog(position) ? .undecided : noteArrival(at: position)
  }

  /// Handles a refusal of an edit or a deletion. Returns false if it is handled as that of a
  /// message.
  mutating func changeFailed(
    _ entry: OutboxEntry, _ failure: LinkFailure, _ step: inout Step
  ) -> Bool {
    guard let target = entry.target else { return false }
    if failure.isOfUnknownMessage {
      finish(entry.id, message: entry.action.isDeletion ? target : nil)
      delete(DeletedMessage(id: target), &step)
      return true
    }
    // It concerns this message, not the user's membership.
    guard failure.failureClass == .forbidden else { return false }
    failSend(entry.id, Self.reason(of: failure), &step)
    return true
  }
}

extension OutboxEntry.Action {
  var isDeletion: Bool { if case .delete = self { true } else { false } }
}

extension ShopMessage {
  /// Returns the message with a new text, in the earliest version that follows this one.
  fileprivate func edited(to text: String) -> ShopMessage {
    var message = self
    (message.text, message.isEdited) = (text, true)
    message.updatedAt = (updatedAt ?? createdAt).advanced(by: .nanoseconds(1))
    return message
  }
}

extension LinkFailure {
  /// Whether the server says that it has no such message. A 404 without a sentence can come from
  /// something else than the server.
  fileprivate var isOfUnknownMessage: Bool {
    guard case .http(let status, _, let detail) = self else { return false }
    return status == 410 || status == 404 && !detail.isEmpty
  }
}
