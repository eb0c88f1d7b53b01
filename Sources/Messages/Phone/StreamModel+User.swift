import HoldfastCore
package import HoldfastMessageData

// Scrolling back: first into visible gaps, then to stored messages, then to messages on the server.
extension StreamModel {
  mutating func loadOlder(_ step: inout Step) {
    guard isOpen, !history.isWanted else { return }
    guard let oldest = history.oldest, history.hasMore || !gaps.isEmpty else {
      step.show(.history(hasMore: history.hasMore))
      return
    }
    history.isWanted = true
    history.isBeginning = nil
    if let gap = openGaps.last(where: { $0.before >= oldest.key }) {
      let position = timeline[gap.before.id]?.position
      fetchOlder(than: History.Mark(key: gap.before, position: position), &step)
    } else {
      read(before: oldest.key, &step)
    }
  }

  /// Whether messages older than the shown ones are known to exist, in the store or on the server.
  ///
  /// A server without positions reveals this only on the first request. Until then, it is assumed
  /// if the first screen is full.
  public var hasOlder: Bool {
    guard history.hasMore, let oldest = history.oldest else { return false }
    guard let position = oldest.position else { return history.shown >= settings.historyPage }
    return position.offset > 1
  }

  private mutating func read(before key: TimelineKey, _ step: inout Step) {
    guard !history.isReading else { return }
    history.isReading = true
    step.effects.append(.readOlder(key, limit: settings.historyPage))
  }

  /// Shows stored messages. Messages beyond a gap are shown only after the gap is filled.
  mutating func older(_ read: [ShopMessage], _ step: inout Step) {
    history.isReading = false
    guard history.isWanted, let oldest = history.oldest else { return }
    var messages = unsettled.newest(read).filter { $0.key < oldest.key }
    if let gap = openGaps.last(where: { $0.before < oldest.key }) {
      messages.removeAll { $0.key < gap.before }
    }
    guard !messages.isEmpty else {
      if let isBeginning = history.isBeginning {
        history.hasMore = !isBeginning
        endHistory(&step)
      } else {
        fetchOlder(than: oldest, &step)
      }
      return
    }
    history.isWanted = false
    show(messages, via: .history, &step)
    step.show(.history(hasMore: true))
  }

  private mutating func fetchOlder(than mark: History.Mark, _ step: inout Step) {
    guard history.hasMore || !openGaps.isEmpty else {
      endHistory(&step)
      return
    }
    let position = mark.position.map { lowest(from: $0, above: mark.key) }
    guard !isFirst(position, mark.key) else {
      history.hasMore = false
      endHistory(&step)
      return
    }
    var fetch = History.Fetch(below: mark.key)
    let query: PageQuery
    if let position {
      query = .before(position, limit: settings.historyPage)
      fetch.tie = .shown
    } else {
      let newer = timeline.messages.count { $0.key >= mark.key }
      let isGap = holes[before: mark.key] != nil
      fetch.counted = isGap ? newer : history.shown
      // If the estimated page is too new, one extra request is needed. If it is too old, the fetch
      // restarts at page 1 and requests every page in between.
      let number = (fetch.counted - history.excess) / settings.historyPage
      query = .page(number: max(1, number), limit: settings.historyPage)
    }
    ask(query, fetch, &step)
  }

  /// Returns whether the message is the first one of the server's log, so that no older message
  /// exists.
  private func isFirst(_ position: ShopPosition?, _ key: TimelineKey) -> Bool {
    guard let position, position.offset <= 1 else { return false }
    return position.epoch == recovery.cursor.position?.epoch
      && holes[before: key] == nil
  }

  /// Returns the lowest position in memory that can be reached from a message without a break.
  ///
  /// If the server's clock goes back, later messages have earlier timestamps. The log's
  /// predecessors of the oldest shown message may then already be on the screen, below it. In a
  /// gap, this is unknown.
  private func lowest(from position: ShopPosition, above key: TimelineKey) -> ShopPosition {
    guard holes[before: key] == nil else { return position }
    let known = timeline.messages.lazy.compactMap(\.position).filter { $0.epoch == position.epoch }
    let offsets = Set(known.map(\.offset))
    var lowest = position
    while lowest.offset > 1, offsets.contains(lowest.offset - 1) { lowest.offset -= 1 }
    return lowest
  }

  private mutating func ask(
    _ query: PageQuery, _ before: History.Fetch, _ step: inout Step
  ) {
    guard history.fetch == nil else { return }
    var fetch = before
    fetch.id = requests.next()
    fetch.query = query
    fetch.pages += 1
    fetch.credentials = requests.credentials
    fetch.repetition.ask(knowing: newestKnown)
    fetch.until = step.now.advanced(by: settings.fetchTimeout)
    history.fetch = fetch
    step.effects.append(.fetch(fetch.id, query))
  }

  mutating func historyFetched(_ page: Page, _ step: inout Step) {
    guard var fetch = history.fetch, let oldest = history.oldest else { return }
    history.fetch = nil
    drive(.requested(nil), &step)
    guard !commits.waiting.isFull else {
      endHistory(&step)
      return
    }
    if !page.recovered, case .before(_, let limit) = fetch.query {
      // The position belongs to another log. The fetch starts over at the newest page of this log.
      ask(.page(number: 1, limit: limit), fetch, &step)
      return
    }
    take(page, &fetch)
    let repeats = fetch.repetition.note(page)
    if !repeats || page.messages.isEmpty, fetch.isMisplaced(after: page),
      case .page(_, let limit) = fetch.query
    {
      // The page's messages are not stored. If they were stored, they would seem to be adjacent to
      // the shown messages after a kill.
      fetch.repetition = Repetition()
      ask(.page(number: 1, limit: limit), fetch, &step)
      return
    }
    keep(page, fetch, &step)
    let goesOn = page.hasNext && !repeats
    if goesOn, !isFar(fetch, with: page), let next = fetch.next(settings) {
      ask(next, fetch, &step)
      return
    }
    closeGap(fetch, page, isLast: !page.hasNext && fetch.tie != .loose, &step)
    let isEdge = fetch.below == oldest.key
    let isOlder = fetch.reached.map { $0 < fetch.below } ?? false
    // An empty page that has a next page does not show where the history begins.
    let isEnd = !page.hasNext || repeats && !page.messages.isEmpty
    history.isBeginning = !isOlder && isEnd
    history.readsWhenStored = isEdge
    commits.waiting.feedsHistory = true
  }

  /// Adds a page to the timeline, with the deletions that it shows.
  private mutating func keep(_ page: Page, _ fetch: History.Fetch, _ step: inout Step) {
    noteOtherLog(page.messages, &step)
    takeOrder(page, fetch.query, fetch.id, &step)
    cover(page, fetch)
    if case .before = fetch.query { deleteAbsent(from: page, isNewest: false, &step) }
    add(unsettled.newest(page.messages), via: .history, &step)
  }

  /// Anchors a page to the shown messages if possible, and records how far it reaches.
  private mutating func take(_ page: Page, _ fetch: inout History.Fetch) {
    let isUnseen = page.messages.contains { !isSeen($0.id) }
    let gap = holes[before: fetch.below]
    if let index = fetch.take(page, bringsUnseen: isUnseen, beyond: gap?.after) {
      history.excess = max(0, fetch.counted - index)
    }
  }

  /// Records whether older messages exist, after the first screen was fetched.
  ///
  /// An app that received `hasMore: false` receives a correction.
  mutating func noteBeginning(hasMore isOlder: Bool, _ step: inout Step) {
    // Until this was known, messages older than those on the screen may have been stored without
    // being shown.
    let isHidden = history.oldest.flatMap { shown in timeline.oldest.map { $0 < shown.key } }
    let hasMore = isOlder || isHidden ?? false
    let isNews = hasMore && !history.hasMore
    history.hasMore = hasMore
    if isNews { step.show(.history(hasMore: true)) }
  }

  /// Ends the reader's wait and reports its end.
  mutating func stopHistory(_ step: inout Step) {
    history.fetch = nil
    if history.isWanted { endHistory(&step) }
  }

  private mutating func endHistory(_ step: inout Step) {
    history.isWanted = false
    step.show(.history(hasMore: history.hasMore))
  }

  /// Returns whether the pages reached all requested messages.
  ///
  /// Usually, any older message is sufficient. At the lower edge of a gap, the pages must also
  /// reach messages that a server without positions may have stamped late.
  private func isFar(_ fetch: History.Fetch, with page: Page) -> Bool {
    guard let reached = fetch.reached, reached < fetch.below else { return false }
    guard let gap = holes[before: fetch.below], let after = gap.after,
      reached <= after
    else { return true }
    return closes(gap, fetch)
  }

  /// Returns whether the pages of a fetch reach the messages before a gap.
  ///
  /// The pages must reach the position of the gap's lower end. If the log has no such position,
  /// they must reach past that end by the overlap, which is the maximum lag of timestamps.
  private func closes(_ gap: ShopGap, _ fetch: History.Fetch) -> Bool {
    guard fetch.meetsBeyond, let after = gap.after, let reached = fetch.reached else {
      return false
    }
    if let end = timeline[after.id]?.position, let lowest = fetch.lowest,
      end.epoch == lowest.epoch
    {
      return lowest.offset <= end.offset
    }
    return reached.createdAt <= after.createdAt.advanced(by: .zero - settings.overlap)
  }

  /// Closes a gap if the pages reach the messages beyond it. Otherwise shrinks the gap.
  ///
  /// A gap of messages that the server has removed stays, and the reader goes on below it.
  private mutating func closeGap(
    _ fetch: History.Fetch, _ page: Page, isLast: Bool, _ step: inout Step
  ) {
    guard let gap = holes[before: fetch.below] else { return }
    let edge = min(gap.before, fetch.reached ?? gap.before)
    // Messages below the edge of another gap belong to that gap.
    let meetsOther = edge < gap.before && holes[before: edge] != nil
    if isLast, !meetsOther, !closes(gap, fetch), isRemoved(gap, page, reached: fetch.reached) {
      holes.shrink(gap, to: edge)
      history.removed = history.removed.filter { holes[before: $0] != nil }
      history.removed.insert(edge)
    } else if isLast || meetsOther || closes(gap, fetch) {
      _ = holes.close(gap)
      step.show(.gapClosed(gap))
    } else {
      holes.shrink(gap, to: edge)
    }
    commits.waiting.change.gaps = holes.all
  }

  mutating func historyFailed(_ failure: LinkFailure, _ step: inout Step) {
    let fetch = history.fetch
    history.fetch = nil
    if let fetch, isStale(failure, asked: fetch.credentials) {
      ask(fetch.query, fetch, &step)
      return
    }
    step.show(.notice(.fetchFailed(failure)))
    endHistory(&step)
    drive(.requested(failure), &step)
  }

  mutating func expireHistory(_ step: inout Step) {
    historyFailed(.timeout(.response), &step)
  }

  /// Reads the messages above the screen from the store, in order, after fetched messages were
  /// stored.
  mutating func historyStored(_ step: inout Step) {
    guard history.isWanted else { return }
    if history.readsWhenStored, let oldest = history.oldest {
      read(before: oldest.key, &step)
    } else {
      endHistory(&step)
    }
  }

  /// Shows messages, oldest first, and records how far back the screen reaches.
  mutating func show(_ messages: [ShopMessage], via: StreamUpdate.Via, _ step: inout Step) {
    guard !messages.isEmpty else { return }
    history.noteShown(messages)
    step.show(.messages(messages, via: via))
  }
}

// Sending over REST with an outbox, so that no message is lost.
extension StreamModel {
  /// Adds a message to the outbox. A command with the id of an entry changes nothing.
  mutating func send(
    _ content: MessageContent, with image: OutboxImage?, id: UUID128, at wall: Timestamp,
    _ step: inout Step
  ) {
    note(wall: wall, at: step.now)
    guard outbox.queue[id] == nil else { return }
    _ = outbox.takeRefused(id)
    accept(
      OutboxEntry(id: id, shop: settings.shop, content: content, createdAt: wall, image: image),
      &step)
  }

  mutating func accept(_ entry: OutboxEntry, _ step: inout Step) {
    if let reason = refusal(of: entry) { return refuse(entry, reason, &step) }
    dropSuperseded(by: entry)
    // The entry is shown once it is stored, since a message that is shown as waiting must survive
    // the end of the process.
    guard outbox.queue.add(entry) else {
      return refuse(entry, "too many messages are waiting to be sent", &step)
    }
    commits.waiting.put(entry)
  }

  /// Rejects a message and reports the reason to the app.
  private mutating func refuse(_ entry: OutboxEntry, _ reason: String, _ step: inout Step) {
    outbox.keepRefused(entry)
    var refused = entry
    refused.state = .failed(reason: reason)
    step.show(.outbox(refused))
  }

  /// Returns the reason why an entry is not queued; `nil` if it can be sent.
  private func refusal(of entry: OutboxEntry) -> String? {
    if case .delete = entry.action { return nil }
    if let target = entry.target, outbox.isDeleting(target) {
      return "the message is being deleted"
    }
    return Self.refusal(of: entry, by: outbox.author)
  }

  /// Returns the reason why every server rejects a text as a message or as an edit; `nil` if it has
  /// a valid length.
  package static func refusal(
    of text: String, in shop: ShopID, by author: String? = nil, isEdit: Bool = false
  ) -> String? {
    if text.isEmpty { return "it is empty" }
    let limits = MessageLimits()
    if case .textTooLong(let count) = limits.fault(of: text) {
      return "it has \(count) characters; a message has at most \(limits.maxCharacters)"
    }
    guard
      case .frameTooLong(let bytes) = limits.fault(
        ofFrameWith: text, in: shop, by: author, isEdit: isEdit)
    else { return nil }
    return
      "as JSON and with its author and times it has at least \(bytes) bytes; a message has at most "
      + "\(limits.maxFrameBytes)"
  }

  mutating func retry(_ id: UUID128, _ step: inout Step) {
    if let refused = outbox.takeRefused(id) { return accept(refused, &step) }
    guard let entry = outbox.queue.retry(id) else { return }
    commits.waiting.put(entry)
    step.show(.outbox(entry))
  }

  /// Discards an entry. The answer to an unknown id is the same, unless the store may have its
  /// entry.
  mutating func discard(_ id: UUID128, _ step: inout Step) {
    let isRefused = outbox.takeRefused(id) != nil
    if outbox.queue[id] != nil {
      outbox.remove(id)
      commits.waiting.remove(id)
    } else {
      guard isRefused || isOpen else { return }
    }
    step.show(.outboxDone(id, message: nil))
  }

  /// Whether requests may be sent now.
  private var maySend: Bool {
    guard isOpen, link.isWanted else { return false }
    if link.status.isFinal { return false }
    return link.status.phase != .held
  }

  var sendDeadline: Instant? {
    guard maySend else { return nil }
    if let next = outbox.queue.oldestQueued, !outbox.queue.isSending(next.orderingKey),
      (needsLook(next) && (recovery.run != nil || awaitsCursor)) || !outbox.uploads.allow(next)
    {
      return nil  // the catch-up and the store have their own time-outs
    }
    return outbox.queue.deadline
  }

  /// Returns whether the server must be checked before the next attempt to send an entry.
  ///
  /// A basic server has no idempotency keys and may already have the message. Without stored
  /// messages, the entry's message cannot be distinguished from older messages.
  private func needsLook(_ entry: OutboxEntry) -> Bool {
    guard recovery.hasPositions != true, entry.action == .post, !entry.awaitsUpload else {
      return false
    }
    return outbox.queue.unsure.contains(entry.id)
      || !(recovery.isCursorStored || settings.sendsOnly)
  }

  /// Whether the first cursor is being stored. Only a stored cursor survives a kill.
  private var awaitsCursor: Bool { !recovery.isCursorStored && recovery.cursor.isKnown }

  /// After an inconclusive check on the server, delays the next entry if it depends on that check.
  mutating func postponeLooked(until instant: Instant, _ step: inout Step) {
    guard let next = outbox.queue.oldestQueued, needsLook(next) else { return }
    outbox.queue.pause(next.orderingKey, until: instant)
    // The user can see that the entry is waiting.
    guard let entry = outbox.queue.postpone(next.id) else { return }
    commits.waiting.put(entry)
    step.show(.outbox(entry))
  }

  mutating func sendNext(_ step: inout Step) {
    guard maySend, let next = outbox.queue.oldestQueued, !outbox.queue.isSending(next.orderingKey)
    else {
      return
    }
    if needsLook(next) {
      if recovery.run == nil, !awaitsCursor, outbox.queue.mayTry(next.orderingKey, at: step.now) {
        catchUp(.refresh, &step)
      }
      return
    }
    let timeout = sendTimeout(of: next, at: step.now)
    let taken = outbox.take(
      at: step.now, timeout: timeout, credentials: requests.credentials, after: recovery.cursor)
    guard let entry = taken, let sending = outbox.queue.sending(entry.id) else { return }
    step.effects.append(request(for: entry, sending.number, at: step.now))
  }

  /// Removes the entry that matches a new message, in the change that stores the message.
  ///
  /// A basic server has no idempotency keys, so the message is matched with an entry whose attempt
  /// had no response. A message whose author may be a different person matches no entry. The
  /// message is held while the attempt may still get a response. If the message were stored but the
  /// entry kept, a check after a kill would not recognize the message as new.
  ///
  /// - Returns: Whether the message is held.
  mutating func claim(_ message: ShopMessage, _ step: inout Step) -> Bool {
    guard message.position == nil, outbox.author == message.user,
      let entry = outbox.claimed(by: message, overlap: settings.overlap)
    else { return false }
    if outbox.queue.sending(entry) != nil { return outbox.keepBack(message, for: entry) }
    noteDelivered(entry, as: message.id, &step)
    return false
  }

  /// Adds the held message once the attempt has ended. It is either the entry's message or an
  /// unrelated one.
  mutating func releaseEcho(_ step: inout Step) {
    if let message = outbox.takeEcho() { add([message], via: .live, &step) }
  }

  private mutating func noteDelivered(
    _ id: UUID128, as message: MessageID, _ step: inout Step
  ) {
    outbox.remove(id)
    commits.waiting.remove(id)
    step.show(.outboxDone(id, message: message))
  }

  mutating func posted(_ id: UUID128, _ message: ShopMessage, _ step: inout Step) {
    drive(.requested(nil), &step)
    guard outbox.queue[id] != nil else { return }  // a late event
    outbox.author = message.user
    outbox.remove(id)
    commits.waiting.remove(id)
    takeLive(message, isAnswer: true, &step)
    step.show(.outboxDone(id, message: message.id))
    // Whoever waits for the message must learn that it was deleted before it could be shown.
    if unsettled.newest([message]).isEmpty {
      step.show(.deleted([DeletedMessage(id: message.id)]))
    }
    drive(.trigger(.messageSent), &step)
  }

  mutating func postFailed(
    _ id: UUID128, _ number: TryID, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard outbox.queue.sending(id)?.number == number else { return }  // a late event
    sendFailed(id, failure, &step)
  }

  private mutating func sendFailed(
    _ id: UUID128, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard let sending = outbox.queue.sending(id) else { return }
    if let entry = outbox.queue[id], changeFailed(entry, failure, &step) { return }
    if let reason = uploadRefusal(id, failure) { return failSend(id, reason, &step) }
    switch failure.failureClass {
    case .unauthorized:
      outbox.queue.waitForCredentials(id, newerThan: requests.credentials)
      if !isStale(failure, asked: sending.credentials) { drive(.requested(failure), &step) }
    case .unreachable, .dns, .refused, .proxy, .captivePortal, .local:
      retryLater(id, isUnsure: false, failure, &step)
    case .timeout, .silent, .reset, .ended, .serverError, .protocolError:
      retryLater(id, isUnsure: true, failure, &step)
    case .unavailable, .tooManyRequests:
      retryLater(id, isUnsure: false, failure, &step)
    case .forbidden:
      failSend(id, "no member of this shop", &step)
      drive(.requested(failure), &step)
    case .tls:
      failSend(id, "the server's certificate was refused", &step)
      drive(.requested(failure), &step)
    // An earlier attempt posted the message, which was deleted since.
    case .notFound
    where failure.isGone && settings.wantsEvents
      && (outbox.queue.unsure.contains(id) || outbox.sought.contains(id)):
      outbox.remove(id)
      commits.waiting.remove(id)
      step.show(.outboxDone(id, message: nil))
    // The response does not come from the server itself.
    case .otherStatus where failure.isElsewhere:
      retryLater(id, isUnsure: failure.mayFollowSuccess, failure, &step)
    case .badRequest, .notFound, .otherStatus, .closedNormally, .closedRestart, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced, .closedOther:
      failSend(id, Self.reason(of: failure), &step)
    }
  }

  static func reason(of failure: LinkFailure) -> String {
    guard case .http(let status, _, let detail) = failure else { return "refused" }
    if status == 413 { return detail.isEmpty ? "too long to send" : "too long to send: \(detail)" }
    return detail.isEmpty ? "the server answered \(status)" : detail
  }

  private mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard
      let entry = outbox.queue.retryLater(
        id, isUnsure: isUnsure, retryAfter: settings.policy.retry.honored(failure.retryAfter),
        at: step.now, schedule: settings.sendRetries, generator: &generator)
    else { return }
    commits.waiting.put(entry)
    step.show(.notice(.sendFailed(failure)))
    step.show(.outbox(entry))
  }

  mutating func failSend(_ id: UUID128, _ reason: String, _ step: inout Step) {
    guard let entry = outbox.queue.fail(id, reason) else { return }
    commits.waiting.put(entry)
    step.show(.outbox(entry))
  }

  /// Fails every waiting entry with a reason, since nothing more can be sent.
  mutating func failSends(_ reason: String, _ step: inout Step) {
    outbox.queue.abandon()  // the attempt in progress may still succeed
    for entry in outbox.entries {
      if case .queued = entry.state { failOrDrop(entry, reason, &step) }
    }
  }

  mutating func expireOutbox(_ step: inout Step) {
    if let id = outbox.queue.expired(at: step.now) { sendFailed(id, .timeout(.response), &step) }
  }
}

extension LinkFailure {
  /// Whether the server says that the message was deleted.
  fileprivate var isGone: Bool {
    if case .http(status: 410, _, _) = self { true } else { false }
  }

  /// Whether this redirect or web page may be the response to an accepted message.
  ///
  /// A 303 has this purpose (RFC 9110 section 15.4.4). Any other redirect asks for the same request
  /// at another URL.
  fileprivate var mayFollowSuccess: Bool {
    if case .http(let status, _, _) = self { status < 300 || status == 303 } else { false }
  }
}
