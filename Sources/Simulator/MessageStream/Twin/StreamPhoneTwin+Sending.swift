import LinkCore
import LinkWire
import MessageStream

// What the twin sends, and looks for first on servers that know no keys.
extension StreamPhoneTwin {
  mutating func send(_ text: String, _ parent: MessageID?, _ wall: Timestamp) {
    set(wall)
    var entry = OutboxEntry(
      id: .random(using: &chance), shop: settings.shop, text: text, parent: parent,
      createdAt: wall)
    if queue.add(entry) {
      pen.put(entry)
    } else {
      entry.state = .failed(reason: "too many messages wait to be sent")
      show(.outbox(entry))
    }
  }

  /// Keeps an entry with its new state, and shows it.
  mutating func note(_ entry: OutboxEntry) {
    pen.put(entry)
    show(.outbox(entry))
  }

  /// An entry is gone.
  mutating func drop(_ id: UUID128) {
    queue.remove(id)
    sought = sought.filter { $0 != id }
    floors = floors.filter { $0.entry != id }
    pen.remove(id)
  }

  mutating func fail(_ id: UUID128, _ reason: String) {
    if let entry = queue.fail(id, reason) { note(entry) }
  }

  // When something is sent.

  private var maySend: Bool {
    mode == .open && link.isWanted && !isOver && link.status.phase != .held
  }

  /// Whether the first cursor is on its way to the store.
  private var awaitsCursor: Bool { mend.cursor.isKnown && !mend.isCursorKept }

  private func needsLook(_ entry: OutboxEntry) -> Bool {
    if mend.hasPositions == true { return false }
    if queue.unsure.contains(entry.id) { return true }
    return !mend.isCursorKept && !settings.sendsOnly
  }

  /// The entry whose turn it is.
  private var turn: OutboxEntry? {
    queue.oldestQueued.flatMap { queue.isSending($0.lane) ? nil : $0 }
  }

  var sendDeadline: Instant? {
    guard maySend else { return nil }
    if let entry = turn, needsLook(entry), mend.run != nil || awaitsCursor { return nil }
    return queue.deadline
  }

  mutating func postpone(until instant: Instant) {
    guard let next = queue.oldestQueued, needsLook(next) else { return }
    queue.pause(next.lane, until: instant)
    if let entry = queue.postpone(next.id) { note(entry) }
  }

  mutating func sendNext() {
    guard maySend, let entry = turn else { return }
    if needsLook(entry) {
      if mend.run == nil, !awaitsCursor, queue.mayTry(entry.lane, at: now) { catchUp(.refresh) }
      return
    }
    let timeout = settings.fetchTimeout + settings.fetchTimeout
    guard let next = queue.take(at: now, timeout: timeout, credentials: tokens) else { return }
    if !floors.contains(where: { $0.entry == next.id }) {
      floors.append((next.id, floor(of: next, after: mend.cursor)))
    }
    if let number = queue.sending(next.id)?.number { out.append(.post(next, try: number)) }
  }

  // What the server may have.

  /// The first time that a server can give to an entry that is tried now.
  func floor(of entry: OutboxEntry, after cursor: Cursor) -> Timestamp {
    cursor.time ?? (cursor.wholeAt == nil ? entry.createdAt : Timestamp(nanoseconds: 0))
  }

  private func floor(of entry: OutboxEntry) -> Timestamp {
    floors.first { $0.entry == entry.id }?.time ?? entry.createdAt
  }

  var oldestUnsure: Timestamp? {
    queue.items.filter { queue.unsure.contains($0.id) }.map { floor(of: $0) }.min()
  }

  /// Whether a message waits for the end of a try that it may be the answer of. One that is an
  /// entry whose try has ended ends that entry.
  mutating func withholds(_ message: Message) -> Bool {
    guard message.position == nil, message.user == author else { return false }
    for entry in queue.items where message.text == entry.text && message.parent == entry.parent {
      let isTrying = queue.sending(entry.id) != nil
      guard isTrying || queue.unsure.contains(entry.id) || sought.contains(entry.id),
        message.createdAt >= floor(of: entry).advanced(by: .zero - settings.overlap)
      else { continue }
      if isTrying {
        if let withheld, withheld.message.id != message.id { return false }
        withheld = (entry.id, message)
        return true
      }
      drop(entry.id)
      show(.outboxDone(entry.id, message: message.id))
      return false
    }
    return false
  }

  mutating func releaseWithheld() {
    guard let (entry, message) = withheld, queue.sending(entry) == nil else { return }
    withheld = nil
    add([message], .live)
  }

  // Answers.

  mutating func posted(_ id: UUID128, _ message: Message) {
    drive(.requested(nil))
    guard queue[id] != nil else { return }
    author = message.user
    drop(id)
    takeLive(message, answers: true)
    show(.outboxDone(id, message: message.id))
    drive(.trigger(.messageSent))
  }

  mutating func sendFailed(_ id: UUID128, _ failure: LinkFailure) {
    guard let attempt = queue.sending(id) else { return }
    switch failure.failureClass {
    case .timeout, .silent, .reset, .ended, .serverError, .protocolError:
      tryLater(id, failure, isUnsure: true)
    case .unreachable, .dns, .refused, .proxy, .captivePortal, .local, .unavailable,
      .tooManyRequests:
      tryLater(id, failure, isUnsure: false)
    case .unauthorized:
      queue.waitForCredentials(id, newerThan: tokens)
      if attempt.credentials >= tokens { drive(.requested(failure)) }
    case .forbidden:
      fail(id, "no member of this shop")
      drive(.requested(failure))
    case .tls:
      fail(id, "the server's certificate was refused")
      drive(.requested(failure))
    case .badRequest, .notFound, .otherStatus, .closedNormally, .closedRestart, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced, .closedOther:
      fail(id, Self.words(failure))
    }
  }

  private static func words(_ failure: LinkFailure) -> String {
    guard case .http(let status, _, let detail) = failure else { return "refused" }
    if status == 413 { return "too long to send" + (detail.isEmpty ? "" : ": " + detail) }
    return detail.isEmpty ? "the server answered \(status)" : detail
  }

  private mutating func tryLater(_ id: UUID128, _ failure: LinkFailure, isUnsure: Bool) {
    let wish = settings.policy.retry.obeyed(failure.serverWish)
    let entry = queue.retryLater(
      id, isUnsure: isUnsure, wish: wish, at: now, schedule: settings.sendRetries, chance: &chance)
    guard let entry else { return }
    pen.put(entry)
    notice(.sendFailed(failure))
    show(.outbox(entry))
  }
}
