import HoldfastCore
import HoldfastMessageData

/// The oldest point that the reader has reached, and the fetch of older messages.
struct History: Sendable, Hashable {
  /// The oldest message shown. Older messages appear only on request.
  var oldest: Mark?
  /// The number of messages shown so far. It is used to find the right page of a server that counts
  /// pages.
  var shown = 0
  /// The number by which a count was too high because the server has fewer messages than the store.
  var excess = 0
  /// Whether older messages may exist, in the store or on the server.
  var hasMore = true
  /// Whether the reader has requested older messages and is waiting for them.
  var isWanted = false
  /// Whether the fetched messages are older than those on the screen. If so, they are read back
  /// from the store, in order.
  var readsWhenStored = false
  /// Whether the server has no older messages; `nil` before the first request.
  ///
  /// The end of the history is reported only after the store was read once more, since messages
  /// received in the meantime may belong above the top of the screen.
  var isBeginning: Bool?
  /// Whether stored messages are being read.
  var isReading = false
  /// Whether the app leaves updates unread. If so, new messages are left to a later catch-up, which
  /// limits memory while the link stays connected.
  var isReaderBehind = false
  /// The upper ends of gaps whose messages the server has removed, as far as pages have shown it since
  /// the start.
  var removed: Set<TimelineKey> = []
  var fetch: Fetch?

  /// A message's place in the timeline, and its position if the server provides one.
  struct Mark: Sendable, Hashable {
    var key: TimelineKey
    var position: ShopPosition?
  }

  struct Fetch: Sendable, Hashable {
    var id = FetchID(0)
    var query = PageQuery.page(number: 1, limit: 1)
    /// The number of pages requested so far.
    var pages = 0
    var until = Instant.zero
    /// The upper limit of the requested messages: either the oldest shown message or the upper edge
    /// of a gap.
    var below: TimelineKey
    /// The number of messages counted down to `below` when the fetch began.
    var counted = 0
    /// The anchor of the fetch's pages.
    var tie = Tie.loose
    /// Whether the message from which the fetch started was on one of its pages.
    var hasFoundStart = false
    /// The oldest message beyond `below` that the pages contain.
    var reached: TimelineKey?
    /// Whether the pages reach the messages beyond the gap.
    var meetsBeyond = false
    /// The lowest position on the most recent page.
    var lowest: ShopPosition?
    var repetition = Repetition()
    /// The generation of the credentials with which the request was sent.
    var credentials: UInt64 = 0
  }

  /// The anchor of the pages of a server without positions.
  ///
  /// Page numbers count from the newest message, which changes. A page number alone therefore does
  /// not locate a page.
  enum Tie: Sendable, Hashable {
    /// There is no anchor. The page was found by counting.
    case loose
    /// The anchor is the newest message. The pages continue down from it without a break.
    case newest
    /// The anchor is the shown messages. The messages of the pages follow them without a break.
    case shown
  }

  var deadline: Instant? { fetch?.until }

  /// Returns whether a newly stored message is shown at once. A message above the top of the screen
  /// is not.
  func shows(_ key: TimelineKey) -> Bool {
    guard let oldest, hasMore else { return true }
    return key >= oldest.key
  }

  mutating func noteShown(_ messages: [ShopMessage]) {
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
    check.require(excess >= 0, "history: a count is never too low")
  }
}

// The anchoring of pages that were found by counting.
//
// A page is evidence only for the range between two neighboring messages on it. Since new messages
// are added on top, the ranges between consecutive pages of one downward walk are also covered. The
// messages of a page are therefore known to follow the shown messages only after the walk has
// reached the message from which the fetch started.
extension History.Fetch {
  /// Records which messages a page contains beyond the message from which the fetch started.
  ///
  /// - Parameter bringsUnseen: Whether the page contains a message that is not stored.
  /// - Parameter beyond: The last message before the gap to be filled.
  /// - Returns: The rank of the starting message in the server's list, from 1; `nil` if it was not
  ///   found.
  mutating func take(_ page: Page, bringsUnseen: Bool, beyond: TimelineKey?) -> Int? {
    lowest = page.messages.compactMap(\.position).min { $0.offset < $1.offset }
    if case .page(number: 1, _) = query, tie == .loose { tie = .newest }
    let start = tie == .shown ? nil : page.messages.firstIndex { $0.id == below.id }
    hasFoundStart = hasFoundStart || start != nil
    if start != nil || isBehind(page, bringsUnseen: bringsUnseen) { tie = .shown }
    guard tie == .shown else { return nil }
    let behind = page.messages[(start.map { $0 + 1 } ?? 0)...]
    reached = (behind.map(\.key) + [reached].compactMap(\.self)).min()
    if let beyond {
      // The last message before the gap may have been deleted, but not a whole page of older
      // messages.
      let isBeyond =
        !bringsUnseen && !behind.isEmpty && page.messages.allSatisfy { $0.key <= beyond }
      meetsBeyond = meetsBeyond || isBeyond || behind.contains { $0.id == beyond.id }
    }
    guard let start, case .page(let number, let limit) = query else { return nil }
    return (number - 1) * limit + start + 1
  }

  /// Returns whether a page lies beyond a deleted starting message, in a walk from the newest
  /// message. All newer messages are then stored.
  private func isBehind(_ page: Page, bringsUnseen: Bool) -> Bool {
    tie == .newest && bringsUnseen && page.messages.allSatisfy { $0.key < below }
  }

  /// Returns whether the pages lie too far down, or whether no page is known to follow the shown
  /// messages.
  ///
  /// If so, the fetch must walk down from the newest message.
  func isMisplaced(after page: Page) -> Bool {
    guard tie == .loose, !page.isUnreadable else { return false }
    return !page.hasNext || pages >= 10 || page.messages.allSatisfy { $0.key < below }
  }

  func next(_ settings: StreamSettings) -> PageQuery? {
    guard pages < settings.catchUpPages else { return nil }
    switch query {
    case .page(let number, let limit):
      // A page by position follows the last one even if messages were posted or deleted meanwhile.
      if hasFoundStart, let lowest { return .before(lowest, limit: limit) }
      return .page(number: number + 1, limit: limit)
    case .before(_, let limit): return lowest.map { .before($0, limit: limit) }
    case .since, .after, .changes, .newest, .beforeID, .afterID: return nil
    }
  }
}

/// The gaps of a timeline, oldest first. No two gaps end at the same message.
struct GapList: Sendable, Hashable {
  /// The gaps.
  private(set) var all: [ShopGap]

  /// Creates a list of gaps.
  init(_ gaps: [ShopGap] = []) { all = gaps }

  /// Returns the gap that ends before a message.
  subscript(before key: TimelineKey) -> ShopGap? { all.first { $0.before == key } }

  /// Adds a gap.
  mutating func open(_ gap: ShopGap) {
    all.append(gap)
    all.sort { $0.before < $1.before }
  }

  /// Removes a gap. Returns false if the gap is not in the list.
  mutating func close(_ gap: ShopGap) -> Bool {
    guard let index = all.firstIndex(of: gap) else { return false }
    all.remove(at: index)
    return true
  }

  /// Moves the upper end of a gap to an older message.
  mutating func shrink(_ gap: ShopGap, to edge: TimelineKey) {
    guard close(gap) else { return }
    open(ShopGap(after: gap.after, before: edge))
  }
}

/// The IDs of page requests, and the generation of the credentials with which they are sent.
struct PageRequests: Sendable, Hashable {
  /// The most recent ID.
  private(set) var last: UInt64 = 0
  /// The number of times that the credentials were renewed.
  private(set) var credentials: UInt64 = 0

  /// Returns the ID of the next request.
  mutating func next() -> FetchID {
    last += 1
    return FetchID(last)
  }

  /// Records new credentials.
  mutating func renewCredentials() { credentials += 1 }
}
