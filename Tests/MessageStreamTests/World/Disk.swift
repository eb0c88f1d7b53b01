import LinkCore
import LinkWire

/// What survives a kill: a disk that can also fail and be slow.
struct Disk {
  private var kept = KeptTimeline()
  /// Texts of all entries that ever were in the outbox.
  private(set) var promised: Set<String> = []
  /// Every call fails so while it is set.
  var failure: StoreFailure?
  /// How long a commit takes.
  var delay = Duration.milliseconds(2)

  var messages: [MessageID: Message] { kept.messages }
  var ordered: [TimelineKey] { kept.ordered }
  var cursor: Cursor { kept.cursor }
  var gaps: [Gap] { kept.gaps }
  var outbox: [OutboxEntry] { kept.outbox }

  func load(limit: Int) -> TimelineSnapshot { kept.load(limit: limit) }

  func older(than key: TimelineKey, limit: Int) -> [Message] {
    kept.older(than: key, limit: limit)
  }

  mutating func commit(_ change: TimelineChange) -> TimelineCommit {
    promised.formUnion(change.outboxPut.map(\.text))
    return kept.commit(change)
  }
}
