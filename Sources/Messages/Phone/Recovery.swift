import HoldfastCore
import HoldfastMessageData

/// The extent to which the timeline is complete, and the operations that complete it.
struct Recovery: Sendable, Hashable {
  /// The end of the complete part. The cursor moves only in the change that stores the messages
  /// that it covers.
  var cursor = ShopCursor()
  /// Whether the store has a cursor.
  var isCursorStored = false
  /// Whether the server provides positions; `nil` until its first response.
  var hasPositions: Bool?
  /// The current work on the timeline.
  private(set) var state = State.incomplete
  /// Whether the current run may have missed a change, so that another run must follow.
  var again = false
  /// The offsets beyond the cursor that were received since the socket opened. On the next socket,
  /// they may belong to other messages.
  var ahead: Set<UInt64> = []
  /// The messages without a position that arrived while others may have been missing. They do not
  /// prove that the messages before them are complete.
  var unplaced: Set<MessageID> = []
  /// The part that the server removed, until a message after it was received.
  var removed: RemovedPart?
  /// The number of consecutive failed runs.
  private(set) var failures = 0
  /// The state of the current attempt to connect.
  var connecting = Connecting()

  /// The work that completes the timeline.
  enum State: Sendable, Hashable {
    /// No fetch is in progress. Messages may be missing. The next connection or poll finds out.
    case incomplete
    /// No message is missing up to the end of the last run or backlog.
    case complete
    /// Pages are being fetched.
    case fetching(Run)
    /// The last run failed, and the next one begins at this instant.
    case waiting(until: Instant)
    /// The socket delivers the backlog.
    case receiving(Backlog)
  }

  /// The missed messages, which the server sends before newer messages.
  struct Backlog: Sendable, Hashable {
    /// The newest position when the socket opened.
    let end: ShopPosition
    /// Whether the messages come in the order of their newest edits, so that there are offsets
    /// without a frame.
    let isSparse: Bool
    /// The time-out. If no more messages of the backlog arrive before it, the remaining ones are
    /// fetched.
    var until: Instant
  }

  /// The source of the missed messages in the current attempt to connect.
  struct Connecting: Sendable, Hashable {
    /// Whether a page is fetched before the next socket opens, because the app was in the
    /// background.
    var fetchesFirst = false
    /// The cursor at the time when the last socket was requested.
    private(set) var opening: ShopPosition?
    /// The most recent attempt for which no page was fetched first, because its socket was expected
    /// to deliver the backlog.
    var unprepared: AttemptID?

    /// Records that a socket is requested.
    mutating func open(_ attempt: AttemptID, at cursor: ShopPosition?) {
      fetchesFirst = false
      opening = cursor
      if unprepared != nil { unprepared = attempt }
    }
  }

  /// A reason for a fetch. Several reasons may share one run.
  enum Purpose: Sendable, Hashable {
    /// The preparation of a connect.
    case prepare(AttemptID)
    /// Missing messages that were found after a connect or later.
    case live
    /// A poll in standby.
    case poll(UInt64)
    /// A refresh by the user, or a lookup for the outbox.
    case refresh
  }

  struct Run: Sendable, Hashable {
    var fetch: FetchID
    var query: PageQuery
    var kind: Kind
    var purposes: [Purpose]
    var until: Instant
    var pages = 1
    /// The head that the first page reported. A finished run covers all messages up to it.
    var firstHead: ShopPosition?
    /// The newest creation time of all received messages.
    var newest: Timestamp?
    /// The last message of the most recent page, in the server's order.
    var oldest: TimelineKey?
    /// The gap below the pages of a walk that contain timestamps before the cursor.
    ///
    /// If the walk is interrupted, the reader sees this gap. The next walk ends at the messages
    /// that this walk stored.
    var hole: ShopGap?
    /// The oldest message that was known when the run began.
    var bottom: TimelineKey?
    /// The last message, in the server's order, that `since` returned and that may lie below all
    /// stored messages. Messages with late timestamps between them are found only on the pages that
    /// lead down to it.
    var goal: MessageID?
    /// Whether the pages have reached stored messages on the way to `goal`.
    var reachesStored = false
    /// The gap below all stored messages, until the pages have reached `goal`.
    var bottomGap: ShopGap?
    /// The log that the pages belong to if it is not the one of the cursor.
    var newLog: NewLog?
    /// The position of the oldest event that the server keeps, if the query begins there because what
    /// follows the cursor was removed.
    var removedBefore: ShopPosition?
    var repetition = Repetition()
    /// The outbox entries whose outcome was unknown when the run began. The run determines their
    /// outcome.
    let unsure: Set<UUID128>
    /// The time when the oldest of these entries was sent.
    let own: Timestamp?
    /// The generation of the credentials of its last page request.
    var credentials: UInt64
  }

  enum Kind: Sendable, Hashable {
    /// The newest page, if no message is stored.
    case initial
    /// The newest page after a long absence, and a gap if the page does not reach stored messages.
    case recent
    /// All messages after a position.
    case position
    /// All messages since a time minus an overlap.
    case since(Timestamp)
    /// The newest pages after a `since` run, up to this number, until they reach stored messages.
    /// They contain messages that were stamped by a clock that went back, which are not found by
    /// time.
    case newest(pages: Int)
  }

  /// The run in progress.
  var run: Run? { if case .fetching(let run) = state { run } else { nil } }

  /// The backlog that the socket delivers.
  var backlog: Backlog? { if case .receiving(let backlog) = state { backlog } else { nil } }

  /// The instant at which a failed run is retried.
  var retryAt: Instant? { if case .waiting(let until) = state { until } else { nil } }

  var deadline: Instant? {
    switch state {
    case .incomplete, .complete: nil
    case .fetching(let run): run.until
    case .waiting(let until): until
    case .receiving(let backlog): backlog.until
    }
  }

  /// Whether no fetch is in progress, scheduled or required.
  var isIdle: Bool {
    switch state {
    case .incomplete, .complete, .receiving: !again
    case .fetching, .waiting: false
    }
  }

  /// Whether all known messages have arrived, including those that are not stored yet.
  var isWhole: Bool { state == .complete && !again && ahead.isEmpty }

  /// The extent to which a newest page overlaps the complete part.
  enum Reach: Sendable, Hashable {
    /// There is no overlap, so the messages in between are unknown.
    case short
    /// There is an overlap, but it does not reach as far back as late timestamps can lie.
    case touching
    case whole
  }

  func reach(of page: Page, overlap: Duration) -> Reach {
    let end = page.changesThrough == nil ? cursor.base ?? cursor.position : cursor.position
    guard page.hasNext || end.map(page.hasRemoved) ?? false else { return .whole }
    guard let oldest = page.messages.map(\.createdAt).min() else { return .short }
    let offsets = page.messages.compactMap { $0.position?.offset }
    if let position = end, let first = offsets.min() {
      return page.head?.epoch == position.epoch && first <= position.following ? .whole : .short
    }
    guard let time = cursor.time, oldest <= time else { return .short }
    return oldest <= time.advanced(by: .zero - overlap) ? .whole : .touching
  }

  /// Returns whether a log ends before the cursor, which means that it was restored to an earlier
  /// state.
  func isBeyond(_ head: ShopPosition?) -> Bool {
    guard let head, let cursor = cursor.position else { return false }
    return head.epoch == cursor.epoch && head.offset < cursor.offset
  }

  /// Returns whether a stored message lies in the complete part.
  func covers(_ message: ShopMessage) -> Bool {
    if let end = cursor.position, let position = message.position {
      return position.epoch == end.epoch && position.offset <= end.offset
    }
    return cursor.time.map { message.createdAt <= $0 } ?? false
  }

  /// Returns whether no message is missing between the complete part and a stored message.
  ///
  /// While a catch-up by events is unfinished, messages between its beginning and the cursor may be
  /// missing, because they were edited later.
  func completes(_ message: ShopMessage) -> Bool {
    guard covers(message) else { return false }
    guard let base = cursor.base, let position = message.position else { return true }
    return position.epoch != base.epoch || position.offset <= base.offset
  }

  /// Returns the kind and the first query of the next run, given the cursor and the duration of the
  /// absence.
  ///
  /// - Parameter own: The time at which the oldest outbox entry that may have arrived was sent.
  ///   Without positions, only a fetch of all messages since then shows whether it arrived.
  /// - Parameter gap: The newest gap. Its messages are fetched with the reader's pages.
  func plan(
    _ settings: StreamSettings, at wall: Timestamp, own: Timestamp?, gap: ShopGap?
  ) -> (Kind, PageQuery) {
    let isLong = isLong(settings, at: wall) && (own == nil || cursor.position != nil)
    if isLong, cursor.position != nil || cursor.time != nil {
      if settings.wantsEvents, let position = cursor.position, position.offset > 0 {
        return (.recent, .newest(knowing: position, limit: settings.catchUpPage))
      }
      return (.recent, .page(number: 1, limit: settings.catchUpPage))
    }
    if let position = cursor.position {
      let limit = settings.catchUpPage
      return (
        .position,
        settings.wantsEvents
          ? .changes(after: position, limit: limit) : .after(position, limit: limit)
      )
    }
    guard let time = cursor.time else {
      return (.initial, .page(number: 1, limit: settings.historyPage))
    }
    var since = time.advanced(by: .zero - settings.overlap)
    if let edge = gap?.before.createdAt { since = max(since, edge.advanced(by: .nanoseconds(-1))) }
    return (.since(since), .since(since, page: 1, limit: settings.catchUpPage))
  }

  /// Returns whether the timeline was last complete so long ago that only the newest page is
  /// fetched.
  func isLong(_ settings: StreamSettings, at wall: Timestamp) -> Bool {
    (cursor.wholeAt?.duration(to: wall) ?? .zero) > settings.longAbsence
  }

  /// Returns whether no message is missing up to the head of a socket that has just opened.
  ///
  /// The response to a post or page can move the cursor beyond the head after the socket was
  /// requested. This does not mean that the log was restored, since the socket delivers those
  /// messages too.
  func isWhole(at head: ShopPosition) -> Bool {
    guard isIdle, let cursor = cursor.position else { return false }
    guard cursor != head else { return true }
    guard let opening = connecting.opening, opening.epoch == head.epoch, cursor.epoch == head.epoch
    else {
      return false
    }
    return opening.offset <= head.offset && head.offset < cursor.offset
  }

  /// Fetches the first or the next page of a run.
  mutating func fetch(_ run: Run) { state = .fetching(run) }

  /// Adds a purpose to the run in progress.
  mutating func join(_ purpose: Purpose) {
    guard case .fetching(var run) = state else { return }
    run.purposes.append(purpose)
    state = .fetching(run)
  }

  /// Ends the run in progress.
  mutating func endRun(isComplete: Bool = false) {
    state = .incomplete
    if isComplete { noteComplete() }
  }

  /// Counts a failed run, and returns the number of consecutive failures.
  mutating func noteFailure() -> Int {
    failures += 1
    return failures
  }

  /// Records that a run fetched all requested messages.
  mutating func noteSuccess() { failures = 0 }

  /// Schedules a retry.
  mutating func wait(until instant: Instant) { state = .waiting(until: instant) }

  /// Ends the wait for a retry or for the backlog of a socket.
  mutating func endWait(forBacklog: Bool = true) {
    switch state {
    case .waiting: state = .incomplete
    case .receiving: if forBacklog { state = .incomplete }
    case .incomplete, .complete, .fetching: return
    }
  }

  /// Cancels the run in progress and the run that was to follow. The head of the next socket shows
  /// which messages are missing.
  mutating func abandon() {
    again = false
    switch state {
    case .fetching, .complete: state = .incomplete
    case .incomplete, .waiting, .receiving: return
    }
  }

  /// Cancels all work.
  mutating func stop() {
    state = .incomplete
    again = false
  }

  /// Records that messages may be missing, unless work is in progress.
  mutating func noteIncomplete() { if state == .complete { state = .incomplete } }

  /// Records that no message is missing.
  mutating func noteComplete() {
    state = .complete
    cursor.base = nil
  }

  /// Returns whether a message that the server sends at the position of its newest edit was posted
  /// after the part that was complete. A message that is missing must then be added. Otherwise it
  /// is in a gap, or older than all stored messages.
  ///
  /// - Parameter beyondBase: Whether the messages up to the cursor arrived, apart from those that
  ///   an unfinished catch-up left for later.
  func expects(_ message: ShopMessage, beyondBase: Bool = false) -> Bool {
    guard let start = cursor.base ?? (beyondBase ? nil : cursor.position),
      let position = message.position, position.epoch == start.epoch
    else { return false }
    return position.offset > start.offset
  }

  /// Moves the cursor to a position up to which the events of an unfinished catch-up were received.
  mutating func moveAlongEvents(to position: ShopPosition) {
    cursor.base = cursor.base ?? cursor.position
    move(to: position)
  }

  /// Moves the cursor over a part that the server has removed. What was posted in it is not missing any
  /// more.
  mutating func pass(_ part: RemovedPart, to position: ShopPosition) {
    removed = part
    move(to: position)
    if cursor.base != nil { cursor.base = position }
  }

  /// Moves the cursor to a fetched position, and removes the offsets in `ahead` that it now covers.
  mutating func move(to position: ShopPosition) {
    let isSameLog = position.epoch == cursor.position?.epoch
    ahead = isSameLog ? ahead.filter { $0 > position.offset } : []
    cursor.position = position
  }

  /// Resets the cursor after the log was replaced under the same epoch.
  ///
  /// The absence counts as long, so that the newest page is fetched.
  ///
  /// - Parameter newest: The newest timestamp in the part that was complete before.
  mutating func beginNewLog(under epoch: String, wholeUntil newest: Timestamp?) {
    let time = [cursor.time, newest].compactMap(\.self).max()
    cursor = ShopCursor(
      position: ShopPosition(epoch: epoch, offset: 0), time: time,
      wholeAt: Timestamp(nanoseconds: 0))
    (ahead, removed) = ([], nil)
    switch state {
    case .complete, .receiving: state = .incomplete
    case .incomplete, .fetching, .waiting: break
    }
  }

  /// Returns the position up to which no message is missing, including messages from the socket.
  func reached(from position: ShopPosition) -> ShopPosition {
    guard position.epoch == cursor.position?.epoch else { return position }
    var reached = position
    while ahead.contains(reached.following), reached.offset < .max {
      reached.offset = reached.following
    }
    return reached
  }

  /// Returns whether a socket that begins after `start` delivers all missing messages up to a head.
  func goesOn(from start: ShopPosition, to head: ShopPosition) -> Bool {
    guard let cursor = cursor.position, cursor.epoch == start.epoch, cursor.epoch == head.epoch
    else { return false }
    return start.offset <= cursor.offset && cursor.offset <= head.offset
  }

  /// Waits for the backlog of a socket, up to `end`.
  mutating func awaitBacklog(
    to end: ShopPosition, isSparse: Bool = false, until: Instant
  ) {
    guard cursor.position != end else { return noteComplete() }
    state = .receiving(Backlog(end: end, isSparse: isSparse, until: until))
  }

  /// Extends the time-out of the backlog.
  mutating func extendBacklog(until instant: Instant) {
    guard case .receiving(var backlog) = state else { return }
    backlog.until = instant
    state = .receiving(backlog)
  }

  /// Returns the way in which a message from the socket arrived.
  func via(of message: ShopMessage) -> StreamUpdate.Via {
    message.position.map(isOfBacklog) ?? false ? .catchUp : .live
  }

  /// Returns whether an event belongs to the backlog that the socket delivers.
  func isOfBacklog(_ position: ShopPosition) -> Bool {
    guard let end = backlog?.end else { return false }
    return position.epoch == end.epoch && position.offset <= end.offset
  }

  /// Ends the backlog at the first newer event. The remaining events of the backlog will not
  /// arrive.
  mutating func passBacklog(at position: ShopPosition?) {
    guard backlog != nil, let position, !isOfBacklog(position) else { return }
    state = .incomplete
  }

  /// Moves the cursor to an event of a backlog, whose events need not be dense. Returns false if
  /// there is no such backlog.
  private mutating func moveAlongBacklog(to position: ShopPosition) -> Bool {
    guard let backlog, backlog.isSparse, isOfBacklog(position) else { return false }
    moveAlongEvents(to: position)
    if position == backlog.end { noteComplete() }
    return true
  }

  /// The maximum number of messages in `unplaced`. Beyond the limit, only the timestamp decides.
  static let mostUnplaced = 10_000

  /// Records that earlier messages than this one may be missing.
  mutating func noteUnplaced(_ message: ShopMessage) {
    guard message.position == nil, unplaced.count < Self.mostUnplaced else { return }
    unplaced.insert(message.id)
  }

  /// Records the position of a single message. Returns true if no message is missing before it.
  ///
  /// - Parameter isConnected: Whether a socket is open. Without a socket, missing messages are
  ///   fetched together with all later messages.
  mutating func take(_ position: ShopPosition, advancing: Bool, isConnected: Bool) -> Bool {
    guard let current = cursor.position, current.epoch == position.epoch else { return false }
    guard position.offset > current.offset else { return true }
    if advancing, moveAlongBacklog(to: position) { return true }
    guard isConnected || advancing && position.offset == current.following else { return false }
    // The next offset never stays, so that frames go on to move the cursor.
    let isNext = advancing && position.offset == current.following
    if isNext || ahead.count < StreamSettings.offsetsAhead { ahead.insert(position.offset) }
    return advancing && (advance() || awaitsNoMoreThanBacklog)
  }

  /// Whether the backlog delivers all messages that are missing before the offsets in `ahead`.
  private var awaitsNoMoreThanBacklog: Bool {
    guard let backlog else { return false }
    return ahead.allSatisfy { $0 > backlog.end.offset }
  }

  /// Moves the cursor over all offsets that directly follow it. Returns true if no offset remains
  /// ahead. The cost is O(1) for each offset.
  mutating func advance() -> Bool {
    guard var position = cursor.position else { return ahead.isEmpty }
    while ahead.remove(position.following) != nil { position.offset = position.following }
    cursor.position = position
    if let backlog, backlog.end.offset <= position.offset { noteComplete() }
    return ahead.isEmpty
  }
}

extension ShopPosition {
  /// The next offset. The greatest offset is its own successor.
  var following: UInt64 { offset == .max ? offset : offset + 1 }
}

extension Recovery: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      ahead.count <= StreamSettings.offsetsAhead && unplaced.count <= Self.mostUnplaced,
      "recovery: what it remembers beyond the cursor is bounded")
    check.require(
      state != .complete || cursor.base == nil, "recovery: no part of a complete log is missing")
    if let base = cursor.base {
      check.require(
        base.epoch == cursor.position?.epoch && base.offset <= cursor.position?.offset ?? 0,
        "recovery: an unfinished catch-up began before the cursor")
    }
    check.require(
      ahead.isEmpty || cursor.position != nil, "recovery: offsets lie ahead of a position")
    if check.isThorough, let offset = cursor.position?.offset {
      check.require(
        ahead.allSatisfy { $0 > offset }, "recovery: offsets ahead are beyond the cursor")
    }
    if let backlog {
      check.require(
        backlog.end.epoch == cursor.position?.epoch
          && backlog.end.offset > cursor.position?.offset ?? .max,
        "recovery: a backlog ends beyond the cursor")
    }
  }
}
