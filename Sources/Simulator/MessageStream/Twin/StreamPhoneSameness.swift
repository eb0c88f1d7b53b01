import LinkCore
import LinkWire
import MessageStream

/// Pages that say the same again and again, told a second time.
struct StreamPhoneSameness {
  private var before: [MessageID] = []
  private var same = 0
  private var blank = 0
  private var newest: TimelineKey?

  mutating func ask(_ newest: TimelineKey?) { self.newest = newest }

  /// Whether a page is one too many: an empty one, the tenth that cannot be read, or one that
  /// brings nothing beyond the page before it: the second of the newest pages, and the tenth of
  /// those that were found by their number.
  mutating func isOver(_ page: Page) -> Bool {
    if page.messages.isEmpty, page.rejected > 0 {
      blank += 1
      return blank > 9
    }
    blank = 0
    let ids = page.messages.map(\.id)
    same = ids.allSatisfy(before.contains) ? same + 1 : 0
    before = ids
    if ids.isEmpty { return true }
    let top = page.messages.map(\.key).max()
    let isNewest = newest.map { known in top.map { known <= $0 } ?? true } ?? true
    return same >= (isNewest ? 2 : 10)
  }
}

/// Where a reader is in the past, told a second time.
struct StreamPhonePast {
  /// The top of the screen.
  var top: Message?
  var shown = 0
  var excess = 0
  var hasMore = true
  var isWanted = false
  var isReading = false
  /// What is fetched lies above the screen, and is read back.
  var readsBack = false
  /// Whether the server said that nothing is older.
  var isBeginning: Bool?
  var search: Search?

  /// Pages on the way down to what the reader wants.
  struct Search {
    var id = FetchID(0)
    var query = PageQuery.page(number: 1, limit: 1)
    var pages = 0
    var until = Instant.zero
    var below: TimelineKey
    var counted = 0
    var tie = Tie.none
    /// The oldest place that is known to follow without a break.
    var reached: TimelineKey?
    /// Whether the other edge of the gap was seen.
    var isAcross = false
    var lowest: Position?
    var sameness = StreamPhoneSameness()
    var tokens: UInt64 = 0
  }

  /// What the pages of a search follow on without a break.
  enum Tie {
    case none, newest, screen
  }
}
