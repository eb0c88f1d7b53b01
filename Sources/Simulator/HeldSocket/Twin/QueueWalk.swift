import LinkCore

/// Queues of what a user sent, in steps by chance beside their second account.
struct QueueWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var queue = SendQueue<QueueParcel>(limit: 3)
  var rows = QueueRows(limit: 3)
  private var now = Instant.zero
  private var credentials: UInt64 = 1
  private var schedule = Schedule.list([])
  private var words = 0

  private static let ids = (1...5).map { UUID128(high: 0, low: $0) }
  private static let schedules: [Schedule] = [
    .list([.zero, .seconds(1), .seconds(3)]), .list([.seconds(2)]), .list([]),
    .exponential(
      first: .seconds(1), factor: 2, cap: .seconds(3), jitter: 0.5, floor: .seconds(1),
      attempts: 3),
  ]

  init(_ chance: Chance) { self.chance = chance }

  /// Takes so many steps with a new queue; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    let limit = number(2...4)
    (queue, rows) = (SendQueue(limit: limit), QueueRows(limit: limit))
    schedule = one(Self.schedules)
    for _ in 0..<steps where stray == nil {
      if happens(2) { now = now.advanced(by: .seconds(number(0...2))) }
      let what = step()
      look(after: what)
    }
    return stray
  }

  private mutating func step() -> String {
    switch number(0...19) {
    case 0...2: return add()
    case 3...4:
      let id = one(Self.ids)
      compare("a stored item", queue.stored(id), rows.stored(id))
      return "stored(\(id.low))"
    case 5...8: return take()
    case 9...13: return end(happens(3) ? one(Self.ids) : sending())
    case 14: return wait()
    case 15: return restore()
    case 16: return renew()
    case 17: return ask()
    case 18: return expire()
    case _: return hurry()
    }
  }

  /// An item that is being sent, if there is one.
  private mutating func sending() -> UUID128 {
    let all = rows.rows.filter { $0.turn != nil }.map { $0.parcel.id }
    return all.isEmpty ? one(Self.ids) : one(all)
  }

  /// Compares all that can be asked of a queue.
  mutating func look(after what: String) {
    compare("the queue after \(what)", queue.items, rows.rows.map { $0.parcel })
    compare("what is unsure after \(what)", queue.unsure, Set(unsure))
    compare("whether it awaits credentials after \(what)", queue.awaitsCredentials, rows.isShut)
    compare("the deadline after \(what)", queue.deadline, rows.deadline)
    let unstored = rows.rows.filter { !$0.isStored }.count
    compare("what is not stored after \(what)", queue.unstoredCount, unstored)
    compare("the oldest after \(what)", queue.oldestQueued, rows.rows.first { $0.waits }?.parcel)
    for id in Self.ids where stray == nil {
      let row = rows.row(id)
      let sending = queue.sending(id)
      compare("item \(id.low) after \(what)", queue[id], row?.parcel)
      compare("whether it is stored after \(what)", queue.isStored(id), row?.isStored ?? true)
      let may = row.map { $0.isUnsure || $0.turn != nil } ?? false
      compare("whether it may be there after \(what)", queue.mayHaveArrived(id), may)
      compare("the try after \(what)", sending?.number, row?.turn?.number)
      compare("the try's end after \(what)", sending?.until, row?.turn?.until)
      compare("its credentials after \(what)", sending?.credentials, row?.turn?.credentials)
      compare("its lane after \(what)", sending?.lane, row?.turn.map { _ in row?.parcel.lane ?? 0 })
    }
    for lane in 0...2 where stray == nil {
      compare("whether it sends after \(what)", queue.isSending(lane), rows.isBusy(lane))
      compare(
        "whether a try may be after \(what)", queue.mayTry(lane, at: now), rows.mayTry(lane, now))
    }
    compareInvariants(of: queue, after: what)
  }

  private var unsure: [UUID128] { rows.rows.filter { $0.isUnsure }.map { $0.parcel.id } }
}

// Steps.
extension QueueWalk {
  private mutating func add() -> String {
    words += 1
    let id = one(Self.ids)
    if let row = rows.row(id) {
      let parcel = QueueParcel(id: id, lane: row.parcel.lane, word: words)
      queue.replace(parcel)
      rows.replace(parcel)
      return "replace(\(id.low))"
    }
    let parcel = QueueParcel(id: id, lane: number(0...2), word: words)
    if happens(9) {
      queue.replace(parcel)
      return "replace(\(id.low)), which is not there"
    }
    compare("whether an item fits", queue.add(parcel), rows.add(parcel))
    if happens(2) { compare("a stored item", queue.stored(id), rows.stored(id)) }
    return "add(\(id.low))"
  }

  private mutating func take() -> String {
    let allowed = Set(happens(2) ? Self.ids : Self.ids.filter { _ in happens(2) })
    let timeout = Duration.seconds(number(1...4))
    if happens(8) { credentials += 1 }
    let found =
      allowed.count == Self.ids.count
      ? queue.take(at: now, timeout: timeout, credentials: credentials)
      : queue.take(at: now, timeout: timeout, credentials: credentials) {
        allowed.contains($0.id)
      }
    compare("what is taken", found, rows.take(now, timeout, credentials, allowed))
    return "take"
  }

  /// The end of a try, or what is said of an item that has none.
  private mutating func end(_ id: UUID128) -> String {
    switch number(1...7) {
    case 1:
      queue.remove(id)
      rows.remove(id)
      return "remove(\(id.low))"
    case 2:
      queue.release(id)
      rows.release(id)
      return "release(\(id.low))"
    case 3...4: return retryLater(id)
    case 5:
      queue.waitForCredentials(id, newerThan: credentials)
      rows.waitForCredentials(id, credentials)
      return "waitForCredentials(\(id.low))"
    case 6:
      compare("a failed item", queue.fail(id, "no"), rows.fail(id, "no"))
      return "fail(\(id.low))"
    case _:
      let until = now.advanced(by: .seconds(number(0...3)))
      queue.extend(id, until: until)
      rows.extend(id, until)
      return "extend(\(id.low))"
    }
  }

  private mutating func retryLater(_ id: UUID128) -> String {
    var (one, other) = (chance, chance)
    let wish = number(0...5)
    let isUnsure = wish % 2 == 0
    let least: Duration? = wish < 3 ? .seconds(wish * 2) : nil
    compare(
      "an item for later",
      queue.retryLater(
        id, isUnsure: isUnsure, wish: least, at: now, schedule: schedule, chance: &one),
      rows.retryLater(
        id, isUnsure: isUnsure, least, now, ScheduleAccount(schedule), &other))
    compare("what is drawn", one, other)
    return "retryLater(\(id.low))"
  }

  private mutating func wait() -> String {
    let until = now.advanced(by: .seconds(number(0...3)))
    let lane = number(0...2)
    queue.pause(lane, until: until)
    rows.pause(lane, until)
    return "pause(\(lane))"
  }

  /// What an earlier run left comes before all others: new items, and some that are here.
  private mutating func restore() -> String {
    var kept: [QueueParcel] = []
    for id in Self.ids where happens(3) {
      let row = rows.row(id)
      if let row, row.turn != nil || !row.isStored { continue }
      let tries = SendState.queued(tries: number(0...1))
      kept.append(
        QueueParcel(
          id: id, lane: row?.parcel.lane ?? number(0...2), word: words,
          state: happens(3) ? .failed(reason: "so") : tries))
    }
    queue.restore(kept)
    rows.restore(kept)
    return "restore(\(kept.map { $0.id.low }))"
  }

  private mutating func renew() -> String {
    credentials += UInt64(number(0...1))
    queue.credentialsRenewed()
    rows.isShut = false
    return "credentialsRenewed"
  }

  private mutating func ask() -> String {
    let id = one(Self.ids)
    if happens(2) {
      compare("an item tried again", queue.retry(id), rows.retry(id))
      return "retry(\(id.low))"
    }
    if happens(2) {
      compare("an item put off", queue.postpone(id), rows.postpone(id))
      return "postpone(\(id.low))"
    }
    let ids = Set(Self.ids.filter { _ in happens(2) })
    compare("what is sure now", queue.makeSure(ids), rows.makeSure(ids))
    return "makeSure"
  }

  private mutating func expire() -> String {
    let late = queue.expired(at: now)
    compare("what is late", late, rows.expired(now))
    guard let late else { return "expire" }
    queue.release(late)
    rows.release(late)
    return "expire(\(late.low))"
  }

  private mutating func hurry() -> String {
    if happens(2) {
      queue.wake(at: now)
      rows.wake(now)
      return "wake"
    }
    if happens(2) {
      queue.abandon()
      rows.abandon()
      return "abandon"
    }
    queue.hurry()
    rows.pauses = [nil, nil, nil]
    return "hurry"
  }
}
