import HoldfastCore
import HoldfastLinkChecks
package import HoldfastMessageData
import HoldfastMessageStream

/// A checker that compares accepted and shown messages, and detects lost, duplicated and reordered
/// messages.
struct Ledger: StreamChecker {
  private(set) var found = Findings()
  /// The messages in the server's log, in the order in which they were accepted.
  private var log: [ShopMessage] = []
  /// The IDs of all messages that the server has ever accepted.
  private var known: Set<MessageID> = []
  /// The messages that were shown in this run of the process.
  private var shown: Set<MessageID> = []
  /// The user's messages, by text.
  private var own: [String: Own] = [:]
  /// The deleted messages that a log which was restored to an earlier state may have again.
  private var removed: Set<MessageID> = []
  private var lastOwn = 0
  private var lookups = LookupChecker()
  private var lateness = Stamps()

  /// A message that the phone has stored and must therefore send.
  private struct Own: Sendable {
    /// The index among all of the user's messages, from 1.
    var index: Int
    var entries: [UUID128]
    /// The number of copies in the server's log, and whether there has ever been a copy.
    var accepted = 0
    var wasAccepted = false
    /// Whether the message has failed. If so, later messages may have been sent before it.
    var hasFailed = false
    /// Whether the message is stamped so far back that the client does not look for it.
    var isBeyond = false
  }

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    lookups.received(input)
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    lookups.requested(effect, facts)
    switch effect {
    case .update(.messages(let messages, _)): show(messages, facts.now)
    case .update(.deleted(let deletions)): shown.subtract(deletions.map(\.id))
    case .update(.edited(let messages)):
      for message in messages where !shown.contains(message.id) {
        found.add(.reordered, at: facts.now, "edited and never shown: \(message.text)")
      }
    case .open, .close, .ping, .refreshCredentials, .fetch, .post, .upload, .load, .commit,
      .readOlder, .update:
      return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .launched:
      shown.removeAll(keepingCapacity: true)
      lookups.launched()
    case .fact(.stored(let change, _)):
      promise(change.outboxPut)
      removed.formUnion(change.deletions.map(\.id))
    case .fact(.accepted(let message, isNew: true)): accept(message, facts)
    case .fact(.changed(.deleted(let deletion))): log.removeAll { $0.id == deletion.id }
    case .fact(.accepted(_, isNew: false)), .fact(.admitted), .fact(.stated), .fact(.changed),
      .fact(.forgot), .fact(.images):
      return
    case .fact(.beganAnew(_, let retained)): beginAnew(with: retained, facts)
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began,
      .ended, .calm:
      return
    }
  }

  private mutating func show(_ messages: [ShopMessage], _ now: Instant) {
    if messages.isEmpty { found.add(.duplicated, at: now, "shown without a message") }
    var last: ShopMessage?
    for message in messages {
      if let last, last.key >= message.key {
        found.add(.reordered, at: now, "\(message.text) was shown after \(last.text)")
      }
      last = message
      if !known.contains(message.id) {
        found.add(.duplicated, at: now, "shown and never accepted: \(message.text)")
      }
      if !shown.insert(message.id).inserted {
        found.add(.duplicated, at: now, "shown twice: \(message.text)")
      }
    }
  }

  private mutating func promise(_ entries: [OutboxEntry]) {
    for entry in entries where entry.action == .post {
      var mine = own[entry.text] ?? Own(index: own.count + 1, entries: [])
      if !mine.entries.contains(entry.id) { mine.entries.append(entry.id) }
      if case .failed = entry.state { mine.hasFailed = true }
      own[entry.text] = mine
    }
  }

  private mutating func accept(_ message: ShopMessage, _ facts: Facts) {
    log.append(message)
    known.insert(message.id)
    lookups.accepted(message)
    lateness.note(message, facts)
    let now = facts.now
    guard var mine = own[message.words] else { return }
    if !mine.wasAccepted, mine.index < lastOwn, !mine.hasFailed {
      found.add(.reordered, at: now, "\(message.text) was sent after messages written later")
    }
    lastOwn = max(lastOwn, mine.index)
    mine.accepted += 1
    mine.wasAccepted = true
    if mine.accepted > mine.entries.count + lookups.excused(message.words), !mine.isBeyond {
      found.add(.duplicated, at: now, "\(message.text) was accepted \(mine.accepted) times")
    }
    mine.isBeyond = mine.isBeyond || lateness.isBeyond(message.id)
    own[message.words] = mine
  }

  /// Continues with a new log. Messages that it does not contain may be sent again.
  private mutating func beginAnew(with retained: [ShopMessage], _ facts: Facts) {
    removed.formUnion(retained.returned(since: log, to: facts.own.disk.cursor))
    log = retained
    known.formUnion(retained.map(\.id))
    for text in own.keys.sorted() { own[text]?.accepted = 0 }
    for message in retained { own[message.words]?.accepted += 1 }
  }

  /// Returns the messages of the log without a beginning that the server removed before the phone
  /// had shown any message of it. The phone's history begins after it, and nothing is missed.
  private func due(_ oldest: ShopPosition?) -> ArraySlice<ShopMessage> {
    guard let oldest else { return log[...] }
    return log.drop { message in
      guard let position = message.position, position.epoch == oldest.epoch else { return false }
      return position.offset < oldest.offset && !shown.contains(message.id)
    }
  }

  /// Checks at the end of the run that every message of the log was shown or lies in a gap.
  mutating func conclude(_ facts: Facts) {
    let missing = due(facts.own.oldest).filter {
      !shown.contains($0.id) && !removed.contains($0.id) && !facts.own.disk.hasGap(at: $0.key)
        && !(facts.own.pages == .stamp && lateness.isBeyond($0.id))
    }
    if !missing.isEmpty {
      let texts = missing.prefix(5).map(\.text).joined(separator: ", ")
      found.add(.lost, at: facts.now, "never shown: \(missing.count) (\(texts))")
    }
    for (text, mine) in own.sorted(by: { $0.value.index < $1.value.index }) where !mine.wasAccepted
    {
      found.add(.lost, at: facts.now, "promised and never accepted: \(text)")
    }
  }
}

extension [ShopMessage] {
  /// Returns the IDs of the messages that a phone may miss in a log that was restored to an earlier
  /// state: those that the log did not have before, and those of an unfinished catch-up. Their
  /// versions may now precede the cursor.
  func returned(since earlier: [ShopMessage], to cursor: ShopCursor) -> Set<MessageID> {
    let new = Set(map(\.id)).subtracting(earlier.map(\.id))
    guard let base = cursor.base else { return new }
    return new.union(filter { $0.position?.offset ?? 0 > base.offset }.map(\.id))
  }
}

extension StoredTimeline {
  /// Returns whether a key is among the newest `count` keys, which are held in memory.
  package func isNewest(_ key: TimelineKey, of count: Int) -> Bool {
    ordered.suffix(count).first.map { $0 <= key } ?? false
  }

  /// Returns whether a gap that is visible to the reader may contain a message with this key.
  package func hasGap(at key: TimelineKey) -> Bool {
    gaps.contains { $0.spans(key) }
  }
}

extension ShopGap {
  /// Returns whether the gap may contain a message with this key.
  package func spans(_ key: TimelineKey) -> Bool { key < before && after.map { $0 < key } ?? true }
}

extension ShopMessage {
  /// The text without the line that refers to an image.
  package var words: String { String(text.prefix { $0 != "\n" }) }
}
