import HoldfastMessageData

/// A checker that compares the messages that the server accepted with the messages that the phone
/// showed and stored.
struct MessageChecker: Sendable {
  /// A message with its key and its text.
  struct Entry: Sendable, Hashable {
    /// The key, which determines the message's position in the order of creation.
    var key: TimelineKey
    /// The text that was written, stored or shown.
    var text: String
    /// The offset in the server's log, if it is known.
    var offset: UInt64?
  }

  /// A message that a run of the phone printed.
  struct Shown: Sendable, Hashable {
    var id: MessageID
    var text: String
    /// The way in which the message arrived, in the phone's own terms.
    var via: String
  }

  /// The messages that the server accepted, in any order.
  var accepted: [Entry] = []
  /// The messages that each run of the phone showed, in order.
  var runs: [[Shown]] = []
  /// The messages that the phone stored at the end.
  var timeline: [Entry] = []

  /// The result of the comparison.
  var counts: Counts {
    let sent = Dictionary(accepted.map { ($0.key.id, $0.text) }) { first, _ in first }
    let shown = Set(runs.joined().map(\.id))
    let stored = Set(timeline.map(\.key.id))
    var counts = Counts()
    counts.sent = sent.count
    counts.shown = shown.count
    counts.lost = sent.keys.count { !shown.contains($0) || !stored.contains($0) }
    // Each launch shows the stored messages again. Only repetitions within a run are counted.
    counts.duplicated =
      runs.map { $0.count - Set($0.map(\.id)).count }.reduce(0, +) + timeline.count - stored.count
    counts.outOfOrder = runs.map(misplaced).reduce(0, +)
    counts.unknown = shown.union(stored).count { sent[$0] == nil }
    let shownAltered = runs.joined().filter { sent[$0.id] != nil && sent[$0.id] != $0.text }
    let storedAltered = timeline.filter { sent[$0.key.id] != nil && sent[$0.key.id] != $0.text }
    counts.altered = Set(shownAltered.map(\.id) + storedAltered.map(\.key.id)).count
    return counts
  }

  /// Returns the number of messages that a run showed after a message that they should have
  /// preceded.
  ///
  /// Consecutive messages that arrived in the same way must be in order of creation. Messages that
  /// arrive later in another way may belong before them. Live messages must be in order throughout
  /// the run.
  private func misplaced(_ run: [Shown]) -> Int {
    let sent = Dictionary(accepted.map { ($0.key.id, $0) }) { first, _ in first }
    var seen: Set<MessageID> = []
    var last: (via: String, entry: Entry)?
    var lastLive: Entry?
    var count = 0
    for shown in run {
      guard let entry = sent[shown.id], seen.insert(shown.id).inserted else { continue }
      let isLive = shown.via == Self.live
      let before = isLive ? lastLive : last?.via == shown.via ? last?.entry : nil
      if let before, isWrong(before, entry, isLive: isLive) { count += 1 }
      last = (shown.via, entry)
      if isLive { lastLive = entry }
    }
    return count
  }

  /// Returns whether two messages are in the wrong order.
  ///
  /// If the server's clock was set back, later messages have earlier times. Live messages then
  /// follow the order of the log.
  private func isWrong(_ first: Entry, _ second: Entry, isLive: Bool) -> Bool {
    guard first.key > second.key else { return false }
    guard isLive, let before = first.offset, let after = second.offset else { return true }
    return before > after
  }

  private static let live = "live"
}

/// Counts of messages, by outcome.
struct Counts: Sendable, Hashable {
  /// The number of messages that the server accepted.
  var sent = 0
  /// The number of different messages that the phone showed.
  var shown = 0
  /// The number of messages that were accepted, but not shown or not stored.
  var lost = 0
  /// The number of messages that were shown again within a run, or stored twice.
  var duplicated = 0
  /// The number of messages that were shown after a message that they should have preceded.
  var outOfOrder = 0
  /// The number of messages that were shown or stored with a different text.
  var altered = 0
  /// The number of messages that were shown or stored but never accepted.
  var unknown = 0

  /// Whether messages were sent, and all of them were shown and stored once, unaltered and in
  /// order.
  var isClean: Bool { section.isClean }

  /// The ledger's section about messages.
  var section: LedgerSection {
    LedgerSection(
      "messages",
      [
        .init("sent", sent, isGood: sent > 0),
        .init("shown", shown, isGood: shown == sent),
        .init("lost", lost, isGood: lost == 0),
        .init("duplicated", duplicated, isGood: duplicated == 0),
        .init("out of order", key: "outOfOrder", outOfOrder, isGood: outOfOrder == 0),
        .init("altered", altered, isGood: altered == 0, isRare: true),
        .init("unknown", unknown, isGood: unknown == 0, isRare: true),
      ])
  }
}
