import HoldfastCore
package import HoldfastMessageData

// Edits and deletions by the user. They wait in the outbox as messages do. The store keeps only the
// server's versions: what the user asked for is an overlay, `PendingChanges`.
extension StreamModel {
  /// Returns whether a message is known to be deleted, so that no edit of it is accepted.
  package func isDeleted(_ message: MessageID) -> Bool { deletions.contains(message) }

  /// Adds an edit or a deletion to the outbox. A command with the id of an entry changes nothing.
  /// An edit of a message that is known to be deleted ends at once.
  mutating func change(
    _ id: UUID128, _ action: OutboxEntry.Action, _ text: String, at wall: Timestamp,
    _ step: inout Step
  ) {
    note(wall: wall, at: step.now)
    guard outbox.queue[id] == nil else { return }
    _ = outbox.takeRefused(id)
    if case .edit(let message) = action, isDeleted(message) {
      return step.show(.outboxDone(id, message: nil))
    }
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
      drop(entry, ofDeleted: message)
    }
  }

  private mutating func drop(_ entry: OutboxEntry, ofDeleted message: MessageID) {
    finish(entry.id, message: entry.action.isDeletion ? message : nil)
  }

  /// Applies the answer to an edit. A plain server answers without the message: then the text is
  /// stored that was asked for, as the earliest version that follows the stored one, so that any
  /// later version of the server replaces it. Earlier edits and deletions that failed end.
  mutating func edited(_ id: UUID128, _ message: ShopMessage?, _ step: inout Step) {
    drive(.requested(nil), &step)
    guard let entry = outbox.queue[id], let target = entry.target else { return }  // a late event
    for failed in outbox.failed(before: entry) { finish(failed, message: nil) }
    finish(id, message: target)
    if let message, message.id == target {
      outbox.author = message.user
      takeAnswer(message, &step)
    } else {
      commits.waiting.accept(AcceptedText(id: target, text: entry.text))
    }
    drive(.trigger(.messageSent), &step)
  }

  private mutating func takeAnswer(_ message: ShopMessage, _ step: inout Step) {
    guard !takesNoMore, !unsettled.isFull else {
      // The text is stored now. The catch-up brings the version.
      commits.waiting.accept(AcceptedText(id: message.id, text: message.text))
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
    // Whatever the answer was, somebody else deleted the message meanwhile.
    if isDeleted(target) {
      drop(entry, ofDeleted: target)
      return true
    }
    if let missing = failure.missingMessage {
      take(missing, of: target, entry, &step)
      return true
    }
    // It concerns this message, not the user's membership.
    guard failure.failureClass == .forbidden else { return false }
    failSend(entry.id, Self.reason(of: failure), &step)
    return true
  }

  /// Handles an answer that says that the server does not have a message. The deletion of a message
  /// that neither the server nor the phone has is not carried out.
  private mutating func take(
    _ missing: MissingMessage, of target: MessageID, _ entry: OutboxEntry, _ step: inout Step
  ) {
    let isDone = entry.action.isDeletion && (missing == .deleted || known(target) != nil)
    finish(entry.id, message: isDone ? target : nil)
    delete(DeletedMessage(id: target), &step)
    // It may never have existed.
    if missing == .unknown { deletions.forget([target]) }
  }

  /// Fails a waiting entry, or ends it if its message was deleted.
  mutating func failOrDrop(_ entry: OutboxEntry, _ reason: String, _ step: inout Step) {
    if let target = entry.target, isDeleted(target) {
      drop(entry, ofDeleted: target)
    } else {
      failSend(entry.id, reason, &step)
    }
  }
}

extension OutboxEntry.Action {
  var isDeletion: Bool { if case .delete = self { true } else { false } }
}
