import LinkCore
import LinkWire

/// Where the reader is in the past, and what is fetched for them.
struct History: Sendable, Hashable {
  /// The oldest message shown; older ones come only when they are asked for.
  var oldest: Mark?
  /// Messages shown so far; where a server counts pages, this finds the page.
  var shown = 0
  /// By how many messages a count was found to be too high: the server has fewer than are kept.
  var excess = 0
  /// Whether anything older may exist, on disk or on the server.
  var hasMore = true
  /// The reader asked, and waits.
  var isWanted = false
  /// What was fetched is older than the screen: it is read back from the store, in order.
  var readsWhenStored = false
  /// Whether the server has nothing older, once it was asked. Only after the store was read once
  /// more is that the end: what came meanwhile may lie above the top of the screen.
  var isBeginning: Bool?
  /// Kept messages are being read.
  var isReading = false
  var fetch: Fetch?

  /// A message's place, and its position where the server gives one.
  struct Mark: Sendable, Hashable {
    var key: TimelineKey
    var position: Position?
  }

  struct Fetch: Sendable, Hashable {
    var id = FetchID(0)
    var query = PageQuery.page(number: 1, limit: 1)
    /// Pages asked for so far.
    var pages = 0
    var until = Instant.zero
    /// What is wanted is older than this: the oldest shown message, or the upper edge of a gap.
    var below: TimelineKey
    /// How many messages were counted down to `below` when it began.
    var counted = 0
    /// What its pages are tied to.
    var tie = Tie.loose
    /// The oldest place that its pages reach behind `below`.
    var reached: TimelineKey?
    /// Whether its pages hold what lies beyond the gap, behind `below`.
    var meetsBeyond = false
    /// The lowest position of its last page.
    var lowest: Position?
    var repetition = Repetition()
    /// Which credentials it went out with.
    var credentials: UInt64 = 0
  }

  /// The anchor of the pages of a server without positions. Their numbers count from a newest
  /// message that moves, so a number alone does not say where a page lies.
  enum Tie: Sendable, Hashable {
    /// To nothing: the page was found by counting.
    case loose
    /// To the newest message: they lead down from it without a break.
    case newest
    /// To what is shown: what they bring follows it without a break.
    case shown
  }

  var deadline: Instant? { fetch?.until }

  /// Whether a newly stored message is shown at once: not when it lies above the top of the screen.
  func shows(_ key: TimelineKey) -> Bool {
    guard let oldest, hasMore else { return true }
    return key >= oldest.key
  }

  mutating func noteShown(_ messages: [Message]) {
    shown += messages.count
    guard let first = messages.first else { return }
    guard let known = oldest, known.key <= first.key else {
      oldest = Mark(key: first.key, position: first.position)
      return
    }
  }
}

extension History: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      (oldest == nil) == (shown == 0), "history: what is shown has an oldest message")
    check.require(excess >= 0, "history: a count is too high or right")
  }
}
