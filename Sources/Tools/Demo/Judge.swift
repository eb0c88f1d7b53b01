public import LinkWire

/// Compares what the server accepted with what the phone showed and kept.
public struct Judge: Sendable {
  /// A message and its text.
  public struct Entry: Sendable, Hashable {
    /// Its place in the order of creation.
    public var key: TimelineKey
    /// As it was written, or as it was shown.
    public var text: String
  }

  /// A message as a run of the phone printed it.
  public struct Shown: Sendable, Hashable {
    /// Which message.
    public var id: MessageID
    /// Its text.
    public var text: String
  }

  /// What the server accepted, in any order.
  public var accepted: [Entry] = []
  /// What each run of the phone showed, in its order.
  public var runs: [[Shown]] = []
  /// What the phone kept at the end, in the order of its timeline.
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
    counts.outOfOrder = zip(timeline, timeline.dropFirst()).count { $0.key > $1.key }
    counts.unknown = shown.union(kept).count { sent[$0] == nil }
    let shownAltered = runs.joined().filter { sent[$0.id] != nil && sent[$0.id] != $0.text }
    let keptAltered = timeline.filter { sent[$0.key.id] != nil && sent[$0.key.id] != $0.text }
    counts.altered = Set(shownAltered.map(\.id) + keptAltered.map(\.key.id)).count
    return counts
  }
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
  /// Neighbours in the kept timeline that stand the wrong way round.
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
