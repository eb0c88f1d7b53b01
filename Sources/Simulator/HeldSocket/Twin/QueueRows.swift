import LinkCore

/// An item of a send queue that is walked.
struct QueueParcel: QueuedItem {
  var id: UUID128
  var lane: Int
  /// What a newer value of the same item changes.
  var word = 0
  var state = SendState.queued(tries: 0)
}

/// A queue of what a user sent, told a second time: one row for each item, with all that is known
/// of it (the diagram of `SendQueue`).
struct QueueRows {
  /// An item with what is known of it.
  struct Row: Hashable {
    var parcel: QueueParcel
    var isStored = false
    var isUnsure = false
    var turn: Turn?

    var waits: Bool { if case .queued = parcel.state { isStored } else { false } }
  }

  /// A try under way.
  struct Turn: Hashable {
    var until: Instant
    var credentials: UInt64
    /// Counts tries.
    var number: TryID
  }

  let limit: Int
  var rows: [Row] = []
  var isShut = false
  /// When each lane goes on.
  var pauses: [Instant?] = [nil, nil, nil]
  private var turns: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  func place(_ id: UUID128) -> Int? { rows.indices.first { rows[$0].parcel.id == id } }

  func row(_ id: UUID128) -> Row? { place(id).map { rows[$0] } }

  func isBusy(_ lane: Int) -> Bool { rows.contains { $0.parcel.lane == lane && $0.turn != nil } }

  func mayTry(_ lane: Int, _ now: Instant) -> Bool {
    if isShut || isBusy(lane) { return false }
    guard let pause = pauses[lane] else { return true }
    return now >= pause
  }

  var deadline: Instant? {
    var all = rows.compactMap { $0.turn?.until }
    for lane in pauses.indices where !isShut && !isBusy(lane) {
      let isWaiting = rows.contains { $0.parcel.lane == lane && $0.waits }
      if let pause = pauses[lane], isWaiting { all.append(pause) }
    }
    return all.min()
  }
}

// Items.
extension QueueRows {
  mutating func add(_ parcel: QueueParcel) -> Bool {
    if rows.count >= limit { return false }
    rows.append(Row(parcel: parcel))
    return true
  }

  mutating func replace(_ parcel: QueueParcel) {
    guard let place = place(parcel.id) else { return }
    rows[place].parcel.word = parcel.word
  }

  mutating func stored(_ id: UUID128) -> QueueParcel? {
    guard let place = place(id), !rows[place].isStored else { return nil }
    rows[place].isStored = true
    return rows[place].waits ? rows[place].parcel : nil
  }

  mutating func restore(_ kept: [QueueParcel]) {
    var all: [Row] = []
    for parcel in kept {
      var row = row(parcel.id) ?? Row(parcel: parcel, isStored: true)
      (row.parcel, row.isUnsure) = (parcel, true)
      all.append(row)
    }
    rows.removeAll { row in kept.contains { $0.id == row.parcel.id } }
    rows = all + rows
  }

  mutating func remove(_ id: UUID128) { rows.removeAll { $0.parcel.id == id } }

  mutating func makeSure(_ ids: Set<UUID128>) -> Set<UUID128> {
    var sure: Set<UUID128> = []
    for place in rows.indices where rows[place].isUnsure && ids.contains(rows[place].parcel.id) {
      rows[place].isUnsure = false
      sure.insert(rows[place].parcel.id)
    }
    return sure
  }
}

// Tries.
extension QueueRows {
  mutating func take(
    _ now: Instant, _ timeout: Duration, _ credentials: UInt64, _ allowed: Set<UUID128>
  ) -> QueueParcel? {
    var held: [Int] = []
    for place in rows.indices where rows[place].waits {
      let parcel = rows[place].parcel
      guard mayTry(parcel.lane, now), !held.contains(parcel.lane) else { continue }
      guard allowed.contains(parcel.id) else {
        held.append(parcel.lane)
        continue
      }
      pauses[parcel.lane] = nil
      turns += 1
      rows[place].turn = Turn(
        until: Instant(nanoseconds: now.nanoseconds + timeout.nanoseconds),
        credentials: credentials, number: TryID(turns))
      return parcel
    }
    return nil
  }

  mutating func abandon() {
    for place in rows.indices where rows[place].turn != nil {
      rows[place].isUnsure = true
      rows[place].turn = nil
    }
  }

  func expired(_ now: Instant) -> UUID128? {
    let due = rows.indices.filter { rows[$0].turn.map { $0.until <= now } ?? false }
    let oldest = due.min {
      (rows[$0].turn?.number.number ?? 0) < (rows[$1].turn?.number.number ?? 0)
    }
    return oldest.map { rows[$0].parcel.id }
  }

  mutating func release(_ id: UUID128) {
    guard let place = place(id), rows[place].turn != nil else { return }
    rows[place].turn = nil
    rows[place].isUnsure = true
  }

  mutating func extend(_ id: UUID128, _ until: Instant) {
    guard let place = place(id) else { return }
    rows[place].turn?.until = until
  }

  mutating func retryLater(
    _ id: UUID128, isUnsure: Bool, _ wish: Duration?, _ now: Instant, _ waits: ScheduleAccount,
    _ chance: inout Chance
  ) -> QueueParcel? {
    guard let place = place(id) else { return nil }
    rows[place].turn = nil
    guard case .queued(let tries) = rows[place].parcel.state else { return nil }
    if isUnsure { rows[place].isUnsure = true }
    if let wait = waits.wait(tries, &chance) {
      let longer = max(wait.nanoseconds, wish?.nanoseconds ?? 0)
      pauses[rows[place].parcel.lane] = Instant(nanoseconds: now.nanoseconds + longer)
      rows[place].parcel.state = .queued(tries: tries + 1)
    } else {
      rows[place].parcel.state = .failed(reason: "no answer from the server")
    }
    return rows[place].parcel
  }

  mutating func waitForCredentials(_ id: UUID128, _ present: UInt64) {
    let turn = row(id)?.turn
    isShut = turn != nil && turn?.credentials == present
    if let place = place(id) { rows[place].turn = nil }
  }

  mutating func fail(_ id: UUID128, _ reason: String) -> QueueParcel? {
    guard let place = place(id) else { return nil }
    rows[place].turn = nil
    rows[place].parcel.state = .failed(reason: reason)
    return rows[place].parcel
  }

  mutating func retry(_ id: UUID128) -> QueueParcel? {
    guard let place = place(id), case .failed = rows[place].parcel.state else { return nil }
    rows[place].parcel.state = .queued(tries: 0)
    pauses[rows[place].parcel.lane] = nil
    return rows[place].parcel
  }

  mutating func postpone(_ id: UUID128) -> QueueParcel? {
    guard let place = place(id), rows[place].parcel.state == .queued(tries: 0) else { return nil }
    rows[place].parcel.state = .queued(tries: 1)
    return rows[place].parcel
  }

  mutating func pause(_ lane: Int, _ until: Instant) {
    if let pause = pauses[lane], pause > until { return }
    pauses[lane] = until
  }

  mutating func wake(_ now: Instant) {
    for lane in pauses.indices {
      if let pause = pauses[lane], pause <= now { pauses[lane] = nil }
    }
  }
}
