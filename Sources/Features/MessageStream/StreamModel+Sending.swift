import LinkCore
import LinkStorage
import LinkWire

// Sending over REST, through an outbox that forgets nothing.
extension StreamModel {
  mutating func send(
    _ text: String, _ parent: MessageID?, at wall: Timestamp, _ step: inout Step
  ) {
    note(wall: wall, at: step.now)
    let entry = OutboxEntry(
      id: .random(using: &chance), shop: settings.shop, text: text, parent: parent,
      createdAt: wall)
    if let reason = Self.refusal(of: text) { return refuse(entry, reason, &step) }
    // Shown as soon as the store has it: what is told to wait must outlive this process.
    guard outbox.queue.add(entry) else {
      return refuse(entry, "too many messages wait to be sent", &step)
    }
    writer.put(entry)
  }

  /// Does not keep a message: the words stay with whoever wrote them, the reason beside them.
  private func refuse(_ entry: OutboxEntry, _ reason: String, _ step: inout Step) {
    var refused = entry
    refused.state = .failed(reason: reason)
    step.show(.outbox(refused))
  }

  /// Why no server takes a text as a message; `nil` if its length is right.
  package static func refusal(of text: String) -> String? {
    if text.isEmpty { return "it is empty" }
    let limits = MessageLimits()
    guard case .textTooLong(let count) = limits.fault(of: text) else { return nil }
    return "it has \(count) characters; a message has at most \(limits.maxCharacters)"
  }

  mutating func retry(_ id: UUID128, _ step: inout Step) {
    guard let entry = outbox.queue.retry(id) else { return }
    writer.put(entry)
    step.show(.outbox(entry))
  }

  mutating func discard(_ id: UUID128, _ step: inout Step) {
    guard outbox.queue[id] != nil else { return }
    outbox.remove(id)
    writer.remove(id)
    step.show(.outboxDone(id, message: nil))
  }

  /// Whether requests may go out now.
  private var maySend: Bool {
    guard case .open = phase, link.isWanted else { return false }
    if link.status.isTerminal { return false }
    return link.status.phase != .held
  }

  var sendDeadline: Instant? {
    guard maySend else { return nil }
    if let next = outbox.queue.oldestQueued, !outbox.queue.isSending(next.lane), needsLook(next),
      recovery.run != nil || awaitsCursor
    {
      return nil  // the catch-up under way tells, or the store does, which have limits of their own
    }
    return outbox.queue.deadline
  }

  /// Whether the server is looked at before the next try of an entry: a plain one knows no keys and
  /// may have it already, or nothing is kept yet by which its message is told from older ones.
  private func needsLook(_ entry: OutboxEntry) -> Bool {
    guard recovery.hasPositions != true else { return false }
    return outbox.queue.unsure.contains(entry.id) || !(recovery.isCursorKept || settings.sendsOnly)
  }

  /// Whether the first cursor is on its way to the store: after a kill only what is kept counts.
  private var awaitsCursor: Bool { !recovery.isCursorKept && recovery.cursor.isKnown }

  /// Waits with the next entry if it needs a look, because one did not tell.
  mutating func postponeLooked(until instant: Instant, _ step: inout Step) {
    guard let next = outbox.queue.oldestQueued, needsLook(next) else { return }
    outbox.queue.pause(next.lane, until: instant)
    // The user sees that it waits.
    guard let entry = outbox.queue.postpone(next.id) else { return }
    writer.put(entry)
    step.show(.outbox(entry))
  }

  mutating func sendNext(_ step: inout Step) {
    guard maySend, let next = outbox.queue.oldestQueued, !outbox.queue.isSending(next.lane) else {
      return
    }
    if needsLook(next) {
      if recovery.run == nil, !awaitsCursor, outbox.queue.mayTry(next.lane, at: step.now) {
        catchUp(.refresh, &step)
      }
      return
    }
    let timeout = settings.fetchTimeout * 2
    let taken = outbox.take(
      at: step.now, timeout: timeout, credentials: credentialsCount, after: recovery.cursor)
    guard let entry = taken, let sending = outbox.queue.sending(entry.id) else { return }
    step.effects.append(.post(entry, try: sending.number))
  }

  /// A plain server knows no idempotency keys: a new message that can only be an entry whose try
  /// was not answered ends that entry, in the change that stores the message. Words of somebody who
  /// may be another end nothing. While an answer can still come the message is kept back: stored
  /// without the entry's end, it would be no new one to whoever looks after a kill.
  ///
  /// - Returns: Whether it is kept back.
  mutating func claim(_ message: Message, _ step: inout Step) -> Bool {
    guard message.position == nil, let author, author == message.user,
      let entry = outbox.claimed(by: message, overlap: settings.overlap)
    else { return false }
    if outbox.queue.sending(entry) != nil { return outbox.keepBack(message, for: entry) }
    gotThrough(entry, as: message.id, &step)
    return false
  }

  /// The try is over for which a message was kept back: it is that entry, or one like any other.
  mutating func releaseEcho(_ step: inout Step) {
    if let message = outbox.takeEcho() { add([message], via: .live, &step) }
  }

  private mutating func gotThrough(
    _ id: UUID128, as message: MessageID, _ step: inout Step
  ) {
    outbox.remove(id)
    writer.remove(id)
    step.show(.outboxDone(id, message: message))
  }

  mutating func posted(_ id: UUID128, _ message: Message, _ step: inout Step) {
    drive(.requested(nil), &step)
    guard outbox.queue[id] != nil else { return }  // late
    author = message.user
    outbox.remove(id)
    writer.remove(id)
    takeLive(message, isAnswer: true, &step)
    step.show(.outboxDone(id, message: message.id))
    drive(.trigger(.messageSent), &step)
  }

  mutating func postFailed(
    _ id: UUID128, _ number: TryID, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard outbox.queue.sending(id)?.number == number else { return }  // late
    sendFailed(id, failure, &step)
  }

  private mutating func sendFailed(
    _ id: UUID128, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard let sending = outbox.queue.sending(id) else { return }
    switch failure.failureClass {
    case .unauthorized:
      outbox.queue.waitForCredentials(id, newerThan: credentialsCount)
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
    // The server itself did not answer.
    case .otherStatus where failure.isElsewhere:
      retryLater(id, isUnsure: failure.mayFollowSuccess, failure, &step)
    case .badRequest, .notFound, .otherStatus, .closedNormally, .closedRestart, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced, .closedOther:
      failSend(id, Self.reason(of: failure), &step)
    }
  }

  private static func reason(of failure: LinkFailure) -> String {
    guard case .http(let status, _, let detail) = failure else { return "refused" }
    if status == 413 { return detail.isEmpty ? "too long to send" : "too long to send: \(detail)" }
    return detail.isEmpty ? "the server answered \(status)" : detail
  }

  private mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, _ failure: LinkFailure, _ step: inout Step
  ) {
    guard
      let entry = outbox.queue.retryLater(
        id, isUnsure: isUnsure, wish: settings.policy.retry.obeyed(failure.serverWish),
        at: step.now, schedule: settings.sendRetries, chance: &chance)
    else { return }
    writer.put(entry)
    step.show(.notice(.sendFailed(failure)))
    step.show(.outbox(entry))
  }

  private mutating func failSend(_ id: UUID128, _ reason: String, _ step: inout Step) {
    guard let entry = outbox.queue.fail(id, reason) else { return }
    writer.put(entry)
    step.show(.outbox(entry))
  }

  /// Nothing more can be sent: every waiting entry shows why.
  mutating func failSends(_ reason: String, _ step: inout Step) {
    outbox.queue.abandon()  // the try under way may get through all the same
    for entry in outbox.entries {
      if case .queued = entry.state { failSend(entry.id, reason, &step) }
    }
  }

  mutating func expireOutbox(_ step: inout Step) {
    if let id = outbox.queue.expired(at: step.now) { sendFailed(id, .timeout(.response), &step) }
  }
}

extension LinkFailure {
  /// Whether a redirect or a page for people may have been sent after the message was taken: 303 is
  /// for that (RFC 9110 section 15.4.4), any other redirect asks for the same request elsewhere.
  fileprivate var mayFollowSuccess: Bool {
    if case .http(let status, _, _) = self { status < 300 || status == 303 } else { false }
  }
}
