public import LinkCore
public import LinkStorage
public import LinkWire

/// A bottle that reconnects by itself, and whose drinks are stored, each once.
///
///     start ──▶ disconnected ──burst──▶ scanning ──found──▶ connecting ──open──▶ discovering
///                │   ▲   │                                       ▲                  │
///                │   │   └── the system's queued connect opens ──┘                  ▼
///                │   └────────── idle, lost, background ◀─────────────────────── connected
///                └── no burst: foreground only
///
/// A link decides when to look for the bottle; this translates between it and the radio, and
/// fetches drinks while connected. The system's queued connect is armed in every state but
/// connected, so that a suspended app is woken; a burst is a fast path beside it and never takes
/// its place. Every callback carries the attempt that it belongs to, and those of others change
/// nothing.
public struct BottleModel: Journaled {
  public static var journalName: String { "bottle-link" }
  /// The numbers and rules.
  public let settings: BottleSettings
  /// When to look for the bottle.
  public internal(set) var link: HeldLink
  /// What the radio can do.
  public internal(set) var adapter = AdapterState.unknown
  /// The bottle; `nil` until one was found.
  public internal(set) var bottle: KnownBottle?
  /// The burst under way.
  var burst: Burst?
  /// The ticket of the system's queued connect.
  var queue: AttemptID?
  /// Whether the radio was told to scan.
  var isScanning = false
  /// The open connection.
  var connection: Connection?
  /// The synchronisation of drinks, idle while none runs.
  public internal(set) var sync = DrinkSync()
  /// What the bottle said last.
  public internal(set) var state: BottleState?
  var requests = Requests()
  /// How often the app asked to keep the connection.
  var holds = 0
  /// Whether the last connection left something to do: then its bottle is not left alone.
  var hasMore = false
  var isInBackground = false
  /// The number of the last change that went to the store.
  var lastCommit: UInt64 = 0
  /// The device's wall clock when the bottle was heard last, and when that was.
  var lastWall = Timestamp(nanoseconds: 0)
  var lastHeard = Instant.zero
  var lastWrite: UInt64 = 0
  var shown = BottleStatus()

  /// A burst: it looks for the bottle, then connects.
  struct Burst: Sendable, Hashable {
    let attempt: AttemptID
    /// The bottle that it found.
    var found: PeripheralID?
  }

  /// An open connection.
  struct Connection: Sendable, Hashable {
    let attempt: AttemptID
    /// The longest value of a notification; 0 until services are discovered.
    var longestValue = 0
    /// The most bytes of one chunk; less after a chunk that was cut off.
    var chunkBytes = 0
    /// Writes that the radio has not answered.
    var writes: [WriteID: Purpose] = [:]
    /// How often in a row the bottle did not take the time, and when it is set again.
    var untimed = 0
    var timeAt: Instant?
    /// How many synchronisations failed in a row, and when the next one begins.
    var failures = 0
    var syncAt: Instant?
    /// How often in a row nothing came although the bottle said that it has something.
    var silences = 0
    /// Whether a synchronisation was completed: what comes now is live.
    var isCaughtUp = false
    /// The count at which the bottle sent nothing, or nothing new: it is not asked again for that.
    var vainCount: UInt16?
    /// Whether it told its state since the last acknowledgement was given to the radio.
    var saidMore = false

    var isReady: Bool { longestValue > 0 }
  }

  /// What a write is for.
  enum Purpose: Sendable, Hashable {
    case time
    case ping(UInt64)
    /// Wakes the bottle at the begin of a hold.
    case wake
    case start
    case acknowledgement(isLast: Bool)
    case request(UInt64)
  }

  /// Makes a link that is not wanted yet.
  ///
  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(_ settings: BottleSettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    // Nothing is tried before the radio has said that it is on.
    _ = link.handle(.reachability(.unreachable), at: .zero)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    follow(link.tick(at: now), &step)
    if let due = connection?.timeAt, due <= now { setTime(&step) }
    syncIsDue(&step)
    requestsAreDue(&step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    [link.deadline, connection?.timeAt, syncDeadline, requests.deadline].compactMap(\.self).min()
  }

  /// Whether nothing is under way and nothing will be until the next start.
  public var isStopped: Bool { !link.isWanted }

  /// Whether the bottle is connected and discovered.
  public var isConnected: Bool { connection?.isReady == true }

  /// What the user sees.
  public var status: BottleStatus { shown }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: BottleUpdate) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// What must follow every step.
  private mutating func finish(_ step: inout Step) {
    settleRequests(&step)
    let wanted = wantsScan
    if wanted != isScanning {
      isScanning = wanted
      step.effects.append(wanted ? .scan : .stopScan)
    }
    let current = observed
    if current != shown {
      shown = current
      step.show(.status(current))
    }
  }

  /// A burst looks for the bottle; without a known one a queued scan looks for any.
  private var wantsScan: Bool {
    if let burst, burst.found == nil { return true }
    return queue != nil && bottle == nil
  }
}

extension BottleModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension BottleModel {
  /// Everything that can happen to a bottle's link.
  public enum Input: Sendable, Equatable, Codable {
    // The app.
    /// Connect, and keep connecting.
    case start
    /// Disconnect, and leave nothing outstanding.
    case stop
    /// Connect and synchronise now, under a number of the app.
    case refresh(UInt64)
    /// Keep the connection although nothing happens; each true is taken back by a false.
    case hold(Bool)
    /// Ask something of the bottle, under a number of the app.
    case perform(UInt64, BottleRequest)
    /// Use another bottle, or the first one that is found.
    case choose(KnownBottle?)
    /// The drinks up to this number were shown.
    case shown(through: UInt64)

    /// What the device says.
    case link(LinkEvent)

    // The radio.
    case central(CentralEvent)
    /// Services were discovered and notifications turned on.
    case discovered(AttemptID, longestValue: Int, BottleState, at: Timestamp)
    /// It was not: a service is missing, the bottle is too slow.
    case undiscovered(AttemptID, LinkFailure)
    /// A characteristic notified a value.
    case heard(AttemptID, News, at: Timestamp)
    case written(WriteID)
    case unwritten(WriteID, LinkFailure)

    // The store.
    /// What an earlier run left; the first input.
    case restored(DrinkSnapshot)
    case committed(UInt64, [Drink])
    case uncommitted(UInt64, StoreFailure)
  }

  /// A notified value.
  public enum News: Sendable, Equatable, Codable {
    case state(BottleState)
    case chunk(BottleChunk)
    case calibration(BottleCalibration)
    case battery(UInt8)
    /// A chunk that cannot be read.
    case brokenChunk(detail: String)
    /// Another value that cannot be read.
    case malformed(detail: String)

    /// Reads the value of a characteristic; `nil` for one that nothing depends on.
    public init?(_ bytes: [UInt8], of attribute: BottleAttribute) {
      do throws(BottleFormatError) {
        switch attribute {
        case .state: self = .state(try BottleState(bytes))
        case .drinks: self = .chunk(try BottleChunk(bytes))
        case .calibration: self = .calibration(try BottleCalibration(bytes))
        case .battery:
          guard bytes.count == 1 else {
            self = .malformed(detail: "battery: \(bytes.count) bytes instead of 1")
            return
          }
          self = .battery(bytes[0])
        case .activity, .configuration, .syncControl, .command, .settings: return nil
        }
      } catch {
        self =
          attribute == .drinks
          ? .brokenChunk(detail: error.description) : .malformed(detail: error.description)
      }
    }
  }

  /// Everything a bottle's link can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Look for bottles.
    case scan
    case stopScan
    /// Ask for a connection; a queued one stays for ever. Before that the bottle is left alone for
    /// a while.
    case connect(AttemptID, PeripheralID, isQueued: Bool, after: Duration = .zero)
    case cancel(AttemptID)
    /// Discover the services, subscribe, read the state; then say `.discovered`.
    case discover(AttemptID)
    case write(AttemptID, WriteID, BottleAttribute, [UInt8])
    /// Store, then say `.committed` or `.uncommitted`.
    case commit(UInt64, DrinkChange)
    /// Note that drinks were shown; a failure shows them again in the next run.
    case confirm(UInt64)
    case update(BottleUpdate)
  }
}

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

// The one projection of the inner state that anybody sees.
extension BottleModel {
  var observed: BottleStatus {
    var status = BottleStatus()
    status.phase = phase
    status.outstanding = outstanding
    status.reason = link.status.reason
    status.adapter = adapter
    status.retryAt = link.status.retryAt
    return status
  }

  private var phase: BottleStatus.Phase {
    if let connection { return connection.isReady ? .connected : .discovering }
    if let burst { return burst.found == nil ? .scanning : .connecting }
    return .disconnected
  }

  /// Everything that leads to a next step without the user.
  private var outstanding: [BottleStatus.Outstanding] {
    guard link.isWanted else { return [] }
    var all: [BottleStatus.Outstanding] = []
    if let connection { all += connection.isReady ? [.connection] : [.discovery, .connection] }
    if let burst { all.append(burst.found == nil ? .scan : .connect) }
    if queue != nil { all.append(bottle == nil ? .queuedScan : .queuedConnect) }
    if adapter != .on { all.append(.adapter) }
    if link.deadline != nil, connection == nil, burst == nil { all.append(.timer) }
    return all
  }

  /// Whether the system holds something for the app: a suspended app has no timers.
  public var isKeptBySystem: Bool {
    shown.outstanding.contains { $0 != .timer }
  }
}

// What always holds between the parts of a bottle's link.
extension BottleModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      !link.isWanted || link.status.phase == .failed || !observed.outstanding.isEmpty,
      "bottle link: something is outstanding while it is wanted")
    check.require(
      connection == nil || connection?.attempt == link.currentAttempt,
      "bottle link: the connection belongs to the present attempt")
    check.require(
      burst == nil || burst?.attempt == link.currentAttempt,
      "bottle link: the burst belongs to the present attempt")
    check.require(
      connection == nil || burst == nil, "bottle link: nothing is looked for while connected")
    check.require(
      !sync.isRunning || connection?.isReady == true,
      "bottle link: drinks are fetched only while connected")
    check.require(
      isConnected == (link.status.phase == .connected),
      "bottle link: connected means that all services were discovered")
    check.require(
      requests.entries.count <= Requests.limit, "bottle link: requests are bounded")
    check.require(holds >= 0, "bottle link: holds are counted")
    if check.isThorough {
      check.require(shown == observed, "bottle link: the user is shown the present state")
    }
    link.check(&check)
    sync.check(&check)
  }
}

// What inputs mean for a bottle's link.
extension BottleModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start:
      drive(.want(.live), &step)
      drive(.trigger(.userRefresh), &step)
    case .stop: stop(&step)
    case .refresh(let id): refresh(id, &step)
    case .hold(let isHeld): hold(isHeld, &step)
    case .perform(let id, let request): perform(id, request, &step)
    case .choose(let bottle): choose(bottle, &step)
    case .shown(let number): step.effects.append(.confirm(number))
    case .link(let event): hear(event, &step)
    case .central(let event): hear(event, &step)
    case .discovered(let attempt, let longest, let state, let time):
      discovered(attempt, longest, state, at: time, &step)
    case .undiscovered(let attempt, let failure):
      // The link would take this for the end of a queued connect with the same number.
      if connection?.attempt == attempt { drive(.reject(attempt, failure), &step) }
    case .heard(let attempt, let news, let time):
      if connection?.attempt == attempt { hear(news, at: time, &step) }
    case .written(let id): written(id, nil, &step)
    case .unwritten(let id, let failure): written(id, failure, &step)
    case .restored(let snapshot):
      bottle = snapshot.bottle ?? bottle
      for drink in snapshot.unshown { step.show(.drink(drink)) }
    case .committed(let id, let drinks): committed(id, drinks, &step)
    case .uncommitted(let id, let failure): uncommitted(id, failure, &step)
    }
  }

  private mutating func stop(_ step: inout Step) {
    drive(.want(.none), &step)
    endAllRequests(&step)
    holds = 0
  }

  private mutating func choose(_ new: KnownBottle?, _ step: inout Step) {
    guard new?.id != bottle?.id else { return }
    let isWanted = link.isWanted
    drive(.want(.none), &step)
    bottle = new
    if isWanted { drive(.want(.live), &step) }
  }

  private mutating func hear(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    // The radio, not the network, is the way to a bottle.
    case .device(.reachability): return
    case .device(.woke), .device(.lifecycle), .device(.again), .ping, .pong, .oversized, .lost:
      if case .device(.lifecycle(let now)) = event { isInBackground = now == .background }
      drive(HeldLink.Input(event), &step)
    }
    if case .device(.again) = event { drive(.trigger(.userRefresh), &step) }
  }

  private mutating func hear(_ event: CentralEvent, _ step: inout Step) {
    switch event {
    case .adapter(let state):
      adapter = state
      drive(
        .reachability(state == .on ? .reachable(path: PathID("radio")) : .unreachable), &step)
    case .restored(let peripherals):
      // The queued connect is armed for it as soon as the radio is on; it opens at once if the
      // bottle is connected already.
      if bottle == nil, let first = peripherals.first { bottle = KnownBottle(first.id) }
    case .found(let id, let name): found(id, name, &step)
    case .connected(let attempt): connected(attempt, &step)
    case .failed(let attempt, let failure): lost(attempt, failure, &step)
    case .disconnected(let attempt, let failure): lost(attempt, failure ?? .ended, &step)
    case .value: return  // read by the shell
    }
  }

  /// A bottle advertises: the known one, or the first one if none is known.
  private mutating func found(_ id: PeripheralID, _ name: String?, _ step: inout Step) {
    guard bottle == nil || bottle?.id == id else { return }
    let isNew = bottle == nil
    if burst != nil || (isNew && queue != nil) { bottle = KnownBottle(id, name: name) }
    // The queued connect wins over a burst: behind it the bottle would be discovered twice.
    if isNew, let queue { step.effects.append(.connect(queue, id, isQueued: true)) }
    if var burst, burst.found == nil {
      burst.found = id
      self.burst = burst
      step.effects.append(.connect(burst.attempt, id, isQueued: false))
    }
  }

  private mutating func connected(_ attempt: AttemptID, _ step: inout Step) {
    guard connection?.attempt != attempt else { return }  // told twice
    drive(.opened(attempt), &step)
    guard link.currentAttempt == attempt else {
      step.effects.append(.cancel(attempt))
      return
    }
    if queue == attempt {
      queue = nil
      if isInBackground { step.show(.notice(.reconnectedInBackground)) }
    }
    burst = nil
    connection = Connection(attempt: attempt)
    step.effects.append(.discover(attempt))
  }

  private mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    if connection?.attempt == attempt { disconnected(&step) }
    if burst?.attempt == attempt { burst = nil }
    if queue == attempt { queue = nil }
    drive(.lost(attempt, failure), &step)
  }

  /// Forgets what belonged to the connection.
  mutating func disconnected(_ step: inout Step) {
    guard let over = connection else { return }
    if sync.isRunning { step.show(.notice(.syncFailed(.disconnected))) }
    sync.stop()
    hasMore = !requests.entries.isEmpty || leavesRecords(over)
    connection = nil
    interruptRequests(over.writes.values.compactMap(\.request), &step)
  }

  /// Whether the bottle has said that it has records, and they may still come.
  private func leavesRecords(_ over: Connection) -> Bool {
    guard settings.syncs, let state, state.unsynced > 0 else { return false }
    return state.unsynced != over.vainCount
  }

  /// Translates what the link asks for.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): burst = Burst(attempt: attempt)
      case .close(let attempt, _): close(attempt, &step)
      case .ping(let attempt, let id): ping(attempt, id, &step)
      case .arm(let attempt, let rest):
        queue = attempt
        guard let bottle else { continue }
        step.effects.append(
          .connect(attempt, bottle.id, isQueued: true, after: hasMore ? .zero : rest))
      case .disarm(let attempt):
        queue = nil
        step.effects.append(.cancel(attempt))
      // A bottle needs no credentials, and there is no other way to its data.
      case .refreshCredentials, .poll: continue
      case .status: continue  // observed after the step
      }
    }
  }

  private mutating func close(_ attempt: AttemptID, _ step: inout Step) {
    disconnected(&step)
    if burst?.attempt == attempt {
      let wasConnecting = burst?.found != nil
      burst = nil
      guard wasConnecting else { return }
    }
    step.effects.append(.cancel(attempt))
  }

  /// A ping of the link keeps the bottle awake, which only a hold asks for.
  ///
  /// Otherwise the radio's own supervision finds a bottle that is gone.
  private mutating func ping(_ attempt: AttemptID, _ id: UInt64, _ step: inout Step) {
    guard holds > 0 else {
      drive(.pong(attempt, id), &step)
      return
    }
    write(BottleCommand.ping.bytes, to: .command, for: .ping(id), &step)
    drive(.validData(attempt), &step)
  }

  /// The time of an idle connection begins anew with each hold, and with its end.
  private mutating func hold(_ isHeld: Bool, _ step: inout Step) {
    holds = max(holds + (isHeld ? 1 : -1), 0)
    if let connection { drive(.validData(connection.attempt), &step) }
    if isHeld { keepAwake(&step) }
  }

  /// Pings the bottle now, since it may be about to sleep.
  mutating func keepAwake(_ step: inout Step) {
    guard holds > 0, connection?.isReady == true else { return }
    write(BottleCommand.ping.bytes, to: .command, for: .wake, &step)
  }

  /// Gives the radio a value to write; returns its name.
  @discardableResult
  mutating func write(
    _ bytes: [UInt8], to attribute: BottleAttribute, for purpose: Purpose, _ step: inout Step
  ) -> WriteID? {
    guard var connection else { return nil }
    lastWrite += 1
    let id = WriteID(lastWrite)
    connection.writes[id] = purpose
    self.connection = connection
    step.effects.append(.write(connection.attempt, id, attribute, bytes))
    return id
  }

  /// Stores a change; returns its number.
  mutating func commit(_ change: DrinkChange, _ step: inout Step) -> UInt64 {
    lastCommit += 1
    step.effects.append(.commit(lastCommit, change))
    return lastCommit
  }
}

extension BottleModel.Purpose {
  /// The request that it is for.
  var request: UInt64? {
    if case .request(let id) = self { id } else { nil }
  }
}
