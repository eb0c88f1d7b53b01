import LinkCore
import LinkStorage
import LinkWire
import MessageStream

/// Nothing is shown, sent or acknowledged before it is durable, and no cursor runs ahead of the
/// disk.
struct Durability: StreamChecker {
  private(set) var found = Findings()
  /// What the server's log holds and the phone does not.
  private var absent = Absent()
  private var log: [Message] = []
  /// Everything that was ever accepted.
  private var known: Set<MessageID> = []
  private var lateness = Stamps()
  /// Own messages that were accepted at positions up to the cursor in a log that was put back: the
  /// answers show the phone that the log is a new one.
  private var fillers: [Message] = []
  /// What was found below the cursor already: a finding tells of a state, not of each commit in it.
  private var told: Set<MessageID> = []

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .update(.messages(let messages, _)):
      for message in messages where facts.own.disk.messages[message.id] == nil {
        found.add(.early, at: facts.now, "shown before it was stored: \(message.text)")
      }
    case .update(.outboxDone(_, let message?)):
      guard !known.contains(message) else { return }
      found.add(.early, at: facts.now, "said to be sent before the server has it: \(message)")
    case .post(let entry, _):
      guard !facts.own.disk.outbox.contains(where: { $0.text == entry.text }) else { return }
      found.add(.early, at: facts.now, "sent before it was stored: \(entry.text)")
    case .open, .close, .ping, .refreshCredentials, .fetch, .load, .commit, .readOlder, .update:
      return
    }
  }

  mutating func met(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .fact(.accepted(let message, isNew: true)):
      log.append(message)
      known.insert(message.id)
      lateness.note(message, facts)
      let cursor = facts.own.disk.cursor
      if cursor.position != nil, cursor.covers(message, overlap: .zero) {
        fillers.append(message)
      }
      absent.accept(message, isKept: facts.own.disk.messages[message.id] != nil)
    case .fact(.beganAnew(_, let kept)):
      log = kept
      known.formUnion(kept.map(\.id))
      absent.reset(to: log, isByStamp: absent.isByStamp, keeping: facts.own.disk)
    case .fact(.stored(let change, _)):
      absent.keep(change.messages)
      checkCursor(facts)
    case .killed: checkCursor(facts)
    case .launched, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .wentDead,
      .began, .ended, .calm, .fact(.accepted(_, isNew: false)), .fact(.admitted),
      .fact(.stated):
      return
    }
  }

  /// The run is over.
  mutating func conclude(_ facts: Facts) { checkCursor(facts) }

  /// Everything that the cursor speaks for is there, or a gap says what is not. What is older than
  /// all that is kept comes with the reader's pages: in the order of the log, or by stamp where a
  /// plain server sorts by it; what such a server stamped far back is there before them.
  private mutating func checkCursor(_ facts: Facts) {
    let byStamp = facts.own.server == .plain && facts.own.pages == .stamp
    if absent.isByStamp != byStamp {
      absent.reset(to: log, isByStamp: byStamp, keeping: facts.own.disk)
    }
    let missing = missing(facts)
    guard missing.contains(where: { !told.contains($0.id) }) else { return }
    told.formUnion(missing.map(\.id))
    let texts = missing.prefix(5).map(\.text).joined(separator: ", ")
    found.add(
      .early, at: facts.now, "the cursor is beyond \(missing.count) that are not kept (\(texts))")
  }

  /// Whether the log ends before the cursor: it was put back, and the client will see that.
  private func isBehindCursor(_ disk: StoredTimeline) -> Bool {
    guard let cursor = disk.cursor.position, let end = log.last?.position else { return false }
    return cursor.epoch == end.epoch && cursor.offset > end.offset
  }

  private func missing(_ facts: Facts) -> [Message] {
    let (disk, overlap) = (facts.own.disk, facts.own.settings.overlap)
    let isPlain = disk.cursor.position == nil
    let rising = absent.isByStamp || !facts.own.stampsLate ? .zero : overlap
    let oldest =
      absent.isByStamp
      ? disk.ordered.first { !lateness.isBeyond($0.id) } : absent.lowestKept
    guard absent.isByStamp || oldest != nil, !isBehindCursor(disk),
      !fillers.contains(where: { disk.awaitsAnswer(to: $0) })
    else { return [] }
    var missing: [Message] = []
    for (_, message) in absent.from(oldest) {
      guard disk.cursor.covers(message, overlap: overlap) else {
        // In the order of the log nothing behind it is covered, either.
        if !isPlain { break }
        continue
      }
      let isExcused =
        disk.messages[message.id] != nil || disk.hasGap(at: message.key)
        || isPlain && lateness.isBeyond(message.id)
        || isPlain && disk.hasGap(near: message.createdAt, within: overlap, rising: rising)
        || isBelowGap(message, disk)
      if !isExcused { missing.append(message) }
    }
    return missing
  }

  /// Whether a gap ends at the next message above it in the log that is kept: the reader's pages
  /// lead down from there. The lower end of the gap may be a message that the log forgot when it
  /// was put back, so that stamps do not tell.
  private func isBelowGap(_ message: Message, _ disk: StoredTimeline) -> Bool {
    guard message.position != nil, let place = log.firstIndex(where: { $0.id == message.id }),
      let above = log[place...].first(where: { disk.messages[$0.id] != nil })
    else { return false }
    return disk.gaps.contains { $0.before.id == above.id }
  }
}

extension StoredTimeline {
  /// Whether it is the user's own message, and its answer has not come.
  fileprivate func awaitsAnswer(to message: Message) -> Bool {
    message.user == "me"
      && outbox.contains { entry in
        if case .failed = entry.state { false } else { entry.text == message.text }
      }
  }

  /// Whether the reader of a plain server's pages may find it in a hole: ids do not tell the order
  /// within its last instant, and where it begins stamps may be late by the overlap. Where pages
  /// are sorted by arrival the message behind it may be stamped late, too, by `rising` at most.
  fileprivate func hasGap(
    near time: Timestamp, within overlap: Duration, rising: Duration
  ) -> Bool {
    gaps.contains { gap in
      time <= gap.before.createdAt.advanced(by: rising)
        && gap.after.map { time >= $0.createdAt.advanced(by: .zero - overlap) } ?? true
    }
  }
}

extension Cursor {
  /// Whether it says that a message is kept: by its position, else by its time, where stamps may
  /// be late by the overlap.
  fileprivate func covers(_ message: Message, overlap: Duration) -> Bool {
    if let position {
      return message.position.map { $0.epoch == position.epoch && $0.offset <= position.offset }
        ?? false
    }
    return time.map { message.createdAt <= $0.advanced(by: .zero - overlap) } ?? false
  }
}
