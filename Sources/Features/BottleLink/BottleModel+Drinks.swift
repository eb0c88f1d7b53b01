import LinkCore
import LinkWire

// What a connection is used for: the clock, drinks, and what the bottle says.
extension BottleModel {
  var syncDeadline: Instant? {
    [sync.deadline, connection?.syncAt].compactMap(\.self).min()
  }

  mutating func discovered(
    _ attempt: AttemptID, _ longest: Int, _ state: BottleState, at time: Timestamp,
    _ step: inout Step
  ) {
    guard var connection, connection.attempt == attempt, !connection.isReady else { return }
    connection.longestValue = max(longest, 20)
    connection.chunkBytes = connection.longestValue
    self.connection = connection
    drive(.established(attempt), &step)
    // A state that was read proves the link: its loss is an unexpected one, not a failed attempt.
    drive(.validData(attempt), &step)
    (lastWall, lastHeard) = (time, step.now)
    setTime(&step)
    if settings.syncs, let bottle {
      var change = DrinkChange(at: time)
      change.bottle = bottle
      _ = commit(change, &step)
    }
    keepAwake(&step)
    hear(.state(state), at: time, &step)
    sendRequests(&step)
  }

  /// Sets the bottle's clock, unless this device's own is not set.
  mutating func setTime(_ step: inout Step) {
    connection?.timeAt = nil
    let time = lastWall.advanced(by: lastHeard.duration(to: step.now))
    let seconds = time.nanoseconds / 1_000_000_000
    guard let clock = UInt32(exactly: seconds), BottleRecord.validTimes.contains(clock) else {
      return
    }
    write(BottleCommand.setTime(clock).bytes, to: .command, for: .time, &step)
  }

  /// The bottle did not take the time: it is set again later, or by the next connection.
  private mutating func timeFailed(_ step: inout Step) {
    guard let failures = connection?.untimed, failures < settings.syncRetries.count else { return }
    connection?.untimed = failures + 1
    connection?.timeAt = step.now.advanced(by: settings.syncRetries[failures])
  }

  mutating func hear(_ news: News, at time: Timestamp, _ step: inout Step) {
    guard let connection, connection.isReady else { return }
    (lastWall, lastHeard) = (time, step.now)
    switch news {
    case .state(let state):
      let isNew = state != self.state
      if isNew { forgive() }
      self.state = state
      if case .finishing = sync.state { self.connection?.saidMore = true }
      if isNew { step.show(.bottle(state)) }
      confirmRequests(at: time, &step)
      startSyncIfNeeded(&step)
    case .chunk(let chunk): take(chunk, at: time, &step)
    case .calibration(let calibration): step.show(.calibration(calibration))
    case .battery(let percent):
      guard state?.battery != percent else { return }
      state?.battery = percent
      if let state { step.show(.bottle(state)) }
    case .brokenChunk(let detail):
      guard sync.isRunning else { return }
      // It was cut off, so the radio carries less than it said.
      self.connection?.chunkBytes = max(connection.chunkBytes / 2, 20)
      fail(.malformed(detail: detail), &step)
    case .malformed(let detail): step.show(.notice(.malformed(detail: detail)))
    }
  }

  /// Any news is a reason to begin anew, where all tries have failed. The number of records stays
  /// the same where new ones replace old ones.
  private mutating func forgive() {
    guard let connection, connection.failures > settings.syncRetries.count else { return }
    self.connection?.failures = 0
  }

  /// Begins a synchronisation if the bottle says that there is something.
  mutating func startSyncIfNeeded(_ step: inout Step) {
    guard settings.syncs, !sync.isRunning, let connection, connection.syncAt == nil,
      connection.failures <= settings.syncRetries.count, let state, state.unsynced > 0,
      connection.vainCount != state.unsynced
    else { return }
    sync.begin(until: step.now.advanced(by: settings.firstChunk))
    let request = BottleSync.request(
      count: state.unsynced, longestValue: connection.chunkBytes)
    write(request.bytes, to: .syncControl, for: .start, &step)
  }

  private mutating func take(
    _ chunk: BottleChunk, at time: Timestamp, _ step: inout Step
  ) {
    guard let connection else { return }
    switch sync.take(chunk, until: step.now.advanced(by: settings.nextChunk)) {
    case .ignore: return
    case .fail(let failure): fail(failure, &step)
    case .store(let records):
      drive(.validData(connection.attempt), &step)
      var change = DrinkChange(at: time)
      change.records = records.filter { !$0.flags.contains(.isDeleted) }
      change.via = connection.isCaughtUp ? .live : .sync
      sync.storing(commit(change, &step))
    }
  }

  mutating func committed(_ id: UInt64, _ drinks: [Drink], _ step: inout Step) {
    for drink in drinks {
      if drink.record.timestamp == nil {
        step.show(.notice(.unknownTime(record: drink.record.id)))
      }
      step.show(.drink(drink))
    }
    countForRefreshes(drinks.count)
    // Of an older connection, if it is not stored for this synchronisation.
    guard let isLast = sync.stored(id, added: drinks.count) else { return }
    let write = write(
      BottleSync.acknowledgement.bytes, to: .syncControl,
      for: .acknowledgement(isLast: isLast), &step)
    if isLast, let write { sync.finish(with: write) }
  }

  mutating func uncommitted(_ id: UInt64, _ failure: StoreFailure, _ step: inout Step) {
    guard sync.isStoring(id) else {
      step.show(.notice(.notStored(detail: failure.description)))
      return
    }
    fail(.store(failure), &step)
  }

  mutating func written(_ id: WriteID, _ failure: LinkFailure?, _ step: inout Step) {
    guard var connection, let purpose = connection.writes.removeValue(forKey: id) else { return }
    self.connection = connection
    switch (purpose, failure) {
    case (.request(let request), _): requestWritten(request, failure, &step)
    // A bottle that does not take the time still has drinks.
    case (.time, nil), (.wake, _): break
    case (.time, _?): timeFailed(&step)
    case (.ping(let ping), nil): drive(.pong(connection.attempt, ping), &step)
    case (.ping, let failure?): drive(.reject(connection.attempt, failure), &step)
    case (.start, nil), (.acknowledgement(false), nil): break
    case (.acknowledgement(true), nil):
      guard sync.state == .finishing(id) else { return }
      sync.stop()
      connection.failures = 0
      connection.silences = 0
      connection.isCaughtUp = true
      // What it says next is believed once more if something came.
      connection.vainCount = sync.added == 0 ? state?.unsynced : nil
      let saidMore = connection.saidMore
      connection.saidMore = false
      self.connection = connection
      endRefreshes(&step) { .synced($0.added) }
      // What it recorded meanwhile may have been told before the answer of the write.
      if saidMore { startSyncIfNeeded(&step) }
    case (.start, let failure?), (.acknowledgement, let failure?):
      if sync.isRunning { fail(.write(failure), &step) }
    }
  }

  mutating func syncIsDue(_ step: inout Step) {
    if let at = connection?.syncAt, at <= step.now {
      connection?.syncAt = nil
      startSyncIfNeeded(&step)
    }
    guard let due = sync.deadline, due <= step.now else { return }
    guard case .requested(_, let found) = sync.state else { return fail(.silence, &step) }
    // What the bottle did not answer, or what waits behind that, is no word about its records.
    if connection?.writes.values.contains(.start) == true {
      return fail(.write(.timeout(.response)), &step)
    }
    if let found { return fail(.missingChunk(expected: 0, found: found), &step) }
    sync.stop()
    // A lost notification looks the same: it is asked once more.
    connection?.silences += 1
    if connection?.silences == 1 {
      connection?.syncAt = settings.syncRetries.first.map { step.now.advanced(by: $0) }
      return
    }
    // It said that there is something, and there is not: it counts deleted records, for example.
    connection?.silences = 0
    connection?.isCaughtUp = true
    connection?.vainCount = state?.unsynced
    if let said = state?.unsynced { step.show(.notice(.nothingCame(said: said))) }
  }

  /// Ends a synchronisation; what was stored stays, and the next one begins anew.
  private mutating func fail(_ failure: SyncFailure, _ step: inout Step) {
    sync.stop()
    step.show(.notice(.syncFailed(failure)))
    guard var connection else { return }
    let retries = settings.syncRetries
    connection.syncAt =
      connection.failures < retries.count
      ? step.now.advanced(by: retries[connection.failures]) : nil
    connection.failures += 1
    self.connection = connection
    if connection.syncAt == nil { endRefreshes(&step) { _ in .syncFailed } }
  }
}
