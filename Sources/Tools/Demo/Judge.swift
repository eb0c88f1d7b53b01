public import LinkWire

/// Compares what the server accepted with what the phone showed and kept.
public struct Judge: Sendable {
  /// A message and its text.
  public struct Entry: Sendable, Hashable {
    /// Its place in the order of creation.
    public var key: TimelineKey
    /// As it was written, or as it was shown.
    public var text: String
    /// Its place in the server's log, where that is known.
    public var offset: UInt64?
  }

  /// A message as a run of the phone printed it.
  public struct Shown: Sendable, Hashable {
    /// Which message.
    public var id: MessageID
    /// Its text.
    public var text: String
    /// How it came, in the phone's word.
    public var via: String
  }

  /// What the server accepted, in any order.
  public var accepted: [Entry] = []
  /// What each run of the phone showed, in its order.
  public var runs: [[Shown]] = []
  /// What the phone kept at the end.
  public var timeline: [Entry] = []

  /// The comparison in numbers.
  public var counts: Counts {
    let sent = Dictionary(accepted.map { ($0.key.id, $0.text) }) { first, _ in first }
    let shown = Set(runs.joined().map(\.id))
    let kept = Set(timeline.map(\.key.id))
    var counts = Counts()
    counts.sent = sent.count
    counts.shown = shown.count
    counts.lost = sent.keys.count { !shown.contains($0) || !kept.contains($0) }
    // A launch shows again what was kept; only within one run twice is once too often.
    counts.duplicated =
      runs.map { $0.count - Set($0.map(\.id)).count }.reduce(0, +) + timeline.count - kept.count
    counts.outOfOrder = runs.map(misplaced).reduce(0, +)
    counts.unknown = shown.union(kept).count { sent[$0] == nil }
    let shownAltered = runs.joined().filter { sent[$0.id] != nil && sent[$0.id] != $0.text }
    let keptAltered = timeline.filter { sent[$0.key.id] != nil && sent[$0.key.id] != $0.text }
    counts.altered = Set(shownAltered.map(\.id) + keptAltered.map(\.key.id)).count
    return counts
  }

  /// How many messages a run showed behind one that they should have come before.
  ///
  /// What came together stands in the order of creation. What came later by another way may belong
  /// above it; but what is live comes in order for as long as the phone runs.
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

  /// A server whose clock went back stamps later messages with earlier times; live they still come
  /// as they were logged.
  private func isWrong(_ first: Entry, _ second: Entry, isLive: Bool) -> Bool {
    guard first.key > second.key else { return false }
    guard isLive, let before = first.offset, let after = second.offset else { return true }
    return before > after
  }

  private static let live = "live"
}

/// How many messages came through, and how.
public struct Counts: Sendable, Hashable {
  /// Accepted by the server.
  public var sent = 0
  /// Shown by the phone, each counted once.
  public var shown = 0
  /// Accepted, and not shown or not kept.
  public var lost = 0
  /// Shown again within one run, or kept twice.
  public var duplicated = 0
  /// Shown by a run behind a message that they should have come before.
  public var outOfOrder = 0
  /// Shown or kept with another text.
  public var altered = 0
  /// Shown or kept, and never accepted.
  public var unknown = 0

  /// Something was sent, and all of it came through once, whole and in order.
  public var isClean: Bool {
    sent > 0 && shown == sent
      && [lost, duplicated, outOfOrder, altered, unknown] == [0, 0, 0, 0, 0]
  }
}
