import LinkCore
import LinkWire
import MessageStream

/// What a phone hands to its store, told a second time: one change at the store, one behind it.
struct StreamPhonePen {
  /// A change with what is said of it once it is kept.
  struct Sheet {
    var change = TimelineChange()
    /// How the messages of the change came.
    var ways: [Via] = []
    var servesReader = false

    func message(_ id: MessageID) -> Message? { change.messages.last { $0.id == id } }
  }

  /// What the store works on, or refused.
  private(set) var given: Sheet?
  private(set) var next = Sheet()
  private(set) var refusals = 0
  /// When what was refused is given again.
  private(set) var again: Instant?
  private var count: UInt64 = 0

  var messages: [Message] { (given?.change.messages ?? []) + next.change.messages }
  var isDone: Bool { given == nil && next.change.isEmpty }
  var isFull: Bool { next.change.messages.count >= 2000 }

  func holds(_ id: MessageID) -> Bool { messages.contains { $0.id == id } }

  /// Whether a message says later words than the ones on their way.
  func isOutdated(by message: Message) -> Bool {
    guard let held = next.message(message.id) ?? given?.message(message.id) else { return false }
    return message.isLater(than: held)
  }

  mutating func add(_ messages: [Message], _ via: Via) {
    // Those that one page names twice are no edits of each other.
    let waiting = next.change.messages.map(\.id)
    for message in messages {
      let place = next.change.messages.lastIndex { $0.id == message.id }
      if let place, waiting.contains(message.id) {
        next.change.messages[place] = message
      } else {
        next.change.messages.append(message)
        next.ways.append(via)
      }
    }
  }

  mutating func write(_ cursor: Cursor) { next.change.cursor = cursor }
  mutating func write(_ gaps: [Gap]) { next.change.gaps = gaps }
  mutating func serveReader() { next.servesReader = true }

  mutating func put(_ entry: OutboxEntry) {
    next.change.outboxPut = next.change.outboxPut.filter { $0.id != entry.id } + [entry]
  }

  mutating func remove(_ id: UUID128) {
    next.change.outboxPut = next.change.outboxPut.filter { $0.id != id }
    next.change.outboxRemove.append(id)
  }

  /// What the store is given now, if it has time for it.
  mutating func hand(at now: Instant) -> StreamModel.Effect? {
    if given != nil {
      guard let due = again, due <= now else { return nil }
      again = nil
    } else {
      if next.change.isEmpty, !next.servesReader { return nil }
      given = next
      next = Sheet()
    }
    count += 1
    return given.map { .commit(CommitID(count), $0.change) }
  }

  mutating func kept(_ id: CommitID) -> Sheet? {
    guard id.number == count, let done = given else { return nil }
    given = nil
    refusals = 0
    return done
  }

  /// False for an answer that is late.
  mutating func refuse(_ id: CommitID, at now: Instant) -> Bool {
    guard id.number == count, given != nil else { return false }
    refusals += 1
    again = now.advanced(by: Self.pause(refusals))
    return true
  }

  /// Twice as long each time, from a second to half a minute.
  static func pause(_ times: Int) -> Duration {
    .seconds([1, 1, 2, 4, 8, 16, 30][min(times, 6)])
  }
}

extension Message {
  /// Whether these are later words of the same message.
  func isLater(than kept: Message) -> Bool {
    guard let time = updatedAt else { return false }
    return time > (kept.updatedAt ?? kept.createdAt)
  }
}
