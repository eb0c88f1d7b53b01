import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// A checker that detects data that is shown, sent or acknowledged before it is durable, and a
/// cursor that is ahead of the stored data.
struct Durability: StreamChecker {
  private(set) var found = Findings()
  /// The messages in the server's log that are not stored on the phone.
  private var absent = MissingMessages()
  private var log: [ShopMessage] = []
  /// The newest position of the log.
  private var head: ShopPosition?
  /// The IDs of all messages that the server has ever accepted.
  private var known: Set<MessageID> = []
  private var lateness = Stamps()
  /// The user's messages that a restored log accepted at positions up to the cursor.
  ///
  /// The answers to these messages show the phone that the log is a new one.
  private var fillers: [ShopMessage] = []
  /// The deleted messages that a log which was restored to an earlier state may have again.
  private var removed: Set<MessageID> = []
  /// The messages that were reported. Each missing message is reported once.
  private var reported: Set<MessageID> = []

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .update(.messages(let messages, _)):
      for message in messages where facts.own.disk.messages[message.id] == nil {
        found.add(.early, at: facts.now, "shown before it was stored: \(message.text)")
      }
    case .update(.outboxDone(_, let message?)):
      guard !known.contains(message) else { return }
      found.add(.early, at: facts.now, "reported as sent before the server had it: \(message)")
    case .post(let entry, _):
      let isStored = facts.own.disk.outbox.contains {
        $0.text == entry.text && $0.action == entry.action
      }
      guard !isStored else { return }
      found.add(.early, at: facts.now, "sent before it was stored: \(entry.text)")
    case .open, .close, .ping, .refreshCredentials, .fetch, .upload, .load, .commit, .readOlder,
      .update:
      return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .fact(.accepted(let message, isNew: true)):
      log.append(message)
      head = message.position
      known.insert(message.id)
      lateness.note(message, facts)
      let cursor = facts.own.disk.cursor
      if cursor.position != nil, cursor.covers(message, overlap: .zero) {
        fillers.append(message)
      }
      absent.accept(message, isStored: facts.own.disk.messages[message.id] != nil)
    case .fact(.changed(let event)): change(event)
    case .fact(.beganAnew(let head, let retained)):
      removed.formUnion(retained.returned(since: log, to: facts.own.disk.cursor))
      log = retained
      self.head = head
      known.formUnion(retained.map(\.id))
      absent.reset(to: log, isByStamp: absent.isByStamp, keeping: facts.own.disk)
    case .fact(.stored(let change, _)):
      absent.markStored(change.messages)
      removed.formUnion(change.deletions.map(\.id))
      checkCursor(facts)
    case .killed: checkCursor(facts)
    case .launched, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began, .ended, .calm, .fact(.accepted(_, isNew: false)), .fact(.admitted),
      .fact(.stated), .fact(.forgot), .fact(.images):
      return
    }
  }

  private mutating func change(_ event: ShopEvent) {
    head = event.position ?? head
    switch event {
    case .posted: return
    case .edited(let message):
      if let index = index(of: message.id) { log[index] = message }
      absent.replace(message)
    case .deleted(let deletion):
      log.removeAll { $0.id == deletion.id }
      fillers.removeAll { $0.id == deletion.id }
      absent.remove(deletion.id)
    }
  }

  /// Checks the cursor at the end of the run.
  mutating func conclude(_ facts: Facts) { checkCursor(facts) }

  /// Checks that every message that the cursor covers is stored or lies in a gap.
  ///
  /// Messages older than all stored messages are not expected yet: they arrive when the reader
  /// scrolls back, in the order of the log, or by timestamp if a plain server sorts its pages so. A
  /// message that such a server backdated does not count as the oldest one.
  private mutating func checkCursor(_ facts: Facts) {
    let byStamp = facts.own.server == .plain && facts.own.pages == .stamp
    if absent.isByStamp != byStamp {
      absent.reset(to: log, isByStamp: byStamp, keeping: facts.own.disk)
    }
    let missing = missing(facts)
    guard missing.contains(where: { !reported.contains($0.id) }) else { return }
    reported.formUnion(missing.map(\.id))
    let texts = missing.prefix(5).map(\.text).joined(separator: ", ")
    found.add(
      .early, at: facts.now,
      "the cursor is past unstored messages: \(texts) (\(missing.count) in all)")
  }

  /// Returns whether the log ends before the cursor. In that case the log was restored, and the
  /// client will detect this.
  private func isBehindCursor(_ disk: StoredTimeline) -> Bool {
    guard let cursor = disk.cursor.position, let end = head else { return false }
    return cursor.epoch == end.epoch && cursor.offset > end.offset
  }

  private func missing(_ facts: Facts) -> [ShopMessage] {
    let (disk, overlap) = (facts.own.disk, facts.own.settings.overlap)
    let isPlain = disk.cursor.position == nil
    let rising = absent.isByStamp || !facts.own.stampsLate ? .zero : overlap
    let oldest =
      absent.isByStamp
      ? disk.ordered.first { !lateness.isBeyond($0.id) } : absent.lowestStored
    guard absent.isByStamp || oldest != nil, !isBehindCursor(disk),
      !fillers.contains(where: { disk.awaitsAnswer(to: $0) })
    else { return [] }
    var missing: [ShopMessage] = []
    for (_, message) in absent.from(oldest) {
      guard disk.cursor.covers(message, overlap: overlap) else {
        // In the order of the log, no later message is covered, unless this one was edited.
        if !isPlain, message.changed == nil { break }
        continue
      }
      let isExcused =
        disk.messages[message.id] != nil || removed.contains(message.id)
        || disk.hasGap(at: message.key)
        || isPlain && lateness.isBeyond(message.id)
        || isPlain && disk.hasGap(near: message.createdAt, within: overlap, rising: rising)
        || isBelowGap(message, disk)
      if !isExcused { missing.append(message) }
    }
    return missing
  }

  /// Returns whether the reader's pages lead to a message through a gap.
  ///
  /// Pages lead down the log from the upper end of the gap to its lower end, or further if the
  /// log lost that message when it was restored. Timestamps are not conclusive: if the server's
  /// clock went back, messages further down the log can be stamped later than the upper end.
  private func isBelowGap(_ message: ShopMessage, _ disk: StoredTimeline) -> Bool {
    guard message.position != nil, let index = index(of: message.id) else { return false }
    return disk.gaps.contains { gap in
      guard let upper = self.index(of: gap.before.id), index < upper else { return false }
      return gap.after.flatMap { self.index(of: $0.id) }.map { $0 < index } ?? true
    }
  }

  private func index(of id: MessageID) -> Int? { log.firstIndex { $0.id == id } }
}

extension StoredTimeline {
  /// Returns whether the message was sent by the user and is still in the outbox, without a
  /// failure.
  fileprivate func awaitsAnswer(to message: ShopMessage) -> Bool {
    message.user == "me"
      && outbox.contains { entry in
        if case .failed = entry.state { return false }
        return entry.action == .post && entry.text == message.words
      }
  }

  /// Returns whether a reader of a plain server's pages may find a message in a gap.
  ///
  /// Within the last instant of the gap, IDs do not determine the order. At the start of the gap,
  /// timestamps may lag by up to the overlap. If pages are sorted by arrival, the message after the
  /// gap may also be stamped late, by at most `rising`.
  fileprivate func hasGap(
    near time: Timestamp, within overlap: Duration, rising: Duration
  ) -> Bool {
    gaps.contains { gap in
      time <= gap.before.createdAt.advanced(by: rising)
        && gap.after.map { time >= $0.createdAt.advanced(by: .zero - overlap) } ?? true
    }
  }
}

extension ShopCursor {
  /// Returns whether the cursor implies that a message is stored.
  ///
  /// A cursor with a position covers all messages up to that position. While a catch-up by events is
  /// unfinished, those that were edited later may be missing. A cursor without a position covers
  /// messages up to its time minus the overlap, which is the maximum lag of timestamps.
  fileprivate func covers(_ message: ShopMessage, overlap: Duration) -> Bool {
    if let position {
      guard let posted = message.position, posted.epoch == position.epoch else { return false }
      let last = base.map { posted.offset > $0.offset } ?? false ? message.version : posted
      return posted.offset <= position.offset && last?.offset ?? 0 <= position.offset
    }
    return time.map { message.createdAt <= $0.advanced(by: .zero - overlap) } ?? false
  }
}
