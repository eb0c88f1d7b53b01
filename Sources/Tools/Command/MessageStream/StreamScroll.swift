import LinkWire
import MessageStream

/// The fetching of older messages for `--older`, which are shown together, oldest first.
struct StreamScroll {
  /// The number of messages still to be fetched.
  private var wanted: Int
  /// The fetched messages that are older than those shown.
  private var held: [Message] = []
  private var oldest: TimelineKey?
  /// Whether messages arrived since the last request.
  private var isMoving = false

  /// The action for an update.
  enum Step {
    case show
    /// Shows the update later.
    case hold
    /// Requests the next page.
    case ask
    /// Shows these messages, since no more can be fetched.
    case end([Message])
  }

  init(by wanted: Int) {
    self.wanted = wanted
  }

  mutating func step(after update: StreamUpdate) -> Step {
    switch update {
    case .messages(let messages, let via):
      guard let first = messages.first?.key, let last = messages.last?.key else { return .show }
      // The messages in the store arrive first, and also as history.
      guard let top = oldest, via == .history, wanted > 0 else {
        oldest = min(oldest ?? first, first)
        return .show
      }
      isMoving = true
      // Messages that fill a gap are shown immediately.
      let isOlder = last < top
      if isOlder { held = messages.suffix(wanted) + held }
      wanted -= min(wanted, messages.count)
      return isOlder ? .hold : .show
    case .history(let hasMore):
      guard hasMore, isMoving, wanted > 0 else { return .end(finish()) }
      isMoving = false
      return .ask
    case .status, .edited, .gap, .gapClosed, .outbox, .outboxDone, .notice: return .show
    }
  }

  /// Stops fetching and returns the messages that were held back.
  mutating func finish() -> [Message] {
    defer { held = [] }
    wanted = 0
    return held
  }
}
