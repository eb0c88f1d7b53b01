import LinkCore
import LinkStorage
import LinkWire

/// Knows how far the timeline is whole, and what is being fetched to make it so.
struct Recovery: Sendable, Hashable {
  /// How far it is whole; moves only with what goes to the store in the same change.
  var cursor = Cursor()
  /// Whether the store holds a cursor.
  var isCursorKept = false
  /// The fetch under way.
  var run: Run?
  /// Something happened that the present run may have missed: run again when it is over.
  var again = false
  /// Whether the last run went through to its end, in this session.
  var isCurrent = false
  /// Offsets beyond the cursor that came since the socket opened, which the next one may bring
  /// with other messages.
  var ahead: Set<UInt64> = []
  /// Messages without a position that came while something may have been missing: that they are
  /// kept says nothing about what came before them.
  var unplaced: Set<MessageID> = []
  /// When a failed catch-up is tried again, and how often it failed.
  var retryAt: Instant?
  var failures = 0
  /// Whether the server gives positions; `nil` before it said anything.
  var hasPositions: Bool?
  /// What the socket brings first, until it is there.
  var arrears: Arrears?
  /// The cursor when the last socket was asked for.
  var opening: Position?
  /// The last try of those before which nothing was fetched, since the socket would bring it.
  var unprepared: AttemptID?
  /// The app was in background: a page comes before the next socket.
  var fetchesFirst = false

  /// All that was missed, as the server sends it ahead of what is new.
  struct Arrears: Sendable, Hashable {
    /// The newest position when the socket opened.
    let end: Position
    /// Nothing more came of it until then: it is fetched.
    var until: Instant
  }

  /// Why something is fetched; several reasons may share one run.
  enum Purpose: Sendable, Hashable {
    /// Before a connect.
    case prepare(AttemptID)
    /// To close the hole after a connect, or one found later.
    case live
    /// The standby's poll.
    case poll(UInt64)
    /// The user pulled, or the outbox wants to know.
    case refresh
  }

  struct Run: Sendable, Hashable {
    var fetch: FetchID
    var query: PageQuery
    var kind: Kind
    var purposes: [Purpose]
    var until: Instant
    var pages = 1
    /// The head that the first page stated: all up to it is covered when the run is over.
    var firstHead: Position?
    /// The newest creation seen.
    var newest: Timestamp?
    /// Where its last page ends, in the server's order.
    var oldest: TimelineKey?
    /// What lies below pages that hold earlier stamps than the cursor while they are walked back:
    /// should the walk be cut off the reader sees it: the next one ends at what this one kept.
    var hole: Gap?
    /// The oldest message that was known when it began.
    var bottom: TimelineKey?
    /// The last of what `since` brought that may lie below all that is kept, in the server's order:
    /// what is stamped late between the two comes only with the pages that lead down there.
    var goal: MessageID?
    /// Whether its pages have come to what is kept, on the way to `goal`.
    var meetsKept = false
    /// The gap below all that is kept, until pages have come to `goal`.
    var bottomGap: Gap?
    var repetition = Repetition()
    /// Outbox entries whose fate it tells: those that were unsure when it began.
    let unsure: Set<UUID128>
    /// When the oldest of these was sent.
    let own: Timestamp?
    /// Which credentials its last page was asked with.
    var credentials: UInt64
  }

  enum Kind: Sendable, Hashable {
    /// Nothing is kept yet: the newest page.
    case initial
    /// A long absence: the newest page, and a gap if that does not reach what is kept.
    case recent
    /// Everything after a position.
    case position
    /// Everything since a time less an overlap.
    case since(Timestamp)
    /// After `since`: the newest pages until they meet what is kept, so many at most. What a clock
    /// that went back stamped is not found by time.
    case newest(pages: Int)
  }

  var deadline: Instant? {
    run?.until ?? retryAt ?? arrears?.until
  }

  /// Nothing is known to be missing but what a run under way, or one to come, brings.
  var isSettled: Bool { run == nil && retryAt == nil && !again }

  /// How far a newest page reaches into what is whole.
  enum Reach: Sendable, Hashable {
    /// Not at all: what lies between is not known.
    case short
    /// Into it, but not as far as late stamps may lie.
    case touching
    case whole
  }

  func reach(of page: Page, overlap: Duration) -> Reach {
    guard page.hasNext else { return .whole }
    guard let oldest = page.messages.map(\.createdAt).min() else { return .short }
    let offsets = page.messages.compactMap { $0.position?.offset }
    if let position = cursor.position, let first = offsets.min() {
      return page.head?.epoch == position.epoch && first <= position.following ? .whole : .short
    }
    guard let time = cursor.time, oldest <= time else { return .short }
    return oldest <= time.advanced(by: .zero - overlap) ? .whole : .touching
  }

  /// Whether a log ends before the cursor, so that it was put back.
  func isBeyond(_ head: Position?) -> Bool {
    guard let head, let cursor = cursor.position else { return false }
    return head.epoch == cursor.epoch && head.offset < cursor.offset
  }

  /// Whether a kept message lies where nothing is missing before it.
  func covers(_ message: Message) -> Bool {
    if let position = cursor.position, let place = message.position {
      return place.epoch == position.epoch && place.offset <= position.offset
    }
    return cursor.time.map { message.createdAt <= $0 } ?? false
  }

  /// What to fetch, given what is kept and how long it is since it was whole.
  ///
  /// - Parameter own: when the oldest message of the outbox was sent that may have got through:
  ///   without positions only a fetch of everything since then tells.
  /// - Parameter gap: the newest one; what lies in it comes with the reader's pages.
  func plan(
    _ settings: StreamSettings, at wall: Timestamp, own: Timestamp?, gap: Gap?
  ) -> (Kind, PageQuery) {
    let isLong = isLong(settings, at: wall) && (own == nil || cursor.position != nil)
    if isLong, cursor.position != nil || cursor.time != nil {
      return (.recent, .page(number: 1, limit: settings.catchUpPage))
    }
    if let position = cursor.position {
      return (.position, .after(position, limit: settings.catchUpPage))
    }
    guard let time = cursor.time else {
      return (.initial, .page(number: 1, limit: settings.historyPage))
    }
    var since = time.advanced(by: .zero - settings.overlap)
    if let edge = gap?.before.createdAt { since = max(since, edge.advanced(by: .nanoseconds(-1))) }
    return (.since(since), .since(since, page: 1, limit: settings.catchUpPage))
  }

  /// Whether the last time when all was there is so long ago that only the newest is wanted.
  func isLong(_ settings: StreamSettings, at wall: Timestamp) -> Bool {
    (cursor.wholeAt?.duration(to: wall) ?? .zero) > settings.longAbsence
  }

  /// Whether nothing is missing up to the head of a socket that has just opened.
  ///
  /// A cursor beyond the head is no sign of a log that was put back if it moved there since the
  /// socket was asked for, with the answer to a post or a page: the socket brings that, too.
  func isWhole(at head: Position) -> Bool {
    guard isSettled, let cursor = cursor.position else { return false }
    guard cursor != head else { return true }
    guard let opening, opening.epoch == head.epoch, cursor.epoch == head.epoch else {
      return false
    }
    return opening.offset <= head.offset && head.offset < cursor.offset
  }

  /// Forgets the run under way, and what was to follow it: the head that the next socket states
  /// tells what is missing.
  mutating func abandon() {
    run = nil
    again = false
    isCurrent = false
  }

  /// Moves the cursor along what was fetched; what came out of turn up to there lies ahead no more.
  mutating func move(to position: Position) {
    let isSameLog = position.epoch == cursor.position?.epoch
    ahead = isSameLog ? ahead.filter { $0 > position.offset } : []
    cursor.position = position
  }

  /// Takes back what the cursor says of a position and of so many before it.
  ///
  /// If that leads no lower than the cursor, or another message stands at `lowest` too, it is not
  /// known how far the log was put back. Then the cursor moves to the beginning, and the timeline
  /// counts as last whole long ago: the newest page is fetched, above a gap.
  ///
  /// - Parameter lowest: The lowest offset of those known without a hole down from the position.
  mutating func goBack(before position: Position, by count: Int, lowest: UInt64) {
    var offset = position.offset - min(position.offset, UInt64(count) + 1)
    offset = max(offset, lowest - min(lowest, 1))
    let present = cursor.position.flatMap { $0.epoch == position.epoch ? $0.offset : nil }
    if lowest > 1 && position.offset <= lowest || offset >= present ?? .max {
      offset = 0
      cursor.wholeAt = Timestamp(nanoseconds: 0)
    }
    cursor.position = Position(epoch: position.epoch, offset: offset)
    ahead = []
    arrears = nil
    isCurrent = false
  }

  /// Returns the position up to which nothing is missing, with what came over the socket.
  func reached(from position: Position) -> Position {
    guard position.epoch == cursor.position?.epoch else { return position }
    var reached = position
    while ahead.contains(reached.following), reached.offset < .max {
      reached.offset = reached.following
    }
    return reached
  }

  /// Whether all that is missing up to a head comes over a socket that begins behind `start`.
  func goesOn(from start: Position, to head: Position) -> Bool {
    guard let cursor = cursor.position, cursor.epoch == start.epoch, cursor.epoch == head.epoch
    else { return false }
    return start.offset <= cursor.offset && cursor.offset <= head.offset
  }

  /// The socket brings everything up to `end`, and then what is new.
  mutating func awaitArrears(to end: Position, until: Instant) {
    isCurrent = cursor.position == end
    arrears = isCurrent ? nil : Arrears(end: end, until: until)
  }

  /// How a message of the socket came to be shown.
  func via(of message: Message) -> Via {
    guard let arrears, let position = message.position else { return .live }
    return position.epoch == arrears.end.epoch && position.offset <= arrears.end.offset
      ? .catchUp : .live
  }

  /// Arrears come before everything newer: what is missing of them when that comes does not come.
  mutating func passArrears(with message: Message) {
    if message.position != nil, via(of: message) == .live { arrears = nil }
  }

  /// Messages in `unplaced`; beyond them the stamp of one decides alone.
  static let mostUnplaced = 10_000

  /// Remembers a message of which it is not known whether something is missing before it.
  mutating func noteUnplaced(_ message: Message) {
    guard message.position == nil, unplaced.count < Self.mostUnplaced else { return }
    unplaced.insert(message.id)
  }

  /// Takes the position of a message that came alone. True when nothing is missing before it.
  ///
  /// - Parameter isConnected: Whether a socket stands; without one a hole is fetched with all that
  ///   lies beyond it.
  mutating func take(_ position: Position, advancing: Bool, isConnected: Bool) -> Bool {
    guard let kept = cursor.position, kept.epoch == position.epoch else { return false }
    guard position.offset > kept.offset else { return true }
    guard isConnected || advancing && position.offset == kept.following else { return false }
    if ahead.count < StreamSettings.offsetsAhead { ahead.insert(position.offset) }
    return advancing && (advance() || awaitsNoMoreThanArrears)
  }

  /// Whether all that lies before what came out of turn is on its way, or is newer than that.
  private var awaitsNoMoreThanArrears: Bool {
    guard let arrears else { return false }
    return ahead.allSatisfy { $0 > arrears.end.offset }
  }

  /// Moves the cursor over all offsets that follow it without a hole; true when none is left over.
  mutating func advance() -> Bool {
    guard var position = cursor.position else { return ahead.isEmpty }
    while ahead.remove(position.following) != nil { position.offset = position.following }
    cursor.position = position
    ahead = ahead.filter { $0 > position.offset }
    if let arrears, arrears.end.offset <= position.offset {
      self.arrears = nil
      isCurrent = true
    }
    return ahead.isEmpty
  }
}

extension Position {
  /// The offset after it; the last one is followed by itself.
  var following: UInt64 { offset == .max ? offset : offset + 1 }
}

extension Recovery: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      [run != nil, retryAt != nil, arrears != nil].count { $0 } <= 1,
      "recovery: it waits for one thing at a time")
    check.require(
      ahead.count <= StreamSettings.offsetsAhead && unplaced.count <= Self.mostUnplaced,
      "recovery: what it remembers beyond the cursor is bounded")
    check.require(
      ahead.isEmpty || cursor.position != nil, "recovery: offsets lie ahead of a position")
    if let arrears {
      check.require(
        arrears.end.epoch == cursor.position?.epoch
          && arrears.end.offset > cursor.position?.offset ?? .max,
        "recovery: arrears end beyond the cursor")
      check.require(!isCurrent, "recovery: nothing is current before its arrears are there")
    }
  }
}
