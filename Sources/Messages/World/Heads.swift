import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects a stream that reports right after connecting that it is complete,
/// although its cursor is not at the head that the server reported.
///
/// For example, the head may be in another epoch. While the socket opens, an answer to a post or a
/// page may move the cursor beyond the reported head. The cursor must then lie within the log. The
/// log is shorter if it was restored to an earlier state.
struct Heads: StreamChecker {
  private(set) var found = Findings()
  /// The end of the server's log.
  private var end: ShopPosition?
  private var stated: [AttemptID: ShopPosition] = [:]
  private var opened: AttemptID?

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    opened = nil
    if case .opened(let attempt, _, _, _) = input, !isLate { opened = attempt }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    opened = nil
    switch seen {
    case .launched: stated = [:]
    case .fact(.stated(let attempt, let head)): stated[attempt] = head
    case .fact(.accepted(let message, isNew: true)): end = message.position
    case .fact(.changed(let event)): end = event.position ?? end
    case .fact(.beganAnew(let head, _)): end = head
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began,
      .ended, .calm, .fact:
      return
    }
  }

  mutating func stepEnded(_ facts: Facts) {
    defer { opened = nil }
    guard let opened, let head = stated[opened], facts.own.isWhole,
      facts.status.phase == .connected, facts.own.disk.cursor.position != head,
      !isBeyond(facts.own.disk.cursor.position, head)
    else { return }
    found.add(.lost, at: facts.now, "reports that it is complete although the head is \(head)")
  }

  /// Returns whether a cursor lies beyond a head but within the log.
  private func isBeyond(_ cursor: ShopPosition?, _ head: ShopPosition) -> Bool {
    guard let cursor, let end, cursor.epoch == head.epoch, cursor.epoch == end.epoch else {
      return false
    }
    return head.offset < cursor.offset && cursor.offset <= end.offset
  }
}

/// A checker that detects edits that arrive over a socket and are not stored, although their
/// message is in memory.
struct Edits: StreamChecker {
  private(set) var found = Findings()
  /// For each message, its newest edit that has not been stored.
  private var pending: [MessageID: ShopMessage] = [:]
  private var isReaderBehind = false

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    switch input {
    case .reader(let isBehind): isReaderBehind = isBehind
    case .frame(_, .message(let message)):
      guard !isLate, !isReaderBehind, message.updatedAt != nil, isInMemory(message, facts) else {
        return
      }
      pending[message.id] = message
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .edit, .delete, .retry, .discard,
      .link, .credentials, .user, .opened, .frame, .fetched, .fetchFailed, .posted, .edited,
      .deleted,
      .uploaded, .uploadRefused, .postFailed, .loaded,
      .loadFailed, .committed,
      .commitFailed, .older, .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .launched:
      // Edits that were not stored are lost with the process. No catch-up fetches them.
      pending = [:]
      isReaderBehind = false
    case .fact(.stored(let change, _)):
      guard !pending.isEmpty else { return }
      for message in change.messages {
        guard let edited = pending[message.id]?.updatedAt, let stored = message.updatedAt,
          stored >= edited
        else { continue }
        pending[message.id] = nil
      }
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began,
      .ended, .calm, .fact:
      return
    }
  }

  mutating func conclude(_ facts: Facts) {
    guard !pending.isEmpty else { return }
    let texts = pending.values.map(\.text).sorted().prefix(5).joined(separator: ", ")
    found.add(.lost, at: facts.now, "received edits were not stored: \(texts)")
  }

  /// Returns whether an edit is newer than the stored text, and its message is in memory.
  private func isInMemory(_ message: ShopMessage, _ facts: Facts) -> Bool {
    let disk = facts.own.disk
    guard let stored = disk.messages[message.id], let edited = message.updatedAt,
      edited > stored.updatedAt ?? stored.createdAt
    else { return false }
    return disk.isNewest(stored.key, of: facts.own.settings.memory)
  }
}
