import LinkCore
import LinkWire
import MessageStream

/// Nothing is shown, sent or acknowledged before it is durable, and no cursor runs ahead of the
/// disk.
struct Durability: StreamChecker {
  private(set) var found = Findings()
  /// What the server's log holds.
  private var log: [Message] = []
  /// Everything that was ever accepted.
  private var known: Set<MessageID> = []
  private var lateness = Stamps()

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .update(.messages(let messages, _)):
      for message in messages where facts.own.disk.messages[message.id] == nil {
        found.add(.early, at: facts.now, "shown before it was stored: \(message.text)")
      }
    case .update(.outboxDone(_, let message?)):
      guard !known.contains(message) else { return }
      found.add(.early, at: facts.now, "said to be sent before the server has it: \(message)")
    case .post(let entry):
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
    case .fact(.beganAnew(_, let kept)):
      log = kept
      known.formUnion(kept.map(\.id))
    case .killed: checkCursor(facts)
    case .launched, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .wentDead,
      .began, .ended, .calm, .fact(.stored), .fact(.accepted(_, isNew: false)):
      return
    }
  }

  /// The run is over.
  mutating func conclude(_ facts: Facts) { checkCursor(facts) }

  /// Everything that the cursor speaks for is there, or a gap says what is not. What is older than
  /// all that is kept comes with the reader's pages: in the order of the log, or by stamp where a
  /// plain server sorts by it; what such a server stamped far back is there before them.
  private mutating func checkCursor(_ facts: Facts) {
    let disk = facts.own.disk
    let oldest = disk.ordered.first { !lateness.isBeyond($0.id) }
    let isPlain = disk.cursor.position == nil
    let byStamp = isPlain && facts.own.pages == .stamp
    let asked = byStamp ? log[...] : log.drop { disk.messages[$0.id] == nil }
    let missing = asked.filter { message in
      disk.messages[message.id] == nil
        && disk.cursor.covers(message, overlap: facts.own.settings.overlap)
        && !(byStamp && oldest.map { message.key < $0 } ?? false)
        && !(isPlain && lateness.isBeyond(message.id))
        && !disk.hasGap(at: message.key)
        && !(isPlain && disk.hasGap(near: message.createdAt, within: facts.own.settings.overlap))
    }
    guard !missing.isEmpty else { return }
    let texts = missing.prefix(5).map(\.text).joined(separator: ", ")
    found.add(
      .early, at: facts.now, "the cursor is beyond \(missing.count) that are not kept (\(texts))")
  }
}

extension KeptTimeline {
  /// Whether the reader of a plain server's pages may find it in a hole: ids do not tell the order
  /// within its last instant, and where it begins stamps may be late by the overlap.
  fileprivate func hasGap(near time: Timestamp, within overlap: Duration) -> Bool {
    gaps.contains { gap in
      time <= gap.before.createdAt
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
