import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects unnecessary catch-ups and pages, on a server with positions.
///
/// A catch-up is unnecessary if no message can be missing. This is the case when a socket opens and
/// the stored cursor is at the newest reported head, and while the stream is complete and messages
/// arrive in order. A page of older messages is necessary only if a reader waits for it, older
/// messages exist, and the phone does not have the next one.
struct FetchChecker: StreamChecker {
  private(set) var found = Findings()
  private var log: [ShopMessage] = []
  private var head: ShopPosition?
  /// The lowest position of a message that was deleted. Older messages may have been requested
  /// because it existed.
  private var lowestDeleted: UInt64?
  /// The head that the server reported when each socket opened.
  private var stated: [AttemptID: ShopPosition] = [:]
  /// The newest head that an answer reported.
  private var answered: ShopPosition?
  /// The unanswered fetches, with the time of each request.
  private var open: [FetchID: Instant] = [:]
  /// Whether data was rejected or unavailable since the stream was last complete.
  private var isUnsure = false
  /// Whether the stream was complete before the current step.
  private var wasWhole = false
  private var isReading = false
  /// The key of the oldest message shown since the launch.
  private var top: TimelineKey?
  /// Whether a request at this point continues from a page that has just arrived.
  private var goesOn = false
  private var cause = Cause.timer

  /// The cause of the current step.
  private enum Cause {
    case timer
    case opened(AttemptID)
    /// A message that directly follows the stored cursor.
    case inTurn
    /// Any other input that can be a reason for a request.
    case other
  }

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    cause = .other
    goesOn = false
    switch input {
    case .opened(let attempt, _, _, _): if !isLate { cause = .opened(attempt) }
    case .frame(_, .message(let message)): note(message.position, isLate: isLate, facts)
    case .frame(_, .edited(let message)): note(message.changed, isLate: isLate, facts)
    case .frame(_, .deleted(let deletion)): note(deletion.changed, isLate: isLate, facts)
    case .fetched(let id, let page):
      goesOn = true
      answered = page.head ?? answered
      close(id, isWhole: page.recovered && !page.hasNext, facts)
    case .fetchFailed(let id, _): close(id, isWhole: false, facts)
    case .posted(_, let message): if isDisplaced(by: message, facts) { isUnsure = true }
    case .loadOlder: isReading = true
    case .reader, .link(.oversized, at: _), .commitFailed, .loadFailed: isUnsure = true
    case .open, .close, .realtime, .refresh, .send, .edit, .delete, .retry, .discard, .link,
      .credentials, .user, .frame, .edited, .deleted, .uploaded, .uploadRefused, .postFailed,
      .loaded, .committed,
      .older, .olderFailed:
      return
    }
  }

  private mutating func note(_ position: ShopPosition?, isLate: Bool, _ facts: Facts) {
    guard !isLate, let cursor = facts.own.disk.cursor.position, position?.follows(cursor) ?? false
    else { return }
    cause = .inTurn
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .fetch(let id, let query):
      defer { open[id] = facts.now }
      guard facts.own.server == .positions else { return }
      switch query {
      case .before(let position, _): check(before: position, facts)
      case .page, .since, .newest: if !isReading { check(facts) }
      case .after, .changes, .beforeID, .afterID: check(facts)
      }
    case .update(.history): isReading = false
    case .update(.messages(let messages, _)):
      if let first = messages.first?.key { top = min(top ?? first, first) }
    case .open, .close, .ping, .refreshCredentials, .post, .upload, .load, .commit, .readOlder,
      .update:
      return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    cause = .timer
    switch seen {
    case .launched:
      open = [:]
      stated = [:]
      answered = nil
      isUnsure = false
      wasWhole = false
      isReading = false
      top = nil
    case .fact(.accepted(let message, isNew: true)):
      log.append(message)
      head = message.position
    case .fact(.stated(let attempt, let head)): stated[attempt] = head
    case .fact(.changed(let event)):
      head = event.position ?? head
      if case .deleted(let deletion) = event {
        log.removeAll { $0.id == deletion.id }
        lowestDeleted = min(lowestDeleted ?? .max, deletion.position.offset)
      }
    case .fact(.beganAnew(let head, let retained)):
      log = retained
      self.head = head
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began, .ended, .calm, .fact:
      return
    }
  }

  mutating func stepEnded(_ facts: Facts) {
    wasWhole = facts.own.isWhole && facts.status.phase == .connected
    if wasWhole { isUnsure = false }
    cause = .timer
  }

  private mutating func close(_ id: FetchID, isWhole: Bool, _ facts: Facts) {
    let asked = open.removeValue(forKey: id)
    // An answer after the time-out is ignored.
    let isInTime = asked.map { $0.duration(to: facts.now) < facts.own.settings.fetchTimeout }
    isUnsure = isUnsure && !isWhole || !(isWhole && isInTime ?? false)
  }

  /// Returns whether the server gave one of the user's messages a position that the stored cursor
  /// already covers.
  ///
  /// In that case the log was restored to an earlier state.
  private func isDisplaced(by message: ShopMessage, _ facts: Facts) -> Bool {
    guard let position = message.position, let cursor = facts.own.disk.cursor.position,
      facts.own.disk.messages[message.id] == nil
    else { return false }
    return position.epoch == cursor.epoch && position.offset <= cursor.offset
  }

  private mutating func check(_ facts: Facts) {
    let isNeedless =
      switch cause {
      case .opened(let attempt):
        !isUnsure && open.isEmpty && nothingIsNew(at: attempt, facts)
      case .timer: wasWhole && head != nil && facts.own.disk.cursor.position == head
      case .inTurn: wasWhole
      case .other: false
      }
    guard isNeedless else { return }
    found.add(.needless, at: facts.now, "a catch-up was requested although nothing was missing")
  }

  /// Returns whether the socket's head equals the stored cursor and no answer reported a later
  /// head.
  ///
  /// A head that moves backwards is a reason for a request.
  private func nothingIsNew(at attempt: AttemptID, _ facts: Facts) -> Bool {
    guard let stated = stated[attempt], stated == facts.own.disk.cursor.position
    else { return false }
    guard let answered, answered.epoch == stated.epoch else { return true }
    return answered.offset <= stated.offset
  }

  private mutating func check(before position: ShopPosition, _ facts: Facts) {
    let disk = facts.own.disk
    // After the log started over, the pages go down to the oldest message on the screen.
    let isOfNewLog = disk.cursor.position.map { $0.epoch != position.epoch } ?? false
    if !isReading, !isOfNewLog {
      found.add(.needless, at: facts.now, "older messages were requested although no reader waits")
    }
    // The checks below do not apply to an older epoch. They also do not apply if the log started
    // over and the client has not received its new epoch.
    guard let epoch = head?.epoch, position.epoch == epoch, position.offset >= 1,
      disk.cursor.position.map({ $0.epoch == epoch }) ?? true
    else { return }
    let index = log.end { $0.position?.offset ?? 0 < position.offset }
    guard log.indices.contains(index), log[index].position == position,
      !disk.gaps.contains(where: { Self.ends($0, above: log[index].id, at: position, disk) })
    else { return }
    guard index > 0 else {
      if lowestDeleted.map({ $0 < position.offset }) ?? false { return }
      found.add(.needless, at: facts.now, "older messages were requested where history begins")
      return
    }
    // Offsets of edits and deletions hide from the client that a message is the next one.
    let next = log[index - 1]
    guard let before = next.position, position.follows(before) else { return }
    // Paging through a gap that ends in an older epoch continues by time.
    guard !goesOn, let stored = disk.messages[next.id], !isForgotten(stored, facts) else { return }
    found.add(.needless, at: facts.now, "a page was requested that is stored: \(next.text)")
  }
}

extension FetchChecker {
  /// Returns whether a message is no longer in memory, although it is newer than the oldest shown
  /// message. Such a message is not requested from the store.
  ///
  /// This occurs if a clock was set back, or if the log lost messages that are shown.
  private func isForgotten(_ stored: ShopMessage, _ facts: Facts) -> Bool {
    guard let top, top < stored.key else { return false }
    return !facts.own.disk.isNewest(stored.key, of: facts.own.settings.memory)
  }

  /// Returns whether a gap ends at a message of the log, or at the message's position.
  ///
  /// The message after a gap may be one that the log lost when it was restored. A message that was
  /// stored before the log started over keeps its earlier position.
  private static func ends(
    _ gap: ShopGap, above id: MessageID, at position: ShopPosition, _ disk: StoredTimeline
  ) -> Bool {
    gap.before.id == id || disk.messages[gap.before.id]?.position == position
  }
}

extension ShopPosition {
  /// Returns whether the position directly follows another position in the same log.
  fileprivate func follows(_ other: ShopPosition) -> Bool {
    epoch == other.epoch && offset == other.offset + 1
  }
}
