import BottleLink
import LinkCore
import LinkWire

// What is said over a connection.
extension BottlePhoneTwin {
  mutating func take(_ input: BottleModel.Input) {
    switch input {
    case .refresh(let id): wish(Wish(id: id, until: now.advanced(by: .seconds(15))))
    case .perform(let id, let request): perform(id, request)
    case .hold(let isHeld):
      holds = max(holds + (isHeld ? 1 : -1), 0)
      connection?.usedAt = now
      if isHeld { keepAwake() }
    case .stop:
      (holds, found) = (0, nil)
      for wish in wishes { end(wish, wish.late) }
      wishes = []
    case .shown(let number): said.append(.confirm(number))
    case .central(.failed(let attempt, _)), .central(.disconnected(let attempt, _)):
      if attempt == found { found = nil }
    case .central(.adapter(let state)): adapter = state
    case .discovered(let attempt, let longest, let state, let time):
      discovered(attempt, longest, state, at: time)
    case .heard(let attempt, let news, let time):
      if connection?.attempt == attempt, connection?.isReady == true { hear(news, at: time) }
    case .written(let id): answered(id, nil)
    case .unwritten(let id, let failure): answered(id, failure)
    case .restored(let snapshot):
      for drink in snapshot.unshown { said.append(.update(.drink(drink))) }
    case .committed(let id, let drinks): committed(id, drinks)
    case .uncommitted(let id, let failure):
      if case .stores(_, _, _, id) = sync { return fail(.store(failure)) }
      said.append(.update(.notice(.notStored(detail: failure.description))))
    case .start, .choose, .link, .central, .undiscovered: return
    }
  }

  mutating func tick() {
    if let due = connection?.timeAt, due <= now { setTime() }
    if let due = connection?.syncAt, due <= now {
      connection?.syncAt = nil
      startSync()
    }
    switch sync {
    case .requested(let late): if late <= now { nothingCame() }
    case .awaits(_, _, let late): if late <= now { fail(.silence) }
    case .idle, .stores, .ends: break
    }
    for wish in wishes where wish.until <= now { end(wish, wish.late) }
    wishes.removeAll { $0.until <= now }
  }

  /// The connection is over.
  mutating func lose() {
    guard let over = connection else { return }
    if sync != .idle { said.append(.update(.notice(.syncFailed(.disconnected)))) }
    (sync, connection) = (.idle, nil)
    let sent = over.writes.values
    for wish in wishes where wish.isConfirming || sent.contains(.wish(wish.id)) {
      said.append(.update(.performed(wish.id, .unconfirmed)))
    }
    wishes.removeAll { $0.isConfirming || sent.contains(.wish($0.id)) }
  }

  private mutating func discovered(
    _ attempt: AttemptID, _ longest: Int, _ state: BottleState, at time: Timestamp
  ) {
    guard connection?.attempt == attempt, connection?.isReady == false else { return }
    connection?.longest = max(longest, 20)
    connection?.usedAt = now
    (wall, heardAt) = (time, now)
    setTime()
    var change = DrinkChange(at: time)
    change.bottle = KnownBottle(BottleRadio.id)
    said.append(.commit(change))
    keepAwake()
    hear(.state(state), at: time)
    sendWishes()
  }

  /// Writes the time of the phone, from 2020 on.
  private mutating func setTime() {
    connection?.timeAt = nil
    let seconds = wall.advanced(by: heardAt.duration(to: now)).nanoseconds / 1_000_000_000
    guard (1_577_836_800...4_294_967_295).contains(seconds) else { return }
    said.append(.write(.command, [0x10] + LittleEndian.bytes(seconds, 4), .time))
  }

  private mutating func keepAwake() {
    guard holds > 0, connection?.isReady == true else { return }
    said.append(.write(.command, Self.ping, .ping))
  }

  private mutating func hear(_ news: BottleModel.News, at time: Timestamp) {
    (wall, heardAt) = (time, now)
    switch news {
    case .state(let state): hear(state, at: time)
    case .chunk(let chunk): take(chunk, at: time)
    case .calibration(let calibration): said.append(.update(.calibration(calibration)))
    case .battery(let percent):
      guard var state, state.battery != percent else { return }
      state.battery = percent
      self.state = state
      said.append(.update(.bottle(state)))
    case .brokenChunk(let detail):
      guard sync != .idle, let longest = connection?.longest else { return }
      connection?.longest = max(longest / 2, 20)
      fail(.malformed(detail: detail))
    case .malformed(let detail): said.append(.update(.notice(.malformed(detail: detail))))
    }
  }

  private mutating func hear(_ state: BottleState, at time: Timestamp) {
    if state != self.state {
      // News are a reason to begin anew.
      if connection?.failures ?? 0 > Self.waits.count { connection?.failures = 0 }
      said.append(.update(.bottle(state)))
    }
    self.state = state
    if case .ends = sync { connection?.saidMore = true }
    confirm(at: time)
    startSync()
  }

  // The synchronisation.

  mutating func startSync() {
    guard sync == .idle, let connection, let count = state?.unsynced, count > 0,
      connection.syncAt == nil, connection.failures <= Self.waits.count, connection.vain != count
    else { return }
    (sync, added) = (.requested(late: now.advanced(by: .seconds(5))), 0)
    // 6 bytes and 14 for each record.
    let size = [1, (connection.longest - 6) / 14, 20].sorted()[1]
    let bytes = [0, 0] + LittleEndian.bytes(count, 2) + [1, 0] + LittleEndian.bytes(size, 2)
    said.append(.write(.syncControl, bytes, .start))
  }

  private mutating func take(_ chunk: BottleChunk, at time: Timestamp) {
    guard chunk.total > 0 else { return }
    let late = now.advanced(by: .seconds(30))
    switch sync {
    case .idle, .ends: return
    case .requested:
      guard chunk.index == 0 else { return }
      store(chunk, late, at: time)
    case .stores(let next, let total, _, _):
      guard chunk.index > next else { return }
      miss(chunk, next, total)
    case .awaits(let next, let total, _):
      guard chunk.index >= next else { return }
      if chunk.index == next, chunk.total == total { return store(chunk, late, at: time) }
      miss(chunk, next, total)
    }
  }

  private mutating func miss(_ chunk: BottleChunk, _ next: Int, _ total: Int) {
    guard chunk.index == next else {
      return fail(.missingChunk(expected: UInt16(next), found: chunk.index))
    }
    fail(.changedTotal(from: UInt16(total), to: chunk.total))
  }

  private mutating func store(_ chunk: BottleChunk, _ late: Instant, at time: Timestamp) {
    connection?.usedAt = now
    var change = DrinkChange(at: time)
    change.records = chunk.records.filter { $0.flags.rawValue & 4 == 0 }
    change.via = connection?.isLive == true ? .live : .sync
    said.append(.commit(change))
    sync = .stores(chunk: Int(chunk.index), of: Int(chunk.total), late: late, commit: nil)
  }

  private mutating func committed(_ id: UInt64, _ drinks: [Drink]) {
    for drink in drinks {
      if drink.record.time < 1_577_836_800 {
        said.append(.update(.notice(.unknownTime(record: drink.record.id))))
      }
      said.append(.update(.drink(drink)))
    }
    guard case .stores(let chunk, let total, let late, id) = sync else { return }
    added += drinks.count
    let isLast = chunk + 1 >= total
    sync = isLast ? .ends(nil) : .awaits(chunk: chunk + 1, of: total, late: late)
    said.append(
      .write(
        .syncControl, Self.acknowledgement, isLast ? .lastAcknowledgement : .acknowledgement))
  }

  private mutating func answered(_ id: WriteID, _ failure: LinkFailure?) {
    guard let purpose = connection?.writes.removeValue(forKey: id) else { return }
    switch (purpose, failure) {
    case (.wish(let wish), _): answered(wish: wish, isTaken: failure == nil)
    case (.time, _?):
      guard let wait = connection?.timeWaits.first else { return }
      connection?.timeWaits.removeFirst()
      connection?.timeAt = now.advanced(by: wait)
    case (.lastAcknowledgement, nil): if sync == .ends(id) { finish() }
    case (.start, let failure?), (.acknowledgement, let failure?),
      (.lastAcknowledgement, let failure?):
      if sync != .idle { fail(.write(failure)) }
    case (.time, nil), (.start, nil), (.acknowledgement, nil), (.ping, _): return
    }
  }

  private mutating func finish() {
    sync = .idle
    let saidMore = connection?.saidMore == true
    connection?.saidMore = false
    connection?.failures = 0
    connection?.silences = 0
    connection?.isLive = true
    connection?.vain = added > 0 ? nil : state?.unsynced
    endRefreshes(.synced(added))
    if saidMore { startSync() }
  }

  /// A lost notification looks the same as a bottle that counts too much: it is asked twice.
  private mutating func nothingCame() {
    sync = .idle
    if connection?.silences == 0 {
      connection?.silences = 1
      connection?.syncAt = now.advanced(by: Self.waits[0])
      return
    }
    connection?.silences = 0
    connection?.isLive = true
    connection?.vain = state?.unsynced
    if let said = state?.unsynced { self.said.append(.update(.notice(.nothingCame(said: said)))) }
  }

  private mutating func fail(_ failure: SyncFailure) {
    sync = .idle
    said.append(.update(.notice(.syncFailed(failure))))
    guard let failures = connection?.failures else { return }
    connection?.failures += 1
    guard failures < Self.waits.count else {
      connection?.syncAt = nil
      return endRefreshes(.syncFailed)
    }
    connection?.syncAt = now.advanced(by: Self.waits[failures])
  }
}
