import HoldfastMessageData
import HoldfastMessageStream

/// The state of fetching older messages for `--older`. The fetched messages are shown together,
/// oldest first.
struct StreamScroll {
  /// The number of messages still to be fetched.
  private var wanted: Int
  /// The fetched messages that are older than the messages shown.
  private var held: [ShopMessage] = []
  private var oldest: TimelineKey?
  /// Whether messages have arrived since the last request.
  private var isMoving = false

  /// The action that follows an update.
  enum Step {
    case show
    /// Holds the update back, to show it later.
    case hold
    /// Requests the next page.
    case ask
    /// Shows these messages, because no more can be fetched.
    case end([ShopMessage])
  }

  init(by wanted: Int) {
    self.wanted = wanted
  }

  mutating func step(after update: StreamUpdate) -> Step {
    switch update {
    case .messages(let messages, let via):
      guard let first = messages.first?.key, let last = messages.last?.key else { return .show }
      // The stored messages arrive first. They are also reported as history.
      guard let top = oldest, via == .history, wanted > 0 else {
        oldest = min(oldest ?? first, first)
        return .show
      }
      isMoving = true
      // Messages that fill a gap are shown at once.
      let isOlder = last < top
      if isOlder { held = messages.suffix(wanted) + held }
      wanted -= min(wanted, messages.count)
      return isOlder ? .hold : .show
    case .history(let hasMore):
      guard hasMore, isMoving, wanted > 0 else { return .end(finish()) }
      isMoving = false
      return .ask
    case .deleted(let deletions):
      let deleted = Set(deletions.map(\.id))
      held.removeAll { deleted.contains($0.id) }
      return .show
    case .status, .edited, .gap, .gapClosed, .outbox, .outboxDone, .notice: return .show
    }
  }

  /// Stops fetching. Returns the messages that were held back.
  mutating func finish() -> [ShopMessage] {
    defer { held = [] }
    wanted = 0
    return held
  }
}
