// What a bottle records and counts.
extension BottleTwin {
  mutating func pour(_ amount: Int) -> Signs {
    let signs = wake(byTap: false)
    guard power == .awake else { return signs }
    level = min(max(level - amount, 0), configuration.capacity)
    // A drink of 30 ml and a refill of 100 ml are the least that count.
    guard (-99...29).contains(amount) else { return signs.union(record(amount)) }
    return signs.union(tellLevel())
  }

  private mutating func record(_ amount: Int) -> Signs {
    let today = Int(seconds / 86_400)
    let beginsDay = today != day
    if beginsDay { (day, total) = (today, 0) }
    if amount > 0, total <= 60_000 { total += amount }
    records.append(
      Record(
        id: nextID, time: UInt32(truncatingIfNeeded: seconds), amount: amount, level: level,
        beginsDay: beginsDay))
    if records.count > capacity { records.removeFirst() }
    nextID += 1
    toldLevel = level
    return telling.union(.stores)
  }

  /// A change of 10 ml or more is told.
  private mutating func tellLevel() -> Signs {
    guard abs(level - toldLevel) >= 10 else { return [] }
    toldLevel = level
    return telling
  }

  mutating func shake() -> Signs {
    let signs = wake(byTap: false)
    guard emptiesWhenShaken, power == .awake else { return signs }
    level = 0
    return signs.union(tellLevel())
  }

  // The synchronisation.

  /// Begins to send the first `count` records that wait.
  mutating func beginSync(count: Int, size: Int) -> Signs {
    let asked = records.filter(\.isWaiting).prefix(count)
    guard let last = asked.last else {
      sending = nil
      return []
    }
    sending = Sending(
      asked: asked.count, size: (1...20).contains(size) ? size : 20, last: last.id)
    fillChunk()
    return .tellsChunk
  }

  /// Moves the end of the chunk behind the next records that wait.
  private mutating func fillChunk() {
    guard let now = sending else { return }
    let next = records.filter { $0.isWaiting && $0.id > now.before && $0.id <= now.last }
    sending?.end = next.prefix(now.size).last?.id ?? now.before
  }

  /// The records of the present chunk; one that was deleted meanwhile is gone from it.
  var chunk: [Record] {
    guard let sending else { return [] }
    return Array(
      records.filter { $0.isWaiting && $0.id > sending.before && $0.id <= sending.end }
        .prefix(sending.size))
  }

  mutating func acknowledge() -> Signs {
    guard let now = sending else { return [] }
    if now.index + 1 < now.total {
      sending?.index += 1
      sending?.before = now.end
      fillChunk()
      return .tellsChunk
    }
    mark(now)
    sending = nil
    return [.stores, .tellsState]
  }

  private mutating func mark(_ done: Sending) {
    guard countsDeleted else {
      for place in records.indices where records[place].id <= done.end && records[place].isWaiting {
        records[place].isSynced = true
      }
      return
    }
    for place in records.indices.filter({ !records[$0].isSynced }).prefix(done.asked) {
      records[place].isSynced = true
    }
  }

  // Commands.

  mutating func delete(_ id: UInt32) -> Signs {
    guard let place = records.firstIndex(where: { $0.id == id && !$0.isDeleted }) else {
      return .tellsState
    }
    records[place].isDeleted = true
    return [.stores, .tellsState]
  }

  mutating func clear() -> Signs {
    (records, sending, total) = ([], nil, 0)
    return [.stores, .tellsState]
  }

  mutating func tare() -> Signs {
    (level, toldLevel) = (0, 0)
    return .tellsState
  }

  mutating func calibrate(_ step: UInt8) -> Signs {
    calibration = Calibration(step: step)
    return [.tellsCalibration, .tellsState]
  }

  /// The empty bottle is measured first, then the full one.
  mutating func measureScale(full: Bool) -> Signs {
    switch (full, calibration.step) {
    case (false, 3): (calibration.empty, calibration.step, calibration.hasResult) = (raw, 6, true)
    case (true, 6): (calibration.full, calibration.step, calibration.hasResult) = (raw, 8, true)
    case _: calibration.step = 10
    }
    return [.tellsCalibration, .tellsState]
  }

  /// What the scale shows: 100,000 for an empty bottle.
  var raw: Int32 { 100_000 + Int32(Float(level) * configuration.scale) }
}
