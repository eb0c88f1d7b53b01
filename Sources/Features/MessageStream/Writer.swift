import LinkCore
import LinkStorage
import LinkWire

/// Hands changes to the store one at a time: what comes meanwhile waits in one batch behind.
///
/// A change that the store refused is kept and tried again, so nothing is lost; the cursor of later
/// changes waits behind it, so nothing is acknowledged before it is stored.
struct Writer: Sendable, Hashable {
  /// A change, and how each of its messages came.
  struct Batch: Sendable, Hashable {
    var change = TimelineChange()
    var ways: [Via] = []
    var ids: Set<MessageID> = []
    /// The memory that its messages take.
    var bytes = 0
    /// Whether the reader of history waits for this batch.
    var feedsHistory = false
  }

  struct InFlight: Sendable, Hashable {
    var id: CommitID
    var batch: Batch
  }

  var inFlight: InFlight?
  var waiting = Batch()
  var retryAt: Instant?
  var failures = 0
  var lastID: UInt64 = 0

  /// Whether a message is on its way to the store.
  func holds(_ id: MessageID) -> Bool {
    waiting.ids.contains(id) || inFlight?.batch.ids.contains(id) ?? false
  }

  /// Whether a message is a later text of one that is on its way to the store.
  func isEdited(by message: Message) -> Bool {
    guard message.updatedAt != nil else { return false }
    let batch = waiting.ids.contains(message.id) ? waiting : inFlight?.batch
    let held = batch?.change.messages.last { $0.id == message.id }
    return held.map(message.isEdit) ?? false
  }

  /// What is on its way to the store.
  var messages: [Message] { (inFlight?.batch.change.messages ?? []) + waiting.change.messages }

  /// How many messages are on their way to the store.
  var count: Int { (inFlight?.batch.change.messages.count ?? 0) + waiting.change.messages.count }
  /// Whether nothing is under way and nothing waits.
  var isDone: Bool { inFlight == nil && waiting.change.isEmpty }

  var isFull: Bool {
    waiting.change.messages.count >= StreamSettings.unstored
      || waiting.bytes >= StreamSettings.unstoredBytes
  }

  /// Hands messages to the next change; an edit of one that waits takes its place.
  mutating func add(_ messages: [Message], via: Via) {
    let new = messages.filter { !replace($0) }
    waiting.change.messages += new
    waiting.ways += new.map { _ in via }
    waiting.ids.formUnion(new.map(\.id))
    waiting.bytes += new.reduce(0) { $0 + $1.footprint }
  }

  private mutating func replace(_ message: Message) -> Bool {
    guard waiting.ids.contains(message.id),
      let index = waiting.change.messages.lastIndex(where: { $0.id == message.id })
    else { return false }
    waiting.bytes += message.footprint - waiting.change.messages[index].footprint
    waiting.change.messages[index] = message
    return true
  }

  mutating func set(cursor: Cursor) { waiting.change.cursor = cursor }
  mutating func set(gaps: [Gap]) { waiting.change.gaps = gaps }
  mutating func feedHistory() { waiting.feedsHistory = true }

  mutating func put(_ entry: OutboxEntry) {
    waiting.change.outboxPut.removeAll { $0.id == entry.id }
    waiting.change.outboxPut.append(entry)
  }

  mutating func remove(_ id: UUID128) {
    waiting.change.outboxPut.removeAll { $0.id == id }
    waiting.change.outboxRemove.append(id)
  }

  /// The next change to hand over; `nil` while one is under way, has to wait, or none is there.
  mutating func next(at now: Instant) -> (CommitID, TimelineChange)? {
    if let retryAt, retryAt > now { return nil }
    if let refused = inFlight, retryAt != nil {
      retryAt = nil
      lastID += 1
      inFlight = InFlight(id: CommitID(lastID), batch: refused.batch)
      return (CommitID(lastID), refused.batch.change)
    }
    guard inFlight == nil, !waiting.change.isEmpty || waiting.feedsHistory else { return nil }
    lastID += 1
    let batch = waiting
    waiting = Batch()
    inFlight = InFlight(id: CommitID(lastID), batch: batch)
    return (CommitID(lastID), batch.change)
  }

  /// The store has it; answers with the batch, or `nil` for a late answer.
  mutating func committed(_ id: CommitID) -> Batch? {
    guard let done = inFlight, done.id == id else { return nil }
    inFlight = nil
    failures = 0
    return done.batch
  }

  /// The store refused it; false for a late answer. Tried again after 1, 2, 4 … 30 s.
  mutating func refused(_ id: CommitID, at now: Instant) -> Bool {
    guard inFlight?.id == id else { return false }
    failures += 1
    retryAt = now.advanced(by: Self.wait(after: failures))
    return true
  }

  /// 1, 2, 4 … 30 s.
  static func wait(after failures: Int) -> Duration {
    .seconds(min(30, 1 << min(failures - 1, 5)))
  }
}

extension Writer: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      waiting.ways.count == waiting.change.messages.count,
      "writer: it knows how each message came")
    check.require(
      retryAt == nil || (inFlight != nil && failures > 0),
      "writer: only a refused change is tried again")
    if let inFlight {
      check.require(inFlight.id.number <= lastID, "writer: the change under way was numbered")
    }
    guard check.isThorough else { return }
    check.require(
      waiting.bytes == waiting.change.messages.reduce(0) { $0 + $1.footprint },
      "writer: it knows the memory of what waits")
    check.require(
      waiting.ids == Set(waiting.change.messages.map(\.id)), "writer: it knows the ids that wait")
  }
}
