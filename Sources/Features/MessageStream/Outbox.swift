public import LinkCore
public import LinkWire

/// What the user sent and the server has not confirmed: in order, one at a time, never forgotten.
///
/// An entry is stored before its first try, carries one idempotency key for all tries, and leaves
/// only on the server's word or the user's.
public struct Outbox: Sendable, Hashable {
  /// Oldest first.
  public private(set) var entries: [OutboxEntry] = []
  /// The entry whose request is under way, and when it counts as unanswered.
  private(set) var sending: Sending?
  /// Entries that are not stored yet, which must not go out.
  private var unstored: Set<UUID128> = []
  /// Entries whose last try may have reached the server although no answer came.
  private(set) var unsure: Set<UUID128> = []
  /// Those of them that were looked for in vain: a slow server may still take what it was sent.
  private var sought: Set<UUID128> = []
  /// By the server's clock, before what an entry's first try cannot have got through.
  private var floors: [UUID128: Timestamp] = [:]
  /// What came in the words of the entry whose try is under way: it should no answer come.
  private var echo: Echo?
  /// How many answers to tries that were given up may still come.
  private var overdue: [UUID128: Int] = [:]
  /// No try before this.
  private(set) var notBefore: Instant?
  /// A refusal of credentials: wait for new ones.
  private(set) var awaitsCredentials = false

  struct Sending: Sendable, Hashable {
    var id: UUID128
    var until: Instant
    /// Which credentials it went out with.
    var credentials: UInt64
  }

  struct Echo: Sendable, Hashable {
    var entry: UUID128
    var message: Message
  }

  var deadline: Instant? {
    if let sending { return sending.until }
    guard hasQueued, !awaitsCredentials else { return nil }
    return notBefore
  }

  var hasQueued: Bool {
    entries.contains { if case .queued = $0.state { !unstored.contains($0.id) } else { false } }
  }

  /// How many entries the store does not hold: they end with the process.
  public var unstoredCount: Int { unstored.count }

  func isStored(_ id: UUID128) -> Bool { !unstored.contains(id) }

  subscript(id: UUID128) -> OutboxEntry? { entries.first { $0.id == id } }

  /// Takes over what an earlier run left: each may have been tried, and answered to nobody.
  mutating func restore(_ kept: [OutboxEntry], after cursor: Cursor) {
    let known = Set(kept.map(\.id))
    entries = kept + entries.filter { !known.contains($0.id) }
    unsure.formUnion(known)
    for entry in kept { floors[entry.id] = cursor.floor(of: entry) }
  }

  mutating func add(_ entry: OutboxEntry) {
    entries.append(entry)
    unstored.insert(entry.id)
  }

  /// The store has an entry. What waits to be sent since then, to be shown.
  mutating func stored(_ id: UUID128) -> OutboxEntry? {
    guard unstored.remove(id) != nil, let entry = self[id], case .queued = entry.state else {
      return nil
    }
    return entry
  }

  mutating func remove(_ id: UUID128) {
    entries.removeAll { $0.id == id }
    unstored.remove(id)
    unsure.remove(id)
    sought.remove(id)
    overdue[id] = nil
    floors[id] = nil
    if sending?.id == id { sending = nil }
  }

  /// Whether a try went through could not be found out: look again later.
  mutating func postponeUnsure(until: Instant) {
    guard let next = nextQueued, unsure.contains(next.id) else { return }
    notBefore = max(notBefore ?? until, until)
  }

  /// The way it went is gone: the try under way may have reached the server or not.
  mutating func abandon() {
    guard let sending else { return }
    unsure.insert(sending.id)
    overdue[sending.id, default: 0] += 1
    self.sending = nil
  }

  /// An answer came. True when it is the one to the try under way, not to one that was given up.
  mutating func isAnswered(_ id: UUID128) -> Bool {
    if let late = overdue[id], late > 0 {
      overdue[id] = late - 1
      return false
    }
    return sending?.id == id
  }

  /// The entry that a new message of the server can be: its try was made and not answered.
  func claimed(by message: Message, overlap: Duration) -> UUID128? {
    entries.first { entry in
      (unsure.contains(entry.id) || sought.contains(entry.id) || sending?.id == entry.id)
        && message.text == entry.text && message.parent == entry.parent
        && message.createdAt >= floor(of: entry).advanced(by: .zero - overlap)
    }?.id
  }

  /// Keeps back what can be the entry whose try is under way until that is known; false when
  /// something else is kept already.
  mutating func keepBack(_ message: Message, for entry: UUID128) -> Bool {
    guard sending?.id == entry, echo == nil || echo?.message.id == message.id else { return false }
    echo = Echo(entry: entry, message: message)
    return true
  }

  /// What was kept back for a try that is over.
  mutating func takeEcho() -> Message? {
    guard let known = echo, sending?.id != known.entry else { return nil }
    echo = nil
    return known.message
  }

  /// Before the oldest of this no entry can have got through whose fate is not known.
  var oldestUnsure: Timestamp? {
    entries.filter { unsure.contains($0.id) }.map(floor(of:)).min()
  }

  private func floor(of entry: OutboxEntry) -> Timestamp { floors[entry.id] ?? entry.createdAt }

  /// Whether the server may have an entry although it has not said so.
  public func mayHaveArrived(_ id: UUID128) -> Bool {
    unsure.contains(id) || sending?.id == id
  }

  func mayTry(at now: Instant) -> Bool {
    sending == nil && !awaitsCredentials && (notBefore ?? now) <= now
  }

  /// The entry to send now; marks it as under way.
  mutating func take(
    at now: Instant, timeout: Duration, credentials: UInt64, after cursor: Cursor
  ) -> OutboxEntry? {
    guard mayTry(at: now), let next = nextQueued else { return nil }
    notBefore = nil
    floors[next.id] = floors[next.id] ?? cursor.floor(of: next)
    sending = Sending(id: next.id, until: now.advanced(by: timeout), credentials: credentials)
    return next
  }

  /// The first entry that waits; one that failed for good does not hold up those behind it.
  var nextQueued: OutboxEntry? {
    entries.first { if case .queued = $0.state { !unstored.contains($0.id) } else { false } }
  }

  /// The try under way failed in a way that may pass. True when the entry has now failed for good.
  mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, wish: Duration?, at now: Instant, settings: StreamSettings
  ) -> OutboxEntry? {
    sending = nil
    guard let index = entries.firstIndex(where: { $0.id == id }),
      case .queued(let tries) = entries[index].state
    else { return nil }
    if isUnsure { unsure.insert(id) }
    guard tries + 1 < settings.sendAttempts else { return fail(id, "no answer from the server") }
    entries[index].state = .queued(tries: tries + 1)
    let waits = settings.sendRetries
    let wait = Duration.seconds(waits[min(tries, waits.count - 1)])
    notBefore = now.advanced(by: max(wait, settings.obeyed(wish)))
    return entries[index]
  }

  /// The credentials were refused: wait for new ones, unless they are there already.
  mutating func waitForCredentials(newerThan present: UInt64) {
    awaitsCredentials = sending?.credentials == present
    sending = nil
  }

  mutating func credentialsRenewed() { awaitsCredentials = false }

  mutating func fail(_ id: UUID128, _ reason: String) -> OutboxEntry? {
    if sending?.id == id { sending = nil }
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    entries[index].state = .failed(reason: reason)
    return entries[index]
  }

  /// The user asks for another round of tries.
  mutating func retry(_ id: UUID128) -> OutboxEntry? {
    guard let index = entries.firstIndex(where: { $0.id == id }),
      case .failed = entries[index].state
    else { return nil }
    entries[index].state = .queued(tries: 0)
    notBefore = nil
    return entries[index]
  }

  /// A reason to try at once: the network is back, the app is in front.
  mutating func hurry() { notBefore = nil }
  mutating func nowSure(_ ids: Set<UUID128>) {
    sought.formUnion(unsure.intersection(ids))
    unsure.subtract(ids)
  }

  /// Gives up waiting for an answer.
  mutating func expire(at now: Instant) -> UUID128? {
    guard let sending, sending.until <= now else { return nil }
    overdue[sending.id, default: 0] += 1
    return sending.id
  }
}

extension Cursor {
  /// What a server can have stamped an entry with at the earliest that is tried now: the phone's
  /// clock may be wrong by any span, so it counts only where nothing of the server's is known.
  fileprivate func floor(of entry: OutboxEntry) -> Timestamp {
    if let time { return time }
    return wholeAt == nil ? entry.createdAt : Timestamp(nanoseconds: 0)
  }
}
