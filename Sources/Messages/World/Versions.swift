import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects older texts than the server's, and deleted messages that are still shown.
///
/// With events, the stored cursor covers edits and deletions, too, and after calm each stored
/// message has the server's last version. A plain server sends no events: after a refresh only the
/// messages of its newest page have their last versions. What is removed was deleted, with any server.
struct Versions: StreamChecker {
  private(set) var found = Findings()
  /// The messages of the server's log, in their last versions.
  private var current: [MessageID: ShopMessage] = [:]
  /// The order in which a plain server accepted them.
  private var order: [MessageID] = []
  private var deleted: [MessageID: ShopDeletion] = [:]
  private var head: ShopPosition?
  /// The edits and deletions that the stored cursor does not cover yet, in order.
  private var due: [(offset: UInt64, id: MessageID)] = []
  /// The messages of the stored edits and deletions, by entry.
  private var targets: [UUID128: MessageID] = [:]
  /// The messages of which the server said that they do not exist.
  private var missing: Set<MessageID> = []
  /// The messages whose deletion the phone has stored.
  private var gone: Set<MessageID> = []
  /// The messages as they are shown in this run of the process.
  private var screen: [MessageID: ShopMessage] = [:]
  /// The messages whose earlier changes the phone cannot learn about, since the log began anew or
  /// forgot them.
  private var unpromised: Set<MessageID> = []
  private var isCalm = false
  /// Whether the user refreshed the screen after calm.
  private var isRefreshed = false
  /// The offset that the cursor must reach after the log began anew or forgot events; `nil` at
  /// other times.
  private var settlesAt: UInt64?

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    if case .refresh = input { isRefreshed = isCalm }
    if let id = input.goneEntry, let target = targets[id] { missing.insert(target) }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    guard case .update(let update) = effect else { return }
    switch update {
    case .messages(let messages, _), .edited(let messages):
      for message in messages { screen[message.id] = message }
    case .deleted(let deletions):
      for deletion in deletions { screen[deletion.id] = nil }
    case .status, .outbox, .outboxDone, .history, .gap, .gapClosed, .notice: return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .launched: screen = [:]
    case .fact(.accepted(let message, isNew: true)):
      current[message.id] = message
      order.append(message.id)
      head = message.position
    case .fact(.changed(let event)): change(event)
    case .fact(.beganAnew(let head, let retained)): beginAnew(head, retained, facts)
    case .fact(.forgot):
      settlesAt = head?.offset
      forget(facts)
    case .fact(.stored(let change, _)): stored(change, facts)
    case .calm: isCalm = true
    case .fact, .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost,
      .wentDead, .server, .began, .ended:
      return
    }
  }

  private mutating func change(_ event: ShopEvent) {
    guard let position = event.position else { return }
    head = position
    switch event {
    case .posted: return
    case .edited(let message):
      current[message.id] = message
      note(message.id, at: position.offset)
    case .deleted(let deletion):
      current[deletion.id] = nil
      deleted[deletion.id] = deletion
      note(deletion.id, at: position.offset)
    }
  }

  private mutating func note(_ id: MessageID, at offset: UInt64) {
    due.append((offset, id))
    if settlesAt == nil { unpromised.remove(id) }
  }

  private mutating func beginAnew(
    _ head: ShopPosition, _ retained: [ShopMessage], _ facts: Facts
  ) {
    current = [:]
    for message in retained { current[message.id] = message }
    order = retained.map(\.id)
    deleted = [:]
    gone = []
    self.head = head
    settlesAt = 1
    forget(facts)
  }

  private mutating func forget(_ facts: Facts) {
    due = []
    unpromised.formUnion(facts.own.disk.messages.keys)
  }

  private mutating func stored(_ change: TimelineChange, _ facts: Facts) {
    for entry in change.outboxPut { targets[entry.id] = entry.target }
    if settlesAt != nil { unpromised.formUnion(change.messages.map(\.id)) }
    for deletion in change.deletions {
      if let message = current[deletion.id], settlesAt == nil, !missing.contains(deletion.id) {
        found.add(.lost, at: facts.now, "removed, and not deleted: \(message.text)")
      }
      gone.insert(deletion.id)
    }
    for message in change.messages where gone.contains(message.id) {
      guard current[message.id] == nil, facts.own.disk.messages[message.id] != nil else { continue }
      found.add(.outdated, at: facts.now, "stored again after its deletion: \(message.text)")
    }
    settle(facts)
    checkCursor(facts)
  }

  /// Whether the server sends events to this phone.
  private func hasEvents(_ facts: Facts) -> Bool {
    facts.own.server == .positions && facts.own.settings.wantsEvents
  }

  private mutating func settle(_ facts: Facts) {
    if facts.own.server == .plain { settlesAt = nil }
    guard let offset = settlesAt, let head, let cursor = facts.own.disk.cursor.position,
      cursor.epoch == head.epoch, offset <= cursor.offset, cursor.offset <= head.offset
    else { return }
    settlesAt = nil
  }

  /// Checks that the stored messages have the versions up to the cursor.
  ///
  /// The server sends each message in its last version only. So an event that a later one of the
  /// same message replaced may never arrive.
  private mutating func checkCursor(_ facts: Facts) {
    guard hasEvents(facts), settlesAt == nil, let head,
      let cursor = facts.own.disk.cursor.position, cursor.epoch == head.epoch
    else { return }
    let count = due.firstIndex { $0.offset > cursor.offset } ?? due.count
    for (offset, id) in due.prefix(count) {
      // The reader's pages bring the last versions of messages in a gap.
      guard let message = facts.own.disk.messages[id], !unpromised.contains(id),
        !facts.own.disk.hasGap(at: message.key)
      else { continue }
      if let deletion = deleted[id], deletion.changed.offset == offset {
        found.add(.early, at: facts.now, "the cursor is past a deletion: \(message.text)")
      } else if let edited = current[id], edited.changed?.offset == offset,
        edited.text != message.text
      {
        found.add(.early, at: facts.now, "the cursor is past an edit: \(edited.text)")
      }
    }
    due.removeFirst(count)
  }

  mutating func conclude(_ facts: Facts) {
    let disk = facts.own.disk
    checkScreen(facts)
    let isPlain = facts.own.server == .plain
    guard isPlain ? isRefreshed : hasEvents(facts) else { return }
    let page = isPlain ? newestPage(facts) : []
    let wrong = disk.ordered.compactMap { key -> String? in
      guard let message = disk.messages[key.id],
        !unpromised.contains(key.id), !isPlain || page.contains(key.id)
      else { return nil }
      guard let last = current[key.id] else {
        return deleted[key.id] == nil ? nil : "\(message.text) (deleted)"
      }
      return last.text == message.text ? nil : "\(message.text) (now \(last.text))"
    }
    report(wrong, "after calm, the phone has old versions", facts)
  }

  private mutating func checkScreen(_ facts: Facts) {
    let stored = facts.own.disk.messages
    let shown = screen.values.filter { $0.text != stored[$0.id]?.text }.map(\.text).sorted()
    report(shown, "the screen differs from the store", facts)
  }

  private mutating func report(_ wrong: [String], _ what: String, _ facts: Facts) {
    guard !wrong.isEmpty else { return }
    let texts = wrong.prefix(5).joined(separator: ", ")
    found.add(.outdated, at: facts.now, "\(what): \(wrong.count) (\(texts))")
  }

  /// Returns the messages on the newest page of a plain server.
  private func newestPage(_ facts: Facts) -> Set<MessageID> {
    let limit = min(facts.own.settings.historyPage, facts.own.settings.catchUpPage)
    switch facts.own.pages {
    case .arrival: return Set(order.filter { current[$0] != nil }.suffix(limit))
    case .stamp: return Set(current.values.map(\.key).sorted().suffix(limit).map(\.id))
    }
  }
}
