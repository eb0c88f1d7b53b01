import HoldfastCore
import HoldfastMessageData

// Edits and deletions, which a server with positions sends as events.
extension StreamModel {
  /// Handles an edit from the socket.
  mutating func takeEdit(_ message: ShopMessage, at position: ShopPosition, _ step: inout Step) {
    guard !takesNoMore, !unsettled.isFull else {
      recovery.again = true
      return
    }
    // The backlog has no frame of its own for the post of a message that was edited later.
    if recovery.isOfBacklog(position), recovery.expects(message) {
      unsettled.note(message)
      noteRemoved(before: [message], &step)
      add([message], via: .catchUp, &step)
    } else {
      edit(message)
    }
    follow(noteArrival(at: position), &step)
  }

  /// Handles a deletion from the socket.
  mutating func takeDeletion(_ deletion: ShopDeletion, _ step: inout Step) {
    guard !takesNoMore, !unsettled.isFull else {
      recovery.again = true
      return
    }
    delete(DeletedMessage(deletion), &step)
    follow(noteArrival(at: deletion.changed), &step)
  }

  /// Adds the messages of a page, and applies its edits and deletions to stored messages.
  mutating func take(_ page: Page, of run: Recovery.Run, _ step: inout Step) {
    // The answer to the reader may be older than edits that are not remembered any more.
    if unsettled.isFull { stopHistory(&step) }
    for deletion in page.deleted { delete(DeletedMessage(deletion), ofPage: true, &step) }
    guard page.through != nil, page.recovered else {
      let (missed, edited) = page.changes.divided { recovery.expects($0, beyondBase: true) }
      for message in edited { edit(message, ofPage: true) }
      add(unsettled.newest(missed + page.messages), via: run.via, &step)
      return
    }
    let (new, edited) = page.messages.divided { recovery.expects($0) }
    for message in edited { edit(message, ofPage: true) }
    add(unsettled.newest(new), via: run.via, &step)
  }

  /// Whether an answer under way may be older than a page of the catch-up.
  private var awaitsOlderAnswer: Bool {
    history.fetch != nil || history.isReading || outbox.queue.isSending(settings.shop)
  }

  /// Changes a message to a later version if it is stored.
  ///
  /// - Parameter ofPage: Whether a page of the catch-up has the version. Later pages are newer.
  mutating func edit(_ message: ShopMessage, ofPage: Bool = false) {
    guard let newest = unsettled.newest(message) else { return }
    if !ofPage || awaitsOlderAnswer { unsettled.note(newest) }
    guard !commits.deletes(newest.id) || commits.waiting.holds(newest.id) else { return }
    if let known = known(newest), !newest.isLater(than: known) { return }
    commits.waiting.edit(newest)
  }

  /// Removes a message from the store and from the screen.
  ///
  /// - Parameter ofPage: Whether a page of the catch-up has the deletion. Later pages are newer.
  mutating func delete(
    _ deletion: DeletedMessage, ofPage: Bool = false, _ step: inout Step
  ) {
    deletions.note(deletion.id)
    dropChanges(of: deletion.id)
    if !ofPage || awaitsOlderAnswer { unsettled.note(deletion) }
    order.remove(deletion.id)
    moveEdges(from: deletion.id, &step)
    commits.waiting.delete(deletion)
  }

  /// Removes the messages of the server's log that lie within a page and are not on it.
  ///
  /// A phone keeps what it posted before its first cursor in this log, but no event before that
  /// cursor reaches it.
  ///
  /// - Parameter isNewest: Whether nothing lies above the page. This is also so for the page that
  ///   answers a query for an unknown position.
  mutating func deleteAbsent(from page: Page, isNewest: Bool, _ step: inout Step) {
    let keys = page.messages.map(\.key)
    guard let head = page.head, page.rejected == 0, let lowest = keys.min(),
      let highest = keys.max()
    else { return }
    let ids = Set(page.messages.map(\.id))
    let absent = (timeline.messages + commits.messages).filter { message in
      guard let position = message.position, position.epoch == head.epoch else { return false }
      return position.offset <= head.offset && message.key > lowest
        && (isNewest || message.key < highest) && !ids.contains(message.id)
    }
    for message in absent { delete(DeletedMessage(id: message.id), &step) }
  }

  /// Returns the newest version of a message that is in memory or waits for the store.
  func known(_ id: MessageID) -> ShopMessage? { commits.version(of: id) ?? timeline[id] }

  /// Returns the newest version in the same way, which takes fewer steps than with the ID alone.
  func known(_ message: ShopMessage) -> ShopMessage? {
    commits.version(of: message.id) ?? timeline.version(of: message)
  }

  /// Moves the edges of gaps from a deleted message to its neighbors.
  ///
  /// An edge without a known neighbor stays where it is. It then names the place of a message that
  /// no longer exists.
  private mutating func moveEdges(from id: MessageID, _ step: inout Step) {
    for gap in gaps where gap.before.id == id || gap.after?.id == id {
      var moved = gap
      if gap.before.id == id {
        moved.before = keys(without: id).filter { $0 > gap.before }.min() ?? gap.before
      }
      if let after = gap.after, after.id == id {
        // Messages below the next lower gap are no neighbors.
        let limit = gaps.last { $0.before < gap.before }?.before
        let next = keys(without: id).filter { $0 < after && $0 >= limit ?? $0 }.max()
        moved.after = next ?? after
      }
      replace(gap, with: moved, &step)
    }
  }

  /// Replaces a gap. If the new one ends at the same message as another gap, the two become one.
  private mutating func replace(_ gap: ShopGap, with moved: ShopGap, _ step: inout Step) {
    guard moved != gap, holes.close(gap) else { return }
    step.show(.gapClosed(gap))
    var whole = moved
    if let other = holes[before: moved.before] {
      _ = holes.close(other)
      step.show(.gapClosed(other))
      let lower = [moved.after, other.after]
      whole.after = lower.contains(nil) ? nil : lower.compactMap(\.self).min()
    }
    holes.open(whole)
    step.show(.gap(whole))
    commits.waiting.change.gaps = holes.all
    if history.fetch?.below == gap.before { history.fetch?.below = whole.before }
  }

  private func keys(without id: MessageID) -> [TimelineKey] {
    (timeline.messages + commits.messages).map(\.key).filter {
      $0.id != id && !commits.deletes($0.id)
    }
  }

  /// Removes deleted messages from memory, and reports those that were shown.
  mutating func showDeleted(
    _ deleted: [TimelineKey], of batch: TimelineBatch, _ step: inout Step
  ) {
    guard !deleted.isEmpty else { return }
    for key in deleted {
      timeline.remove(key.id)
      deletions.note(key.id)
      dropChanges(of: key.id)
    }
    guard let oldest = history.oldest?.key else { return }
    let named = Dictionary(
      batch.change.deletions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let deletions = deleted.filter { $0 >= oldest }.map {
      named[$0.id] ?? DeletedMessage(id: $0.id)
    }
    if !deletions.isEmpty { step.show(.deleted(deletions)) }
  }

  /// Forgets edits and deletions that no answer can undo any more.
  mutating func settle(_ step: inout Step) {
    guard !unsettled.isEmpty, recovery.run == nil, recovery.ahead.isEmpty, history.fetch == nil,
      !history.isReading, !commits.changesMessages
    else { return }
    let wasFull = unsettled.isFull
    unsettled = Unsettled()
    // Events were dropped in the meantime.
    if wasFull, recovery.again { catchUpWhileConnected(&step) }
  }
}

extension DeletedMessage {
  init(_ deletion: ShopDeletion) { self.init(id: deletion.id, changed: deletion.changed) }
}

extension Array {
  /// Returns the elements that satisfy a condition, and the others, both in order.
  fileprivate func divided(by isFirst: (Element) -> Bool) -> (first: [Element], second: [Element]) {
    (filter(isFirst), filter { !isFirst($0) })
  }
}
