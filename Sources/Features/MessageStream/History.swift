import LinkCore
import LinkStorage
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
  /// The app leaves updates unread: what comes is left to a later catch-up, so memory is bounded,
  /// and the link lives on.
  var isReaderBehind = false
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

// How pages that are found by counting are tied to what is shown.
//
// A page is evidence only for what lies between two neighbours in it, and, since new messages come
// on top, for what lies between the pages of one walk down. So what it brings is known to follow
// what is shown only after the walk has met the message that it began at.
extension History.Fetch {
  /// Notes what a page reaches behind the message that the fetch began at.
  ///
  /// - Parameter bringsUnseen: whether it holds a message that is not kept.
  /// - Parameter beyond: the last message before the gap that is to be filled.
  /// - Returns: How far down the server's list that message was found, from 1, if it was.
  mutating func take(_ page: Page, bringsUnseen: Bool, beyond: TimelineKey?) -> Int? {
    lowest = page.messages.compactMap(\.position).min { $0.offset < $1.offset }
    if case .page(number: 1, _) = query, tie == .loose { tie = .newest }
    let start = tie == .shown ? nil : page.messages.firstIndex { $0.id == below.id }
    if start != nil || isBehind(page, bringsUnseen: bringsUnseen) { tie = .shown }
    guard tie == .shown else { return nil }
    let behind = page.messages[(start.map { $0 + 1 } ?? 0)...]
    reached = (behind.map(\.key) + [reached].compactMap(\.self)).min()
    if let beyond {
      // The message itself may have been deleted; a whole page of older ones was not.
      let isBeyond =
        !bringsUnseen && !behind.isEmpty && page.messages.allSatisfy { $0.key <= beyond }
      meetsBeyond = meetsBeyond || isBeyond || behind.contains { $0.id == beyond.id }
    }
    guard let start, case .page(let number, let limit) = query else { return nil }
    return (number - 1) * limit + start + 1
  }

  /// Whether a page on the way down from the newest lies behind a message that was deleted: all
  /// that is newer is kept.
  private func isBehind(_ page: Page, bringsUnseen: Bool) -> Bool {
    tie == .newest && bringsUnseen && page.messages.allSatisfy { $0.key < below }
  }

  /// Whether its pages lie too far down, or no page on this way is known to follow what is shown:
  /// then the way leads down from the newest.
  func isAstray(after page: Page) -> Bool {
    guard tie == .loose, !page.isUnreadable else { return false }
    return !page.hasNext || pages >= 10 || page.messages.allSatisfy { $0.key < below }
  }

  func next(_ settings: StreamSettings) -> PageQuery? {
    guard pages < settings.catchUpPages else { return nil }
    switch query {
    case .page(let number, let limit): return .page(number: number + 1, limit: limit)
    case .before(_, let limit): return lowest.map { .before($0, limit: limit) }
    case .since, .after: return nil
    }
  }
}

/// The gaps of a timeline, oldest first; no two end at the same message.
struct GapList: Sendable, Hashable {
  /// The gaps.
  private(set) var all: [Gap]

  /// Creates a list of these gaps.
  init(_ gaps: [Gap] = []) { all = gaps }

  /// The gap that ends before a message.
  subscript(before key: TimelineKey) -> Gap? { all.first { $0.before == key } }

  /// Adds a gap.
  mutating func open(_ gap: Gap) {
    all.append(gap)
    all.sort { $0.before < $1.before }
  }

  /// Removes a gap; returns false if it is not in the list.
  mutating func close(_ gap: Gap) -> Bool {
    guard let index = all.firstIndex(of: gap) else { return false }
    all.remove(at: index)
    return true
  }

  /// Moves the end of a gap to an older message.
  mutating func shrink(_ gap: Gap, to edge: TimelineKey) {
    guard close(gap) else { return }
    open(Gap(after: gap.after, before: edge))
  }
}

/// The numbers of the requests for pages, and of the credentials that they are sent with.
struct PageRequests: Sendable, Hashable {
  /// The last number.
  private(set) var last: UInt64 = 0
  /// How often there were new credentials.
  private(set) var credentials: UInt64 = 0

  /// Returns the name of the next request.
  mutating func next() -> FetchID {
    last += 1
    return FetchID(last)
  }

  /// Notes new credentials.
  mutating func renewCredentials() { credentials += 1 }
}
