import LinkCore
import LinkWire
import MessageStream

/// A phone of a message stream, told a second time. Its link and its queue are real ones of its
/// own, which have accounts elsewhere.
struct StreamPhoneTwin {
  let settings: StreamSettings
  var link: HeldLink
  var queue: SendQueue<OutboxEntry>
  var chance: Chance
  var now = Instant.zero
  var out: [StreamModel.Effect] = []
  var mode = Mode.closed
  /// The newest messages, in timeline order.
  var kept: [Message] = []
  var gaps: [Gap] = []
  var mend = StreamPhoneMend()
  var pen = StreamPhonePen()
  var past = StreamPhonePast()
  var author: String?
  /// The time of the server at which an entry can have arrived first.
  var floors: [(entry: UUID128, time: Timestamp)] = []
  /// Entries that were looked for in vain.
  var sought: [UUID128] = []
  /// What may be the entry whose try is under way.
  var withheld: (entry: UUID128, message: Message)?
  var wish = Wish.live
  var isReaderBehind = false
  var malformed: [Instant] = []
  var failedLoads = 0
  var tokens: UInt64 = 0
  var fetches: UInt64 = 0
  private var clock: (at: Instant, wall: Timestamp)?

  /// What the store was asked for.
  enum Mode: Equatable {
    case closed
    case loading
    case open
    case broken(retryAt: Instant?)
  }

  init(_ settings: StreamSettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    queue = SendQueue(limit: settings.outboxLimit)
    chance = Chance(seed: ~seed)
    author = settings.user
  }

  // The clock.

  var wall: Timestamp {
    guard let clock else { return Timestamp(nanoseconds: 0) }
    return clock.wall.advanced(by: clock.at.duration(to: now))
  }
  mutating func set(_ wall: Timestamp) { clock = (now, wall) }

  // What is known.

  mutating func show(_ update: StreamUpdate) { out.append(.update(update)) }
  mutating func notice(_ notice: StreamNotice) { show(.notice(notice)) }
  func known(_ id: MessageID) -> Message? { kept.first { $0.id == id } }
  func isSeen(_ id: MessageID) -> Bool { known(id) != nil || pen.holds(id) }
  var allKeys: [TimelineKey] { kept.map(\.key) + pen.messages.map(\.key) }
  var isConnected: Bool { link.status.phase == .connected }
  var isOver: Bool { link.status.phase == .failed }
  var takesNothing: Bool { isReaderBehind || pen.isFull }

  mutating func keep(_ message: Message) {
    kept.insert(message, at: kept.firstIndex { message.key < $0.key } ?? kept.count)
  }

  mutating func trim() {
    while kept.count > settings.memory { kept.removeFirst() }
  }

  mutating func nextFetch() -> FetchID {
    fetches += 1
    return FetchID(fetches)
  }

  mutating func noteCursor() { pen.write(mend.cursor) }

  /// An absence begins, if nothing is missing now.
  mutating func noteWhole() {
    guard mode == .open, isConnected, mend.isSettled, mend.ahead.isEmpty, mend.arrears == nil else {
      return
    }
    mend.cursor.wholeAt = wall
    noteCursor()
  }
}

extension StreamPhoneTwin: Twin {
  typealias Original = StreamModel
  static var name: String { "the phone of a stream" }

  var deadline: Instant? {
    var all = [link.deadline, mend.deadline, past.search?.until, sendDeadline]
    if mode == .open { all.append(pen.again) }
    if case .broken(let due) = mode { all.append(due) }
    return all.compactMap(\.self).min()
  }

  mutating func step(_ input: StreamModel.Input?, at now: Instant) -> [StreamModel.Effect] {
    self.now = now
    out = []
    if let input { take(input) } else { passTime() }
    if mode == .open {
      releaseWithheld()
      sendNext()
    }
    if mode == .open || mode == .closed, let change = pen.hand(at: now) { out.append(change) }
    return out
  }

  private mutating func passTime() {
    if case .broken(let due?) = mode, due <= now { load() }
    if let due = link.deadline, due <= now { follow(link.tick(at: now)) }
    if let due = mend.deadline, due <= now {
      if let run = mend.run {
        fetchFailed(run.id, .timeout(.response))
      } else {
        mend.retryAt = nil
        mend.arrears = nil
        catchUpAgain()
      }
    }
    if let due = past.search?.until, due <= now { searchFailed(.timeout(.response)) }
    if let due = queue.deadline, due <= now, let id = queue.expired(at: now) {
      sendFailed(id, .timeout(.response))
    }
  }

  func difference(from phone: StreamModel, after input: StreamModel.Input?) -> String? {
    let glance = StreamPhoneGlance(
      messages: kept, gaps: gaps, entries: queue.items, ahead: mend.ahead.count,
      unstored: [pen.messages.count, queue.unstoredCount],
      isWhole: mode == .open && link.status.mode != .none && mend.isCurrent && mend.isSettled
        && mend.arrears == nil && mend.ahead.isEmpty && pen.isDone,
      isStored: mode == .loading || isBroken || pen.isDone || pen.refusals > 0,
      hasOlder: hasOlder, maybe: queue.items.map { queue.mayHaveArrived($0.id) })
    let found = StreamPhoneGlance(phone)
    return found == glance ? nil : "says that it has \(found), not \(glance)"
  }

  private var isBroken: Bool { if case .broken = mode { true } else { false } }

  private var hasOlder: Bool {
    guard past.hasMore, let top = past.top else { return false }
    if let place = top.position { return place.offset > 1 }
    return past.shown >= settings.historyPage
  }
}

/// How a phone says that it stands.
struct StreamPhoneGlance: Equatable {
  var messages: [Message]
  var gaps: [Gap]
  var entries: [OutboxEntry]
  var ahead: Int
  var unstored: [Int]
  var isWhole: Bool
  var isStored: Bool
  var hasOlder: Bool
  var maybe: [Bool]
}

extension StreamPhoneGlance {
  init(_ phone: StreamModel) {
    self.init(
      messages: phone.timeline.messages, gaps: phone.gaps, entries: phone.outbox.entries,
      ahead: phone.aheadCount, unstored: [phone.unstoredCount, phone.outbox.unstoredCount],
      isWhole: phone.isWhole, isStored: phone.isStored, hasOlder: phone.hasOlder,
      maybe: phone.outbox.entries.map { phone.outbox.mayHaveArrived($0.id) })
  }
}
