import LinkCore
import LinkStorage
import LinkWire

/// Knows how far the timeline is complete, and what is done to complete it.
struct Recovery: Sendable, Hashable {
  /// How far it is complete; moves only with what goes to the store in the same change.
  var cursor = Cursor()
  /// Whether the store holds a cursor.
  var isCursorKept = false
  /// Whether the server gives positions; nil before it said anything.
  var hasPositions: Bool?
  /// What is done now to complete the timeline.
  private(set) var state = State.incomplete
  /// Something happened that the present run may have missed: another run follows it.
  var again = false
  /// Offsets beyond the cursor that came since the socket opened, which the next one may bring
  /// with other messages.
  var ahead: Set<UInt64> = []
  /// Messages without a position that came while something may have been missing: that they are
  /// kept says nothing about what came before them.
  var unplaced: Set<MessageID> = []
  /// Failed runs in a row.
  private(set) var failures = 0
  /// What is known of the present try to connect.
  var connecting = Connecting()

  /// What is done to complete the timeline.
  enum State: Sendable, Hashable {
    /// Nothing. Messages may be missing; the next connection or poll tells.
    case incomplete
    /// Nothing is missing up to the end of the last run or backlog.
    case complete
    /// Pages are fetched.
    case fetching(Run)
    /// The last run failed; the next one begins then.
    case waiting(until: Instant)
    /// The socket brings the messages that were missed.
    case receiving(Backlog)
  }

  /// The messages that were missed, which the server sends before newer ones.
  struct Backlog: Sendable, Hashable {
    /// The newest position when the socket opened.
    let end: Position
    /// It is fetched if nothing more of it comes until then.
    var until: Instant
  }

  /// How the messages that were missed come with the present try to connect.
  struct Connecting: Sendable, Hashable {
    /// The app was in background: a page comes before the next socket.
    var fetchesFirst = false
    /// The cursor when the last socket was asked for.
    private(set) var opening: Position?
    /// The last try before which nothing was fetched, since the socket would bring it.
    var unprepared: AttemptID?

    /// Notes that a socket is asked for.
    mutating func open(_ attempt: AttemptID, at cursor: Position?) {
      fetchesFirst = false
      opening = cursor
      if unprepared != nil { unprepared = attempt }
    }
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

  /// The run under way.
  var run: Run? { if case .fetching(let run) = state { run } else { nil } }

  /// The backlog that the socket brings.
  var backlog: Backlog? { if case .receiving(let backlog) = state { backlog } else { nil } }

  /// When a failed run is tried again.
  var retryAt: Instant? { if case .waiting(let until) = state { until } else { nil } }

  var deadline: Instant? {
    switch state {
    case .incomplete, .complete: nil
    case .fetching(let run): run.until
    case .waiting(let until): until
    case .receiving(let backlog): backlog.until
    }
  }

  /// Whether nothing is known to be missing but what a run under way, or one to come, brings.
  var isSettled: Bool {
    switch state {
    case .incomplete, .complete, .receiving: !again
    case .fetching, .waiting: false
    }
  }

  /// Whether all that is known of is there, or on its way to the store.
  var isWhole: Bool { state == .complete && !again && ahead.isEmpty }

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

  /// Whether a log ends before the cursor: it was put back to an earlier state.
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
    guard let opening = connecting.opening, opening.epoch == head.epoch, cursor.epoch == head.epoch
    else {
      return false
    }
    return opening.offset <= head.offset && head.offset < cursor.offset
  }

  /// Fetches the first or the next page of a run.
  mutating func fetch(_ run: Run) { state = .fetching(run) }

  /// Adds a reason for the run under way.
  mutating func join(_ purpose: Purpose) {
    guard case .fetching(var run) = state else { return }
    run.purposes.append(purpose)
    state = .fetching(run)
  }

  /// Ends the run under way.
  mutating func endRun(isComplete: Bool = false) { state = isComplete ? .complete : .incomplete }

  /// Counts a failed run, and returns how often runs failed in a row.
  mutating func noteFailure() -> Int {
    failures += 1
    return failures
  }

  /// Notes that a run brought all that was asked for.
  mutating func noteSuccess() { failures = 0 }

  /// Tries again at a time.
  mutating func wait(until instant: Instant) { state = .waiting(until: instant) }

  /// Ends the wait for another try, or for the backlog of a socket.
  mutating func endWait(forBacklog: Bool = true) {
    switch state {
    case .waiting: state = .incomplete
    case .receiving: if forBacklog { state = .incomplete }
    case .incomplete, .complete, .fetching: return
    }
  }

  /// Forgets the run under way, and what was to follow it: the head that the next socket states
  /// tells what is missing.
  mutating func abandon() {
    again = false
    switch state {
    case .fetching, .complete: state = .incomplete
    case .incomplete, .waiting, .receiving: return
    }
  }

  /// Forgets all that is under way.
  mutating func stop() {
    state = .incomplete
    again = false
  }

  /// Notes that messages may be missing, unless something is done about it.
  mutating func noteIncomplete() { if state == .complete { state = .incomplete } }

  /// Notes that nothing is missing.
  mutating func noteComplete() { state = .complete }

  /// Moves the cursor along what was fetched; what came out of turn up to there lies ahead no more.
  mutating func move(to position: Position) {
    let isSameLog = position.epoch == cursor.position?.epoch
    ahead = isSameLog ? ahead.filter { $0 > position.offset } : []
    cursor.position = position
  }

  /// Forgets how far the log is known, which was replaced under the same epoch. The timeline counts
  /// as last whole long ago, so the newest page is fetched.
  ///
  /// - Parameter newest: The newest stamp of the messages that were whole before.
  mutating func beginNewLog(under epoch: String, wholeUntil newest: Timestamp?) {
    let time = [cursor.time, newest].compactMap(\.self).max()
    cursor = Cursor(
      position: Position(epoch: epoch, offset: 0), time: time, wholeAt: Timestamp(nanoseconds: 0))
    ahead = []
    switch state {
    case .complete, .receiving: state = .incomplete
    case .incomplete, .fetching, .waiting: break
    }
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

  /// Expects the backlog of a socket, up to `end`.
  mutating func awaitBacklog(to end: Position, until: Instant) {
    state = cursor.position == end ? .complete : .receiving(Backlog(end: end, until: until))
  }

  /// Gives the rest of a backlog more time.
  mutating func extendBacklog(until instant: Instant) {
    guard case .receiving(var backlog) = state else { return }
    backlog.until = instant
    state = .receiving(backlog)
  }

  /// How a message of the socket came to be shown.
  func via(of message: Message) -> Via {
    guard let backlog, let position = message.position else { return .live }
    return position.epoch == backlog.end.epoch && position.offset <= backlog.end.offset
      ? .catchUp : .live
  }

  /// Ends a backlog with the first newer message: what is missing of it does not come any more.
  mutating func passBacklog(with message: Message) {
    guard backlog != nil, message.position != nil, via(of: message) == .live else { return }
    state = .incomplete
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
    return advancing && (advance() || awaitsNoMoreThanBacklog)
  }

  /// Whether all that lies before what came out of turn is on its way, or is newer than that.
  private var awaitsNoMoreThanBacklog: Bool {
    guard let backlog else { return false }
    return ahead.allSatisfy { $0 > backlog.end.offset }
  }

  /// Moves the cursor over all offsets that follow it without a hole; true when none is left over.
  mutating func advance() -> Bool {
    guard var position = cursor.position else { return ahead.isEmpty }
    while ahead.remove(position.following) != nil { position.offset = position.following }
    cursor.position = position
    ahead = ahead.filter { $0 > position.offset }
    if let backlog, backlog.end.offset <= position.offset { state = .complete }
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
      ahead.count <= StreamSettings.offsetsAhead && unplaced.count <= Self.mostUnplaced,
      "recovery: what it remembers beyond the cursor is bounded")
    check.require(
      ahead.isEmpty || cursor.position != nil, "recovery: offsets lie ahead of a position")
    if let backlog {
      check.require(
        backlog.end.epoch == cursor.position?.epoch
          && backlog.end.offset > cursor.position?.offset ?? .max,
        "recovery: a backlog ends beyond the cursor")
    }
  }
}
