import LinkWire
import MessageStream

/// Scrolls back by as many messages as are wanted, and shows them together, oldest first.
struct StreamScroll {
  /// Messages that have not come yet.
  private var wanted: Int
  /// Older than all that was shown.
  private var held: [Message] = []
  private var oldest: TimelineKey?
  /// Something came since it was last asked for.
  private var isMoving = false

  /// What to do about an update.
  enum Step {
    case show
    /// It is shown later.
    case hold
    /// Ask for the next page.
    case ask
    /// All that can be had is here.
    case end([Message])
  }

  init(by wanted: Int) {
    self.wanted = wanted
  }

  mutating func step(after update: StreamUpdate) -> Step {
    switch update {
    case .messages(let messages, let via):
      guard let first = messages.first?.key, let last = messages.last?.key else { return .show }
      // The first screen comes as history too, before anything else.
      guard let top = oldest, via == .history, wanted > 0 else {
        oldest = min(oldest ?? first, first)
        return .show
      }
      isMoving = true
      // Those that fill a hole have their place on the screen.
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

  /// What is held back until now; nothing more is wanted.
  mutating func finish() -> [Message] {
    defer { held = [] }
    wanted = 0
    return held
  }
}
