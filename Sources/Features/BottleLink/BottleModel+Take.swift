import LinkCore
import LinkWire

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
