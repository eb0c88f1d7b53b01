import LinkCore
import Testing

/// An item of a queue with random inputs.
private struct Parcel: QueuedItem {
  var id: UUID128
  var lane: Int
  var state = SendState.queued(tries: 0)
}

/// Random calls of a send queue.
private struct SendQueueInputs: RandomSource {
  var chance: Chance
  private(set) var queue: SendQueue<Parcel>
  private(set) var broken: [String] = []
  private var now = Instant.zero
  private var credentials: UInt64 = 1
  private let schedule: Schedule
  /// Items that the store holds, as it was told.
  private var stored: Set<UUID128> = []
  private var lastTry: UInt64 = 0

  private static let ids = (1...5).map { UUID128(high: 0, low: $0) }
  private static let schedules: [Schedule] = [
    .list([.zero, .seconds(1), .seconds(3)]), .list([.seconds(2)]), .list([]),
    .exponential(
      first: .seconds(1), factor: 2, cap: .seconds(3), jitter: 0.5, floor: .seconds(1),
      attempts: 3),
  ]

  init(seed: UInt64) {
    chance = Chance(seed: seed)
    queue = SendQueue(limit: Int(chance.next() % 3) + 2)
    schedule = Self.schedules[Int(chance.next() % 4)]
  }

  mutating func act() {
    if oneIn(2) { now = now.advanced(by: .seconds(number(0...2))) }
    let before = queue.items.map(\.id)
    var removed: UUID128?
    switch number(0...19) {
    case 0...2: add()
    case 3...4: store(one(Self.ids))
    case 5...8: take()
    case 9...13: removed = end(oneIn(3) ? one(Self.ids) : sending())
    case 14: queue.pause(number(0...2), until: now.advanced(by: .seconds(number(0...3))))
    case 15: restore()
    case 16:
      credentials += UInt64(number(0...1))
      queue.credentialsRenewed()
    case 17: change(one(Self.ids))
    case 18: if let late = queue.expired(at: now) { queue.release(late) }
    case _: hurry()
    }
    let after = Set(queue.items.map(\.id))
    let gone = before.filter { !after.contains($0) }
    require(gone.allSatisfy { $0 == removed }, "an item leaves only when it is removed")
    checkInvariants()
  }

  private mutating func require(_ holds: Bool, _ property: String) {
    if !holds { broken.append(property) }
  }

  private mutating func checkInvariants() {
    var check = InvariantCheck(.thorough)
    queue.check(&check)
    broken += check.broken
    let due = queue.deadline
    require(
      due.map { $0 > now } ?? true || queue.expired(at: now) != nil || mayTake,
      "a deadline that has come is of a try, or of one that may begin")
  }

  private var mayTake: Bool {
    var queue = queue
    return queue.take(at: now, timeout: .seconds(1)) != nil
  }

  /// An item that is being sent, if there is one.
  private mutating func sending() -> UUID128 {
    let all = Self.ids.filter { queue.sending($0) != nil }
    return one(all.isEmpty ? Self.ids : all)
  }

  private mutating func add() {
    let id = one(Self.ids)
    guard queue[id] == nil else { return }
    let isFull = queue.items.count >= queue.limit
    let fits = queue.add(Parcel(id: id, lane: number(0...2)))
    require(fits == !isFull, "an item is taken while there is room")
    stored.remove(id)
    if oneIn(2) { store(id) }
  }

  private mutating func store(_ id: UUID128) {
    guard queue[id] != nil else { return }
    _ = queue.stored(id)
    stored.insert(id)
  }

  private mutating func take() {
    let allowed = Set(oneIn(2) ? Self.ids : Self.ids.filter { _ in oneIn(2) })
    if oneIn(8) { credentials += 1 }
    let isShut = queue.awaitsCredentials
    let found = queue.take(
      at: now, timeout: .seconds(number(1...4)), credentials: credentials
    ) { allowed.contains($0.id) }
    guard let found else { return }
    require(stored.contains(found.id), "only what is stored is sent")
    require(allowed.contains(found.id), "only what may go is sent")
    require(!isShut, "nothing is sent while credentials are awaited")
    let earlier = queue.items.prefix { $0.id != found.id }
    require(
      earlier.allSatisfy { $0.lane != found.lane || !$0.isQueued || !stored.contains($0.id) },
      "items of a lane are sent in their order")
    let attempt = queue.sending(found.id)?.number.number ?? 0
    require(attempt > lastTry, "each try has a new number")
    lastTry = max(lastTry, attempt)
  }

  /// Ends a try, or says something of an item that has none; returns an item that is removed.
  private mutating func end(_ id: UUID128) -> UUID128? {
    switch number(1...7) {
    case 1:
      queue.remove(id)
      return id
    case 2: queue.release(id)
    case 3...4:
      _ = queue.retryLater(
        id, isUnsure: oneIn(2), wish: maybe(.seconds(number(0...4))), at: now,
        schedule: schedule, chance: &chance)
    case 5: queue.waitForCredentials(id, newerThan: credentials)
    case 6: _ = queue.fail(id, "no")
    case _: queue.extend(id, until: now.advanced(by: .seconds(number(0...3))))
    }
    return nil
  }

  /// What an earlier run left comes before all others.
  private mutating func restore() {
    for id in Self.ids where oneIn(3) && queue[id] == nil {
      queue.restore([Parcel(id: id, lane: number(0...2))])
      stored.insert(id)
    }
  }

  private mutating func change(_ id: UUID128) {
    switch number(0...2) {
    case 0: _ = queue.retry(id)
    case 1: _ = queue.postpone(id)
    case _: _ = queue.makeSure(Set(Self.ids.filter { _ in oneIn(2) }))
    }
  }

  private mutating func hurry() {
    switch number(0...2) {
    case 0: queue.wake(at: now)
    case 1: queue.abandon()
    case _: queue.hurry()
    }
  }
}

extension Parcel {
  var isQueued: Bool { if case .queued = state { true } else { false } }
}

@Suite struct SendQueueInputTests {
  @Test func `a send queue keeps its promises whatever is called`() {
    for seed: UInt64 in 0..<200 {
      var inputs = SendQueueInputs(seed: seed)
      for _ in 0..<150 where inputs.broken.isEmpty { inputs.act() }
      #expect(inputs.broken == [], "seed \(seed)")
    }
  }
}
