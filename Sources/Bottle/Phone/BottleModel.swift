public import HoldfastBottleData
public import HoldfastCore

/// The client of a bottle. It reconnects automatically and stores each drink once.
///
///     start ──▶ disconnected ──burst──▶ scanning ──found──▶ connecting ──open──▶ discovering
///                │   ▲   │                                       ▲                  │
///                │   │   └── the system's queued connect opens ──┘                  ▼
///                │   └────────── idle, lost, background ◀─────────────────────── connected
///                └── no burst: foreground only
///
/// A link decides when to look for the bottle. This machine translates between the link and the
/// radio, and fetches drinks while connected. The system's queued connect is armed in every state
/// but `connected`, so that the system can wake a suspended app. A scan burst finds the bottle
/// faster. It runs in addition to the queued connect and never replaces it. Every callback contains
/// the attempt to which it belongs. Callbacks of earlier attempts are ignored.
public struct BottleModel: Journaled, TimedMachine {
  public static var journalName: String { "bottle-link" }
  /// The policy, limits and time-outs.
  public let settings: BottleSettings
  /// The link, which decides when to look for the bottle.
  public internal(set) var link: HeldLink
  /// The state of the Bluetooth adapter.
  public internal(set) var adapter = AdapterState.unknown
  /// The bottle; `nil` until one was found.
  public internal(set) var bottle: KnownBottle?
  /// The radio's current scan and connects.
  var search = Search()
  /// The open connection.
  var connection: Connection?
  /// The synchronization of drinks, which is idle while none is running.
  public internal(set) var sync = DrinkSync()
  /// The most recent state of the bottle.
  public internal(set) var state: BottleState?
  var requests = Requests()
  /// The number of holds by the app that are in effect.
  private var holds = 0
  /// Whether the last connection left work undone. If so, the next connect is not delayed.
  private var hasMore = false
  private var isInBackground = false
  /// The number of the most recent change passed to the store.
  private var lastCommit: UInt64 = 0
  private var lastWrite: UInt64 = 0
  /// The device's wall clock, which is set whenever the bottle sends a message.
  var clock = WallClock()
  /// The most recently shown status.
  var shown = BottleStatus()

  /// The operations that end once a connection is open.
  struct Search: Sendable, Hashable {
    /// The burst in progress.
    var burst: Burst?
    /// The attempt of the system's queued connect.
    var queue: AttemptID?
    /// Whether the radio is scanning.
    var isScanning = false
  }

  /// A scan for the bottle, followed by a connect.
  struct Burst: Sendable, Hashable {
    let attempt: AttemptID
    /// The bottle that the scan found.
    var found: PeripheralID?
  }

  /// An open connection.
  struct Connection: Sendable, Hashable {
    let attempt: AttemptID
    var discovery = Discovery.running
    /// The longest value of a notification, in bytes; 0 until services are discovered.
    var longestValue = 0
    /// The maximum size of one chunk in bytes. It is halved after each truncated chunk.
    var chunkBytes = 0
    /// The writes to which the radio has not responded.
    var writes: [WriteID: Purpose] = [:]
    /// The number of consecutive failures to set the bottle's clock, and the instant of the next
    /// attempt.
    var untimed = 0
    var timeAt: Instant?
    /// The number of consecutive failed synchronizations, and the instant at which the next one
    /// begins.
    var failures = 0
    var syncAt: Instant?
    /// The number of consecutive synchronizations that received nothing although the bottle had
    /// reported records.
    var silences = 0
    /// Whether a synchronization was completed, so that later drinks are live.
    var isCaughtUp = false
    /// The record count for which the bottle sent no new records. The records are not requested
    /// again until the bottle reports another count.
    var vainCount: UInt16?
    /// Whether a state arrived since the last acknowledgement was passed to the radio.
    var hasNewState = false
    /// The keep-alive ping that the end of the discovery answers.
    var ping: UInt64?

    /// Whether the services have been discovered at least once.
    var isReady: Bool { longestValue > 0 }
    /// Whether values can be written now, because the discovered services are valid.
    var takesWrites: Bool { isReady && discovery == .done }
  }

  /// The discovery of a connection's services.
  enum Discovery: Sendable, Hashable {
    case running
    /// The services changed while a discovery was running. Another one follows it.
    case outdated
    case done
  }

  /// The purpose of a write.
  enum Purpose: Sendable, Hashable {
    case time
    case ping(UInt64)
    /// Wakes the bottle when a hold begins.
    case wake
    case start
    case acknowledgement(isLast: Bool)
    case request(UInt64)
    /// A request that was written before the services changed. If the write fails, the request may
    /// still have arrived.
    case interrupted(UInt64)
  }

  /// Creates a model whose link is not started.
  ///
  /// - Parameter seed: The seed of the random source. The same seed and inputs produce the same
  ///   effects.
  public init(_ settings: BottleSettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    // No attempt starts before the radio has reported that it is on.
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
    expireTimers(at: now, &step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? { firstDue }

  /// Whether nothing is in progress, and nothing will begin before the next start.
  public var isStopped: Bool { !link.isWanted }

  /// Whether the bottle is connected and its services are discovered.
  public var isConnected: Bool { connection?.isReady == true }

  /// The status that is shown to the user.
  public var status: BottleStatus { shown }

  /// The time of one call, and the effects produced so far.
  package struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: BottleUpdate) { effects.append(.update(update)) }
  }

  /// Passes an input to the link and applies the link's effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// Completes a step: ends requests, and updates the scan and the status.
  private mutating func finish(_ step: inout Step) {
    updateRequests(&step)
    let wanted = wantsScan
    if wanted != search.isScanning {
      search.isScanning = wanted
      step.effects.append(wanted ? .scan : .stopScan)
    }
    let current = observed
    if current != shown {
      shown = current
      step.show(.status(current))
    }
  }

  /// Whether a scan should run, either for the bottle of a burst or, if none is known, for any
  /// bottle.
  private var wantsScan: Bool {
    if let burst = search.burst, burst.found == nil { return true }
    return search.queue != nil && bottle == nil
  }
}

extension BottleModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension BottleModel {
  /// An input of a bottle's client.
  public enum Input: Sendable, Equatable, Codable {
    // Inputs from the app.
    /// Connect, and reconnect after each loss.
    case start
    /// Disconnect, and end everything that is outstanding.
    case stop
    /// Connect and synchronize now. The app chooses the ID of the refresh.
    case refresh(UInt64)
    /// Begin (`true`) or end (`false`) a hold, which keeps an idle connection open.
    case hold(Bool)
    /// Send a request to the bottle. The app chooses the ID of the request.
    case perform(UInt64, BottleRequest)
    /// Use another bottle, or, for `nil`, the first one that is found.
    case choose(KnownBottle?)
    /// All drinks up to this number were shown.
    case shown(through: UInt64)

    /// An event of the device or the link.
    case link(LinkEvent)

    // Inputs from the radio.
    case central(CentralEvent)
    /// Services were discovered and notifications were turned on.
    case discovered(AttemptID, longestValue: Int, BottleState, at: Timestamp)
    /// Discovery failed: a service is missing, or the bottle was too slow.
    case undiscovered(AttemptID, LinkFailure)
    /// A characteristic notified a value.
    case heard(AttemptID, News, at: Timestamp)
    case written(WriteID)
    case unwritten(WriteID, LinkFailure)

    // Inputs from the store.
    /// The stored data of an earlier run. This is the first input.
    case restored(DrinkSnapshot)
    case committed(UInt64, [BottleDrink])
    case uncommitted(UInt64, StoreFailure)
  }

  /// A notified value.
  public enum News: Sendable, Equatable, Codable {
    case state(BottleState)
    case chunk(BottleChunk)
    case calibration(BottleCalibration)
    case battery(UInt8)
    /// A chunk that cannot be decoded.
    case brokenChunk(detail: String)
    /// Any other value that cannot be decoded.
    case malformed(detail: String)

    /// Decodes the value of a characteristic. Returns `nil` for a characteristic that is not used.
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

  /// An effect of a bottle's client. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Scan for bottles.
    case scan
    case stopScan
    /// Connect after a delay. A queued connect has no time-out.
    case connect(AttemptID, PeripheralID, isQueued: Bool, after: Duration = .zero)
    /// End the connection, or stop connecting, for a reason.
    case cancel(AttemptID, HeldLink.CloseReason)
    /// Discover the services, subscribe and read the state, then report `.discovered`.
    case discover(AttemptID)
    case write(AttemptID, WriteID, BottleAttribute, [UInt8])
    /// Store the change, then report `.committed` or `.uncommitted`.
    case commit(UInt64, DrinkChange)
    /// Record that drinks were shown. If this fails, the next run will show them again.
    case confirm(UInt64)
    case update(BottleUpdate)
  }
}

// The use of a connection: clock, drinks and notifications.
extension BottleModel {
  /// Returns the time of the device's wall clock at this step.
  func wallTime(_ step: Step) -> Timestamp { clock.time(at: step.now) }

  /// Sets the bottle's clock, unless this device's own clock is not set.
  mutating func setTime(_ step: inout Step) {
    connection?.timeAt = nil
    let time = wallTime(step)
    let seconds = time.nanoseconds / 1_000_000_000
    // The clock is set again after each discovery.
    guard connection?.takesWrites == true, let clock = UInt32(exactly: seconds),
      BottleRecord.validTimes.contains(clock)
    else {
      return
    }
    write(BottleCommand.setTime(clock).bytes, to: .command, for: .time, &step)
  }

  /// Schedules another attempt to set the bottle's clock. If the last attempt fails, the next
  /// connection sets the clock.
  private mutating func timeFailed(_ step: inout Step) {
    guard let failures = connection?.untimed, failures < settings.syncRetries.count else { return }
    connection?.untimed = failures + 1
    connection?.timeAt = step.now.advanced(by: settings.syncRetries[failures])
  }

  mutating func handle(_ news: News, at time: Timestamp, _ step: inout Step) {
    guard let connection, connection.isReady else { return }
    clock.set(time, at: step.now)
    switch news {
    case .state(let state):
      let isNew = state != self.state
      if isNew { forgive() }
      if state.unsynced != connection.vainCount { self.connection?.vainCount = nil }
      self.state = state
      if case .finishing = sync.state { self.connection?.hasNewState = true }
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
      // The chunk was truncated, so the radio carries fewer bytes than it reported.
      self.connection?.chunkBytes = max(connection.chunkBytes / 2, 20)
      fail(.malformed(detail: detail), &step)
    case .malformed(let detail): step.show(.notice(.malformed(detail: detail)))
    }
  }

  /// Allows another synchronization after all retries have failed, since the state has changed.
  ///
  /// The record count alone does not show that the state changed. It stays the same if new records
  /// replace old ones.
  private mutating func forgive() {
    guard let connection, connection.failures > settings.syncRetries.count else { return }
    self.connection?.failures = 0
  }

  /// Begins a synchronization if the bottle reports unsynchronized records.
  mutating func startSyncIfNeeded(_ step: inout Step) {
    guard settings.syncs, !sync.isRunning, let connection, connection.takesWrites,
      connection.syncAt == nil, connection.failures <= settings.syncRetries.count, let state,
      state.unsynced > 0,
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

  mutating func committed(_ id: UInt64, _ drinks: [BottleDrink], _ step: inout Step) {
    for drink in drinks {
      if drink.record.timestamp == nil {
        step.show(.notice(.unknownTime(record: drink.record.id)))
      }
      step.show(.drink(drink))
    }
    countForRefreshes(drinks.count)
    // `nil` means that the commit belongs to an older connection or stored no chunk.
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
    case (.interrupted(let request), nil): requestWritten(request, nil, &step)
    case (.interrupted(let request), _?): interruptRequests([request], &step)
    // A bottle that rejects the time can still send drinks.
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
      // If records arrived, the next count that the bottle reports is used again.
      connection.vainCount = sync.added == 0 ? state?.unsynced : nil
      let hasNewState = connection.hasNewState
      connection.hasNewState = false
      self.connection = connection
      endRefreshes(&step) { .synced($0.added) }
      // A state with newer records may have arrived before the response to the write.
      if hasNewState { startSyncIfNeeded(&step) }
    case (.start, let failure?), (.acknowledgement, let failure?):
      if sync.isRunning { fail(.write(failure), &step) }
    }
  }

  mutating func syncIsLate(_ step: inout Step) {
    guard case .requested(_, let found) = sync.state else { return fail(.silence, &step) }
    // While the START write has no response, silence does not show that the bottle has no records.
    if connection?.writes.values.contains(.start) == true {
      return fail(.write(.timeout(.response)), &step)
    }
    if let found { return fail(.missingChunk(expected: 0, found: found), &step) }
    sync.stop()
    // The same happens if a notification was lost, so the records are requested once more.
    connection?.silences += 1
    if connection?.silences == 1 {
      connection?.syncAt = settings.syncRetries.first.map { step.now.advanced(by: $0) }
      return
    }
    // The bottle reports records that it does not send, such as deleted records.
    connection?.silences = 0
    connection?.isCaughtUp = true
    connection?.vainCount = state?.unsynced
    if let said = state?.unsynced { step.show(.notice(.nothingCame(said: said))) }
  }

  /// Ends a synchronization. Stored records are kept, and the next synchronization starts over.
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

// The status that the user sees, derived from the internal state.
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
    if let burst = search.burst { return burst.found == nil ? .scanning : .connecting }
    return .disconnected
  }

  /// The operations and events that lead to a next step without an action by the user.
  private var outstanding: [BottleStatus.Outstanding] {
    guard link.isWanted else { return [] }
    var all: [BottleStatus.Outstanding] = []
    if let connection {
      all += connection.discovery == .done ? [.connection] : [.discovery, .connection]
    }
    if let burst = search.burst { all.append(burst.found == nil ? .scan : .connect) }
    if search.queue != nil { all.append(bottle == nil ? .queuedScan : .queuedConnect) }
    if adapter != .on { all.append(.adapter) }
    if link.deadline != nil, connection == nil, search.burst == nil { all.append(.timer) }
    return all
  }

  /// Whether the system holds an operation for the app. Timers do not count, since they do not run
  /// in a suspended app.
  public var isHeldBySystem: Bool {
    shown.outstanding.contains { $0 != .timer }
  }
}

// The invariants that span the parts of a bottle's client.
extension BottleModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      !link.isWanted || link.status.phase == .failed || !observed.outstanding.isEmpty,
      "bottle link: something is outstanding while it is wanted")
    check.require(
      connection == nil || connection?.attempt == link.currentAttempt,
      "bottle link: the connection belongs to the present attempt")
    check.require(
      search.burst == nil || search.burst?.attempt == link.currentAttempt,
      "bottle link: the burst belongs to the present attempt")
    check.require(
      connection == nil || search.burst == nil, "bottle link: nothing is looked for while connected"
    )
    check.require(
      !sync.isRunning || connection?.takesWrites == true,
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

// The handling of inputs.
extension BottleModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start:
      drive(.setIntent(.live), &step)
      drive(.trigger(.userRefresh), &step)
    case .stop: stop(&step)
    case .refresh(let id): refresh(id, &step)
    case .hold(let isHeld): hold(isHeld, &step)
    case .perform(let id, let request): perform(id, request, &step)
    case .choose(let bottle): choose(bottle, &step)
    case .shown(let number): step.effects.append(.confirm(number))
    case .link(let event): handle(event, &step)
    case .central(let event): handle(event, &step)
    case .discovered(let attempt, let longest, let state, let time):
      discovered(attempt, longest, state, at: time, &step)
    case .undiscovered(let attempt, let failure):
      undiscovered(attempt, failure, &step)
    case .heard(let attempt, let news, let time):
      if connection?.attempt == attempt { handle(news, at: time, &step) }
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
    drive(.setIntent(.none), &step)
    endAllRequests(&step)
    holds = 0
  }

  private mutating func choose(_ new: KnownBottle?, _ step: inout Step) {
    guard new?.id != bottle?.id else { return }
    let isWanted = link.isWanted
    drive(.setIntent(.none), &step)
    bottle = new
    if isWanted { drive(.setIntent(.live), &step) }
  }

  private mutating func handle(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    // A bottle is reached over the radio, not over the network.
    case .device(.reachability): return
    case .device(.woke), .device(.lifecycle), .device(.again), .ping, .pong, .oversized, .lost:
      if case .device(.lifecycle(let now)) = event { isInBackground = now == .background }
      drive(HeldLink.Input(event), &step)
    }
    if case .device(.again) = event { drive(.trigger(.userRefresh), &step) }
  }

  private mutating func handle(_ event: CentralEvent, _ step: inout Step) {
    switch event {
    case .adapter(let state):
      adapter = state
      drive(
        .reachability(state == .on ? .reachable(path: PathID("radio")) : .unreachable), &step)
    case .restored(let peripherals):
      // Once the radio is on, the queued connect is armed for this bottle. It opens at once if the
      // bottle is already connected.
      if bottle == nil, let first = peripherals.first { bottle = KnownBottle(first.id) }
    case .found(let id, let name): found(id, name, &step)
    case .connected(let attempt): connected(attempt, &step)
    case .failed(let attempt, let failure): lost(attempt, failure, &step)
    case .disconnected(let attempt, let failure): lost(attempt, failure ?? .ended, &step)
    case .changed(let attempt): changed(attempt, &step)
    case .value: return  // the shell handles values
    }
  }

  /// Handles an advertisement of the known bottle, or of any bottle if none is known.
  private mutating func found(_ id: PeripheralID, _ name: String?, _ step: inout Step) {
    guard bottle == nil || bottle?.id == id else { return }
    let isNew = bottle == nil
    if search.burst != nil || (isNew && search.queue != nil) {
      bottle = KnownBottle(id, name: name)
    }
    // The queued connect must come before the burst's connect. In the opposite order, the bottle
    // would be discovered twice.
    if isNew, let queue = search.queue {
      step.effects.append(.connect(queue, id, isQueued: true))
    }
    if var burst = search.burst, burst.found == nil {
      burst.found = id
      search.burst = burst
      step.effects.append(.connect(burst.attempt, id, isQueued: false))
    }
  }

  private mutating func connected(_ attempt: AttemptID, _ step: inout Step) {
    guard connection?.attempt != attempt else { return }  // reported twice
    drive(.opened(attempt), &step)
    guard link.currentAttempt == attempt else {
      step.effects.append(.cancel(attempt, .superseded))
      return
    }
    if search.queue == attempt {
      search.queue = nil
      if isInBackground { step.show(.notice(.reconnectedInBackground)) }
    }
    search.burst = nil
    connection = Connection(attempt: attempt)
    step.effects.append(.discover(attempt))
  }

  private mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    if connection?.attempt == attempt { disconnected(&step) }
    if search.burst?.attempt == attempt { search.burst = nil }
    if search.queue == attempt { search.queue = nil }
    drive(.lost(attempt, failure), &step)
  }

  /// Discards the state of the connection.
  mutating func disconnected(_ step: inout Step) {
    guard let over = connection else { return }
    if sync.isRunning { step.show(.notice(.syncFailed(.disconnected))) }
    sync.stop()
    hasMore = !requests.entries.isEmpty || leavesRecords(over)
    connection = nil
    interruptRequests(over.writes.values.compactMap(\.request), &step)
  }

  /// Whether the bottle reported records that can still be fetched.
  private func leavesRecords(_ over: Connection) -> Bool {
    guard settings.syncs, let state, state.unsynced > 0 else { return false }
    return state.unsynced != over.vainCount
  }

  /// Translates the effects of the link.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): search.burst = Burst(attempt: attempt)
      case .close(let attempt, let reason): close(attempt, reason, &step)
      case .ping(let attempt, let id): ping(attempt, id, &step)
      case .arm(let attempt, let rest):
        search.queue = attempt
        guard let bottle else { continue }
        step.effects.append(
          .connect(attempt, bottle.id, isQueued: true, after: hasMore ? .zero : rest))
      case .disarm(let attempt):
        search.queue = nil
        step.effects.append(.cancel(attempt, link.isWanted ? .superseded : .leaving))
      // A bottle needs no credentials, and polling cannot reach its data.
      case .refreshCredentials, .poll: continue
      case .status: continue  // observed after the step
      }
    }
  }

  private mutating func close(
    _ attempt: AttemptID, _ reason: HeldLink.CloseReason, _ step: inout Step
  ) {
    disconnected(&step)
    if search.burst?.attempt == attempt {
      let wasConnecting = search.burst?.found != nil
      search.burst = nil
      guard wasConnecting else { return }
    }
    step.effects.append(.cancel(attempt, reason))
  }

  /// Sends a keep-alive ping during a hold. Without a hold no ping is sent, since a ping keeps the
  /// bottle awake.
  ///
  /// In that case, the radio's supervision time-out detects a lost bottle.
  private mutating func ping(_ attempt: AttemptID, _ id: UInt64, _ step: inout Step) {
    guard holds > 0 else {
      drive(.pong(attempt, id), &step)
      return
    }
    guard connection?.takesWrites == true else {
      // The end of the discovery answers the ping. If the discovery does not end, the ping fails.
      connection?.ping = id
      return
    }
    write(BottleCommand.ping.bytes, to: .command, for: .ping(id), &step)
    drive(.validData(attempt), &step)
  }

  /// Begins or ends a hold. Either restarts the connection's idle time.
  private mutating func hold(_ isHeld: Bool, _ step: inout Step) {
    holds = max(holds + (isHeld ? 1 : -1), 0)
    if let connection { drive(.validData(connection.attempt), &step) }
    if isHeld { keepAwake(&step) }
  }

  /// Pings the bottle at once, since it may be about to sleep.
  mutating func keepAwake(_ step: inout Step) {
    guard holds > 0, connection?.takesWrites == true else { return }
    write(BottleCommand.ping.bytes, to: .command, for: .wake, &step)
  }

  /// Passes a value to the radio to be written, and returns the ID of the write.
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

  /// Passes a change to the store, and returns the number of the commit.
  mutating func commit(_ change: DrinkChange, _ step: inout Step) -> UInt64 {
    lastCommit += 1
    step.effects.append(.commit(lastCommit, change))
    return lastCommit
  }
}

extension BottleModel.Purpose {
  /// The ID of the request to which the write belongs.
  var request: UInt64? {
    switch self {
    case .request(let id), .interrupted(let id): id
    case .time, .ping, .wake, .start, .acknowledgement: nil
    }
  }
}
