import LinkCore
import LinkWire
import Session

/// The prompts of a phone that have no end, and those that failed, as they must stand.
struct SessionOutbox: Sendable {
  private(set) var all: [KeptPrompt] = []
  /// Prompts that the store does not hold.
  private var unstored: Set<UUID128> = []
  /// Prompts that the server may have without having said so.
  private(set) var unsure: Set<UUID128> = []
  /// The prompts under way, and when each counts as unanswered.
  private(set) var underWay: [(key: UUID128, until: Instant)] = []
  /// Until when nothing of a conversation is tried.
  private var pauses: [String: Instant] = [:]
  /// When prompts become stale.
  private(set) var stale: [(key: UUID128, at: Instant)] = []
  /// The states that the user was told.
  var told: [UUID128: SessionPromptState.State] = [:]

  subscript(key: UUID128) -> KeptPrompt? { all.first { $0.id == key } }

  func isUnderWay(_ key: UUID128) -> Bool { underWay.contains { $0.key == key } }
  func mayBeThere(_ key: UUID128) -> Bool { unsure.contains(key) || isUnderWay(key) }

  /// The oldest prompt of a conversation that has no end.
  func open(in conversation: String) -> KeptPrompt? {
    all.first { $0.conversation == conversation && !$0.isFailed }
  }

  var deadline: Instant? {
    let waits = pauses.filter { conversation, _ in
      let isBusy = underWay.contains { self[$0.key]?.conversation == conversation }
      return !isBusy && all.contains { $0.conversation == conversation && mayGo($0) }
    }
    return (underWay.map(\.until) + waits.values).min()
  }

  private func mayGo(_ prompt: KeptPrompt) -> Bool {
    !prompt.isFailed && !unstored.contains(prompt.id)
  }

  mutating func restore(_ kept: [KeptPrompt], at now: Instant) {
    all = kept
    unsure = Set(kept.map(\.id))
    for prompt in kept {
      watch(prompt, at: now)
      if !prompt.isFailed { told[prompt.id] = prompt.isAccepted ? .accepted : .queued }
    }
  }

  /// Takes in a prompt, up to 1,000 of them.
  mutating func add(_ prompt: KeptPrompt) -> Bool {
    guard all.count < 1_000 else { return false }
    all.append(prompt)
    unstored.insert(prompt.id)
    return true
  }

  /// The store holds a prompt; returns it if it was new there and waits.
  mutating func store(_ key: UUID128) -> KeptPrompt? {
    guard unstored.remove(key) != nil, let prompt = self[key], !prompt.isFailed else { return nil }
    return prompt
  }

  mutating func change(_ key: UUID128, _ body: (inout KeptPrompt) -> Void) {
    for index in all.indices where all[index].id == key { body(&all[index]) }
  }

  mutating func remove(_ key: UUID128) {
    all.removeAll { $0.id == key }
    unstored.remove(key)
    unsure.remove(key)
    stop(key)
    unwatch(key)
    told[key] = nil
  }

  // Time.

  mutating func watch(_ prompt: KeptPrompt, at now: Instant) {
    guard !prompt.isFailed, !prompt.isAccepted else { return }
    stale.append((prompt.id, now.advanced(by: .seconds(60))))
  }

  mutating func unwatch(_ key: UUID128) { stale.removeAll { $0.key == key } }

  /// Returns the prompts that have become stale.
  mutating func takeStale(at now: Instant) -> [UUID128] {
    let due = stale.prefix { $0.at <= now }.map(\.key)
    stale.removeFirst(due.count)
    return due.filter { self[$0].map { !$0.isFailed && !$0.isAccepted } ?? false }
  }

  mutating func endPauses(at now: Instant) {
    for (conversation, until) in pauses where until <= now { pauses[conversation] = nil }
  }

  /// The prompt under way that had no answer in time.
  func late(at now: Instant) -> UUID128? { underWay.first { $0.until <= now }?.key }

  // Tries.

  /// Returns the next prompt that may go, which is under way from now on: one of each conversation
  /// at a time, in their order.
  mutating func next(
    at now: Instant, for time: Duration, butNot held: Set<UUID128>
  ) -> KeptPrompt? {
    var closed = Set(underWay.compactMap { self[$0.key]?.conversation })
    for prompt in all where mayGo(prompt) && !closed.contains(prompt.conversation) {
      if let until = pauses[prompt.conversation], until > now { continue }
      if held.contains(prompt.id) {
        closed.insert(prompt.conversation)
        continue
      }
      pauses[prompt.conversation] = nil
      underWay.append((prompt.id, now.advanced(by: time)))
      return prompt
    }
    return nil
  }

  mutating func wait(for key: UUID128, until: Instant) {
    for index in underWay.indices where underWay[index].key == key {
      underWay[index].until = until
    }
  }

  mutating func stop(_ key: UUID128) { underWay.removeAll { $0.key == key } }

  /// The prompt may be there; its turn comes again.
  mutating func release(_ key: UUID128) {
    stop(key)
    unsure.insert(key)
  }

  /// The connection is gone.
  mutating func hangUp() {
    unsure.formUnion(underWay.map(\.key))
    underWay = []
  }

  mutating func fail(_ key: UUID128, _ reason: String) {
    stop(key)
    change(key) { $0.state = .failed(reason: reason) }
  }

  /// Queues a failed prompt again.
  mutating func revive(_ key: UUID128) -> KeptPrompt? {
    guard let prompt = self[key], prompt.isFailed else { return nil }
    change(key) { $0.state = .queued(tries: 0) }
    pauses[prompt.conversation] = nil
    return self[key]
  }

  /// Lets a prompt wait 1, 2, 4 … 30 s, more or less; returns false after 20 tries.
  mutating func postpone(
    _ key: UUID128, isThere: Bool, at now: Instant, _ chance: inout Chance
  ) -> Bool {
    stop(key)
    guard let prompt = self[key], case .queued(let tries) = prompt.state else { return false }
    if isThere { unsure.insert(key) }
    guard tries < 20 else {
      fail(key, "no answer from the server")
      return false
    }
    let base = Duration.seconds(min(30, 1 << min(tries, 5)))
    let low = max(base * 0.75, .seconds(1))
    let high = max(base * 1.25, .seconds(1))
    change(key) { $0.state = .queued(tries: tries + 1) }
    pauses[prompt.conversation] = now.advanced(by: low + chance.duration(below: high - low))
    return true
  }
}

extension KeptPrompt {
  /// Whether it waits for its user.
  var isFailed: Bool { if case .failed = state { true } else { false } }
}

/// What a phone gives its store, one change after the other.
struct SessionPaper: Sendable {
  struct Batch: Sendable {
    var change = ClientSessionChange()
    var acks: [String] = []
    var prompts: [UUID128] = []

    var isEmpty: Bool { acks.isEmpty && prompts.isEmpty && change == ClientSessionChange() }
  }

  private var underWay: Batch?
  private var number: UInt64 = 0
  var waiting = Batch()
  /// Prompts that go along with the next change.
  private var along: [KeptPrompt] = []
  private(set) var retryAt: Instant?
  private(set) var failures = 0

  var isDone: Bool { underWay == nil && waiting.isEmpty }

  mutating func put(_ prompt: KeptPrompt) {
    drop(prompt.id)
    waiting.change.prompts.append(prompt)
  }

  mutating func putAlong(_ prompt: KeptPrompt) {
    along.removeAll { $0.id == prompt.id }
    along.append(prompt)
  }

  mutating func put(_ place: KnownConversation) {
    waiting.change.conversations = waiting.change.conversations.filter { $0.id != place.id }
    waiting.change.conversations.append(place)
  }

  mutating func forget(_ key: UUID128) {
    drop(key)
    waiting.change.forgotten.append(key)
  }

  private mutating func drop(_ key: UUID128) {
    along.removeAll { $0.id == key }
    waiting.change.prompts.removeAll { $0.id == key }
  }

  mutating func next(at now: Instant) -> (UInt64, ClientSessionChange)? {
    if let underWay {
      guard let due = retryAt, due <= now else { return nil }
      retryAt = nil
      number += 1
      return (number, underWay.change)
    }
    guard !waiting.isEmpty else { return nil }
    for prompt in along { put(prompt) }
    underWay = waiting
    waiting = Batch()
    number += 1
    return (number, underWay?.change ?? ClientSessionChange())
  }

  mutating func done(_ number: UInt64) -> Batch? {
    guard let batch = underWay, number == self.number else { return nil }
    (underWay, retryAt, failures) = (nil, nil, 0)
    return batch
  }

  /// The store refused a change: it is tried again after 1, 2, 4 … 30 s.
  mutating func refuse(_ number: UInt64, at now: Instant) -> Bool {
    guard underWay != nil, number == self.number, retryAt == nil else { return false }
    let waits: [Int64] = [1, 2, 4, 8, 16]
    retryAt = now.advanced(by: .seconds(failures < 5 ? waits[failures] : 30))
    failures += 1
    return true
  }
}

/// The longest message that a phone asks for: contract 4.1, practice 19.
struct SessionSize: Sendable {
  private(set) var kilobytes = 200
  private var outcomes: [Bool] = []

  mutating func came(_ bytes: Int) { if bytes >= kilobytes * 512 { note(true) } }
  mutating func broke() { note(false) }

  private mutating func note(_ isGood: Bool) {
    outcomes = (outcomes + [isGood]).suffix(20)
    if outcomes.filter({ !$0 }).count > 2 {
      (kilobytes, outcomes) = (max(50, kilobytes - (kilobytes + 3) / 4), [])
    } else if outcomes.count >= 10, !outcomes.suffix(10).contains(false) {
      (kilobytes, outcomes) = (min(250, kilobytes + kilobytes / 10), [])
    }
  }
}

/// The numbers of connections by day: contract 4.1, practice 36.
struct SessionCounts: Sendable {
  private var days: [SessionDay] = []
  var lostAt: Instant?

  mutating func change(at wall: Timestamp, _ body: (inout SessionDay) -> Void) {
    let day = Int(SyncSamples.floorDivide(wall.nanoseconds, 86_400_000_000_000))
    if days.last?.day != day { days = (days + [SessionDay(day: day)]).suffix(14) }
    body(&days[days.count - 1])
  }

  mutating func takeAll() -> [SessionDay] {
    defer { days = [] }
    return days
  }

  mutating func takePast() -> [SessionDay] {
    defer { days = days.suffix(1) }
    return days.dropLast()
  }
}
