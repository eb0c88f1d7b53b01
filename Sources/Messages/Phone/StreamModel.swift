public import HoldfastCore
public import HoldfastMessageData

/// One shop's messages on a phone. They stay in order, complete and stored, regardless of the
/// link's state.
///
/// A link decides when to connect. This machine keeps the data complete:
///
///     open ── load ── shown at once ──▶ link starts ── prepare: fetch ──▶ socket opens
///                                                                           │
///               cursor moves with the messages it covers                    ▼
///     shown ◀── stored ◀── commits ◀── new by ID ◀── live frames, pages, polls, responses
///                                                          ▲
///                       hole? (head, offset, reconnect) ───┘ fetch until complete
///
/// A message is shown only after it is stored, so that an app shows it again after a kill and
/// recognizes repeated messages. The cursor is stored together with the messages that it covers.
public struct StreamModel: TimedMachine {
  /// The shop and the settings of the stream.
  public let settings: StreamSettings
  /// The link, which decides whether, when and how to connect.
  public internal(set) var link: HeldLink
  /// The messages in memory.
  public internal(set) var timeline: ShopTimeline
  /// The messages to send.
  public internal(set) var outbox: Outbox
  /// The gaps that are shown to the reader.
  var holes = GapList()
  /// The extent to which the timeline is complete, and the work that completes it.
  var recovery = Recovery()
  /// The changes that the store has not confirmed.
  var commits = TimelineCommits()
  /// The oldest point that the reader has reached.
  var history = History()
  /// The edits and deletions that may be newer than an answer under way.
  var unsettled = Unsettled()
  /// The messages that are known to be deleted.
  var deletions = RecentDeletions()
  /// The order in which a server without positions lists messages.
  var order = ServerOrder()
  /// The random source of the stream's own jitter, in addition to that of the link.
  var generator: RandomSource
  private var phase = Phase.closed
  /// The link's connection intent while the stream is open: live, unless switched off in the
  /// settings.
  private var intent = ConnectionIntent.live
  private var clock = WallClock()
  /// The instants of the malformed frames of the last minute.
  var malformed: [Instant] = []
  /// The number of consecutive failures to read the store.
  private var failedLoads = 0
  /// The IDs of page requests, and the generation of the credentials with which they are sent.
  var requests = PageRequests()

  private enum Phase: Sendable, Hashable {
    case closed
    /// The store is being read.
    case loading
    case open
    /// The store cannot be read. `retryAt` is the instant of the next attempt, if one may help.
    case broken(StoreFailure, retryAt: Instant?)
  }

  /// Creates a closed stream.
  ///
  /// - Parameter seed: The seed of the random sources of jitter.
  public init(settings: StreamSettings, seed: UInt64) {
    outbox = Outbox(limit: settings.outboxLimit, author: settings.user)
    self.settings = settings
    timeline = ShopTimeline(limit: settings.memory)
    link = HeldLink(policy: settings.policy, seed: seed)
    generator = RandomSource(seed: ~seed)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    expireTimers(at: now, &step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? { firstDue }

  package enum Timer: CaseIterable, Sendable {
    case load, link, recovery, history, outbox, commit
  }

  package func due(_ timer: Timer) -> Instant? {
    switch timer {
    case .load: loadDeadline
    case .link: link.deadline
    case .recovery: recovery.deadline
    case .history: history.deadline
    case .outbox: sendDeadline
    case .commit: isOpen ? commits.retryAt : nil
    }
  }

  package mutating func expire(_ timer: Timer, _ step: inout Step) {
    switch timer {
    case .load: load(&step)
    case .link: follow(link.tick(at: step.now), &step)
    case .recovery: expireRecovery(&step)
    case .history: expireHistory(&step)
    case .outbox: expireOutbox(&step)
    case .commit: break  // every step commits what is due
    }
  }

  /// Whether nothing is to be expected from the store: it has all changes, rejects them, or is broken.
  public var isSettled: Bool {
    switch phase {
    case .open, .closed: commits.isDone || commits.failures > 0
    case .loading, .broken: true
    }
  }

  /// Whether all known messages of the server are stored and shown, and new messages arrive.
  public var isWhole: Bool {
    phase == .open && link.status.mode != .none && recovery.isWhole && commits.isDone
  }

  /// Completes a step: passes pending changes to the store and waiting entries to the server.
  private mutating func finish(_ step: inout Step) {
    switch phase {
    case .open:
      settle(&step)
      releaseEcho(&step)
      sendNext(&step)
    case .closed: break  // entries sent while the store was read must be stored
    case .loading, .broken: return
    }
    if let next = commits.next(at: step.now) {
      step.effects.append(.commit(next.id, next.batch.change))
    }
  }

  /// The gaps that are shown to the reader, oldest first.
  public var gaps: [ShopGap] { holes.all }

  /// Whether the store was read.
  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// Whether the store was read, or cannot be read at present.
  package var hasRead: Bool {
    switch phase {
    case .open, .broken: true
    case .closed, .loading: false
    }
  }

  /// Whether no messages are accepted, because the store is stuck or the app leaves updates unread.
  var takesNoMore: Bool { commits.waiting.isFull || history.isReaderBehind }

  /// The time of one call, and the effects produced so far.
  package struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: StreamUpdate) { effects.append(.update(update)) }
  }

  /// Returns the estimated wall-clock time. It is used only for durations of minutes and for
  /// display.
  func wall(at now: Instant) -> Timestamp { clock.time(at: now) }

  mutating func note(wall: Timestamp, at now: Instant) { clock.set(wall, at: now) }

  /// Passes an input to the link and applies the link's effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }
}

// The handling of each input.
extension StreamModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .open(let wall): open(at: wall, &step)
    case .close: close(&step)
    case .realtime(let isOn): switchRealtime(isOn, &step)
    case .refresh: refresh(&step)
    case .reader(let isBehind): turn(readerBehind: isBehind, &step)
    case .loadOlder: loadOlder(&step)
    case .send(let id, let text, let parent, let wall, let image):
      let content = MessageContent(text, parent: parent)
      send(content, with: image, id: id, at: wall, &step)
    case .edit(let id, let message, let text, let wall, let keepsImages):
      let new = keepsImages == true ? textWithImages(of: message, text) : text
      change(id, .edit(message), new, at: wall, &step)
    case .delete(let id, let message, let wall): change(id, .delete(message), "", at: wall, &step)
    case .retry(let id): retry(id, &step)
    case .discard(let id): discard(id, &step)
    case .link(let event, let wall): handle(event, at: wall, &step)
    case .credentials(let event): credentials(event, &step)
    case .user(let user): outbox.author = user
    case .opened(let attempt, let head, let after, let events):
      opened(attempt, head, after: after, isSparse: events ?? false, &step)
    case .frame(let attempt, let frame): received(frame, attempt, &step)
    case .fetched(let id, let page): answered(id, page, &step)
    case .fetchFailed(let id, let failure): unanswered(id, failure, &step)
    case .posted(let id, let message): posted(id, message, &step)
    case .edited(let id, let message): edited(id, message, &step)
    case .deleted(let id, let deletion): deleted(id, deletion, &step)
    case .uploaded(let id, let url, let wall): uploaded(id, url, at: wall, &step)
    case .uploadRefused(let id, let number, let reason): uploadRefused(id, number, reason, &step)
    case .postFailed(let id, let number, let failure): postFailed(id, number, failure, &step)
    case .loaded(let snapshot): loaded(snapshot, &step)
    case .loadFailed(let failure): loadFailed(failure, &step)
    case .committed(let id, let commit): committed(id, commit, &step)
    case .commitFailed(let id, let failure): commitFailed(id, failure, &step)
    case .older(let messages): older(messages, &step)
    case .olderFailed(let failure): olderFailed(failure, &step)
    }
  }

  private mutating func switchRealtime(_ isOn: Bool, _ step: inout Step) {
    intent = isOn ? .live : .standbyOnly
    if link.isWanted { drive(.setIntent(intent), &step) }
  }

  private mutating func turn(readerBehind isBehind: Bool, _ step: inout Step) {
    history.isReaderBehind = isBehind
    if !isBehind, recovery.again, recovery.run == nil { catchUpWhileConnected(&step) }
  }

  /// Handles an event of the device or of the socket.
  ///
  /// The wall clock may have been set while the device slept or the app was in the background.
  private mutating func handle(_ event: LinkEvent, at wall: Timestamp, _ step: inout Step) {
    switch event {
    case .device(.reachability(let reachability)):
      if case .reachable = reachability { outbox.queue.retryNow() }
      noteWhole(at: step.now)
      drive(HeldLink.Input(event), &step)
    case .device(.lifecycle(let lifecycle)):
      note(wall: wall, at: step.now)
      turn(lifecycle, &step)
    case .device(.woke):
      note(wall: wall, at: step.now)
      drive(HeldLink.Input(event), &step)
    case .device(.again): refresh(&step)
    case .ping, .pong: drive(HeldLink.Input(event), &step)
    case .oversized(let attempt, let bytes): oversized(bytes, attempt, &step)
    case .lost(let attempt, let failure): lost(attempt, failure, &step)
    }
  }

  private mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    if attempt == link.currentAttempt { noteWhole(at: step.now) }
    let isUnprepared = attempt == link.currentAttempt && attempt == recovery.connecting.unprepared
    drive(.lost(attempt, failure), &step)
    if isUnprepared { fetchInstead(after: failure, &step) }
  }

  private mutating func answered(_ id: FetchID, _ page: Page, _ step: inout Step) {
    if history.fetch?.id == id {
      historyFetched(page, &step)
    } else if recovery.run?.fetch == id {
      fetched(page, &step)
    } else {
      // The response is late, but it shows that the server accepts the credentials.
      drive(.requested(nil), &step)
    }
  }

  private mutating func unanswered(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    if history.fetch?.id == id {
      historyFailed(failure, &step)
    } else {
      fetchFailed(id, failure, &step)
    }
  }

  private mutating func olderFailed(_ failure: StoreFailure, _ step: inout Step) {
    history.isReading = false
    history.isWanted = false
    step.show(.notice(.store(failure)))
    step.show(.history(hasMore: history.hasMore))
  }
}

// The link and the device.
extension StreamModel {
  /// Translates the effects of the link.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): prepare(attempt, &step)
      case .open(let attempt):
        // While no messages are accepted, a backlog would be dropped.
        let after = takesNoMore ? nil : recovery.cursor.position
        recovery.connecting.open(attempt, at: recovery.cursor.position)
        step.effects.append(.open(attempt, after: after))
      case .close(let attempt, let reason):
        if reason == .networkChanged || reason == .silent { abandonRequests(&step) }
        step.effects.append(.close(attempt, reason))
        if reason == .timeout, attempt == recovery.connecting.unprepared {
          fetchInstead(after: .timeout(.connect), &step)
        }
      case .ping(let attempt, let id): step.effects.append(.ping(attempt, id))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .poll(let id): poll(id, &step)
      case .status(let status): show(status, &step)
      case .arm, .disarm: continue  // a stream's standby polls instead of queuing a connect
      }
    }
  }

  private mutating func poll(_ id: UInt64, _ step: inout Step) {
    // A stream that only sends assumes that the network works until a post fails.
    if settings.sendsOnly, outbox.oldestUnsure == nil {
      drive(.polled(id, nil), &step)
    } else {
      catchUp(.poll(id), &step)
    }
  }

  /// Abandons requests on a lost network path, which would otherwise end only when they time out.
  private mutating func abandonRequests(_ step: inout Step) {
    recovery.abandon()
    stopHistory(&step)
    outbox.queue.abandon()
  }

  private mutating func show(_ status: LinkStatus, _ step: inout Step) {
    step.show(.status(StreamStatus(status)))
    // After closing a socket, a server may have other messages at these positions.
    if status.phase != .connected { recovery.ahead = [] }
    // Requests in progress may never get a response, since the process can be suspended at any
    // time. Fetching is pointless after the link has ended.
    if status.reason == .blocked(.background) || status.phase == .disconnected {
      stopFetching(&step)
    }
    guard status.isFinal else { return }
    stopCatchUp()
    switch status.reason {
    case .signIn: step.show(.notice(.signIn))
    case .failure(let failure):
      switch failure.failureClass {
      case .forbidden, .closedForbidden: step.show(.notice(.forbidden))
      case .tls: step.show(.notice(.security(failure)))
      case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal,
        .local, .badRequest, .unauthorized, .notFound, .tooManyRequests, .serverError, .unavailable,
        .otherStatus, .protocolError, .closedNormally, .closedRestart, .closedPolicy,
        .closedUnauthorized, .closedReplaced, .closedOther:
        return  // the status has all details
      }
    case .blocked, .exhausted, .ended, .debouncing, .limited, nil: return
    }
  }

  mutating func open(at wall: Timestamp, _ step: inout Step) {
    note(wall: wall, at: step.now)
    switch phase {
    case .closed, .broken: load(&step)
    case .open: drive(.setIntent(intent), &step)
    case .loading: return
    }
  }

  mutating func close(_ step: inout Step) {
    noteWhole(at: step.now)
    stopFetching(&step)
    outbox.queue.abandon()
    switch phase {
    case .loading, .broken: phase = .closed
    case .closed, .open: break
    }
    drive(.setIntent(.none), &step)
  }

  mutating func refresh(_ step: inout Step) {
    if case .broken = phase {
      open(at: wall(at: step.now), &step)
      return
    }
    guard link.isWanted else { return }
    outbox.queue.retryNow()
    catchUp(.refresh, &step)
    drive(.trigger(.userRefresh), &step)
  }

  mutating func turn(_ lifecycle: AppLifecycle, _ step: inout Step) {
    switch lifecycle {
    case .background:
      noteWhole(at: step.now)
      recovery.connecting.fetchesFirst = true
      drive(.lifecycle(.background), &step)
    case .foreground:
      outbox.queue.retryNow()
      if case .broken = phase { load(&step) }
      drive(.lifecycle(.foreground), &step)
    }
  }

  mutating func credentials(_ event: HeldLink.CredentialsEvent, _ step: inout Step) {
    switch event {
    case .available:
      requests.renewCredentials()
      outbox.queue.credentialsRenewed()
      if recovery.retryAt != nil { recovery.wait(until: step.now) }
    case .cleared: outbox.author = settings.user
    case .rejected, .refreshFailed: break
    }
    drive(.credentials(event), &step)
    // Sending continues while requests are still accepted. It ends only with the link.
    if link.status.reason == .signIn { failSends("sign in to send", &step) }
  }

  /// Returns whether a refusal concerns earlier credentials, so that it says nothing about the
  /// current ones.
  func isStale(_ failure: LinkFailure, asked: UInt64) -> Bool {
    failure.failureClass == .unauthorized && asked < requests.credentials
  }

  mutating func opened(
    _ attempt: AttemptID, _ head: ShopPosition?, after start: ShopPosition?, isSparse: Bool,
    _ step: inout Step
  ) {
    drive(.opened(attempt), &step)
    guard link.currentAttempt == attempt, link.status.phase == .connected else { return }
    outbox.queue.retryNow()
    recovery.connecting.unprepared = nil
    if recovery.backlog != nil { recovery.endWait() }
    if let head {
      recovery.hasPositions = true
      if recovery.isWhole(at: head) {  // nothing was missed
        recovery.noteComplete()
        return
      }
      if let start, recovery.isIdle, recovery.goesOn(from: start, to: head) {
        let until = step.now.advanced(by: settings.fetchTimeout)
        recovery.awaitBacklog(to: head, isSparse: isSparse, until: until)
        return
      }
    }
    catchUp(.live, &step)
  }
}

// The responses of the store.
extension StreamModel {
  mutating func load(_ step: inout Step) {
    phase = .loading
    step.effects.append(.load(limit: settings.memory))
  }

  var loadDeadline: Instant? {
    guard case .broken(_, let retryAt) = phase else { return nil }
    return retryAt
  }

  mutating func loaded(_ snapshot: TimelineSnapshot, _ step: inout Step) {
    guard phase == .loading else { return }
    phase = .open
    if failedLoads > 0 { step.show(.notice(.storeRecovered)) }
    failedLoads = 0
    recovery.cursor = snapshot.cursor
    recovery.isCursorStored = snapshot.cursor.isKnown
    // A server with positions supports keys, so no check is needed before a retry.
    if snapshot.cursor.position != nil { recovery.hasPositions = true }
    holes = GapList(snapshot.gaps)
    outbox.restore(snapshot.outbox, after: snapshot.cursor)
    // Some were accepted before the stored ones were known.
    for entry in outbox.entries where entry.target != nil { dropSuperseded(by: entry) }
    for message in snapshot.messages { timeline.insert(message) }
    if snapshot.hasOlder { timeline.noteOlder() }
    timeline.trim()
    var screen = Array(timeline.messages.suffix(settings.historyPage))
    if let gap = gaps.last { screen.removeAll { $0.key < gap.before } }
    show(screen, via: .history, &step)
    for gap in gaps { step.show(.gap(gap)) }
    for entry in outbox.entries where outbox.queue.isStored(entry.id) { step.show(.outbox(entry)) }
    drive(.setIntent(intent), &step)
  }

  mutating func loadFailed(_ failure: StoreFailure, _ step: inout Step) {
    guard phase == .loading else { return }
    failedLoads += 1
    var retryAt: Instant?
    switch failure {
    case .locked, .full, .denied, .other:
      retryAt = step.now.advanced(by: TimelineCommits.delay(after: failedLoads))
    case .corrupt, .fromTheFuture: break  // retries alone do not help
    }
    phase = .broken(failure, retryAt: retryAt)
    step.show(.notice(.store(failure)))
  }

  mutating func committed(_ id: CommitID, _ commit: TimelineCommit, _ step: inout Step) {
    let wasRefused = commits.failures > 0
    guard let batch = commits.committed(id) else { return }  // a late event
    if wasRefused { step.show(.notice(.storeRecovered)) }
    if batch.change.cursor?.isKnown ?? false { recovery.isCursorStored = true }
    outbox.uploads.noteStored(batch.change.outboxPut, now: outbox.entries)
    for entry in batch.change.outboxPut.compactMap({ outbox.queue.stored($0.id) }) {
      step.show(.outbox(entry))
    }
    showDeleted(commit.deleted, of: batch, &step)
    deletions.forget(commit.inserted)
    showInserted(commit.inserted, of: batch, &step)
    showEdited(commit, of: batch, &step)
    takePositions(of: batch)
    for done in batch.finished { step.show(.outboxDone(done.entry, message: done.message)) }
    if batch.feedsHistory { historyStored(&step) }
    if recovery.again, recovery.run == nil { catchUpWhileConnected(&step) }
  }

  private mutating func showInserted(
    _ inserted: [MessageID], of batch: TimelineBatch, _ step: inout Step
  ) {
    // Usually the store had none of the messages, so there is nothing to look up.
    let isWhole = inserted.count == batch.change.messages.count
    let new = isWhole ? [] : Set(inserted)
    var shown: [StreamUpdate.Via: [ShopMessage]] = [:]
    for (message, via) in zip(batch.change.messages, batch.ways) {
      guard isWhole || new.contains(message.id), timeline.insert(message) else { continue }
      if history.shows(message.key) { shown[via, default: []].append(message) }
    }
    timeline.trim()
    for via in StreamUpdate.Via.allCases {
      show((shown[via] ?? []).sorted { $0.key < $1.key }, via: via, &step)
    }
  }

  private mutating func showEdited(
    _ commit: TimelineCommit, of batch: TimelineBatch, _ step: inout Step
  ) {
    guard !commit.edited.isEmpty else { return }
    let edited = Set(commit.edited).subtracting(commit.rewritten.map(\.id))
    let changed = batch.change.messages + batch.change.edits
    let messages = commit.rewritten + changed.filter { edited.contains($0.id) }
    for message in messages { timeline.replace(message) }
    timeline.trim()
    let shown = messages.filter { message in history.oldest.map { $0.key <= message.key } ?? false }
    if !shown.isEmpty { step.show(.edited(shown.sorted { $0.key < $1.key })) }
  }

  mutating func commitFailed(_ id: CommitID, _ failure: StoreFailure, _ step: inout Step) {
    guard commits.refused(id, at: step.now) else { return }  // a late event
    step.show(.notice(.store(failure)))
  }
}

// Values in memory other than the shown messages. Each has a bound.
extension StreamModel {
  /// The number of messages that are not stored yet.
  public var unstoredCount: Int { commits.count }
  /// The edits and deletions of the user that ended, but whose results are not stored yet. Their
  /// ends are not reported yet.
  package var endingChanges: [UUID128] {
    ((commits.inFlight?.batch.finished ?? []) + commits.waiting.finished).map(\.entry)
  }
  /// The number of known offsets beyond the cursor.
  public var aheadCount: Int { recovery.ahead.count }

  /// The newest known message, including messages that are being stored.
  var newestKnown: TimelineKey? {
    [timeline.newest, commits.messages.map(\.key).max()].compactMap(\.self).max()
  }
  /// The oldest known message, including messages that are being stored.
  var oldestKnown: TimelineKey? {
    [timeline.oldest, commits.messages.map(\.key).min()].compactMap(\.self).min()
  }
}

// The invariants that span the parts of a stream.
extension StreamModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      phase == .open || !link.isWanted, "stream: the link is wanted only while the store is open")
    check.require(
      malformed.count < max(settings.malformedLimit, 1),
      "stream: too many malformed messages end the connection")
    checkFetches(&check)
    checkReader(&check)
    checkCursor(&check)
    if check.isThorough { checkMessages(&check) }
    link.check(&check)
    recovery.check(&check)
    history.check(&check)
    commits.check(&check)
    commits.waiting.check(&check)
    unsettled.check(&check)
    deletions.check(&check)
    order.check(&check)
    timeline.check(&check)
    outbox.check(&check)
  }

  /// Checks the fetches and their reasons.
  private func checkFetches(_ check: inout InvariantCheck) {
    check.require(
      recovery.ahead.isEmpty || link.status.phase == .connected,
      "stream: offsets lie ahead only while a socket is open")
    check.require(
      recovery.deadline == nil || (link.isWanted && !link.status.isFinal),
      "stream: a catch-up waits only while the link is wanted")
    if let run = recovery.run {
      check.require(run.fetch.number <= requests.last, "stream: a page of a catch-up was numbered")
      check.require(
        run.pages <= max(settings.catchUpPages, 1),
        "stream: a catch-up fetches no more pages than it may")
      check.require(
        run.credentials <= requests.credentials, "stream: a page is fetched with known credentials")
    }
    if let fetch = history.fetch {
      check.require(
        fetch.id.number <= requests.last && fetch.id != recovery.run?.fetch,
        "stream: a request for a page is in one place")
      check.require(
        fetch.credentials <= requests.credentials,
        "stream: a page of the history is fetched with known credentials")
    }
  }

  /// Checks the waits of the reader and of the outbox.
  private func checkReader(_ check: inout InvariantCheck) {
    check.require(
      Set(gaps.map(\.before)).count == gaps.count, "stream: no two gaps end at the same message")
    check.require(
      !history.isWanted || history.isReading || history.fetch != nil || commits.feedsHistory,
      "stream: a reader waits only for something under way")
    if let echo = outbox.echo {
      check.require(
        outbox.queue.sending(echo.entry) != nil,
        "stream: a message is kept back only for a try under way")
    }
  }

  /// Checks that the cursor is stored with the messages it covers, and never before them.
  private func checkCursor(_ check: inout InvariantCheck) {
    guard let committed = commits.waiting.change.cursor ?? commits.inFlight?.batch.change.cursor
    else {
      return
    }
    check.require(
      !committed.isBeyond(recovery.cursor),
      "stream: the store gets no cursor beyond the known one")
  }

  private func checkMessages(_ check: inout InvariantCheck) {
    check.require(
      commits.messages.allSatisfy { message in
        timeline[message.id].map { shown in
          message.isLater(than: shown) || commits.deletes(shown.id)
            || shown.position == nil && message.position != nil
        } ?? true
      }, "stream: what is shown is stored")
    guard let batch = commits.inFlight?.batch, let committed = batch.change.cursor?.position else {
      return
    }
    let waiting = commits.waiting
    // The two positions belong to different logs.
    if waiting.isOfNewLog { return }
    check.require(
      zip(waiting.change.messages, waiting.ways).allSatisfy { message, via in
        guard via == .live, !timeline.contains(message.id), !batch.holds(message.id),
          let position = message.position, position.epoch == committed.epoch
        else { return true }
        return position.offset > committed.offset
      }, "stream: a cursor goes to the store with the messages that it covers")
  }
}

extension ShopCursor {
  /// Returns whether this cursor covers more than another one.
  fileprivate func isBeyond(_ other: ShopCursor) -> Bool {
    if let time, time > other.time ?? Timestamp(nanoseconds: .min) { return true }
    guard let position else { return false }
    guard let limit = other.position else { return true }
    return position.epoch == limit.epoch && position.offset > limit.offset
  }
}
