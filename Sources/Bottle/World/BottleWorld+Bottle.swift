import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFirmware
import HoldfastLinkChecks
import HoldfastVirtualBottle
import HoldfastWorldKernel

// The bottle: the actual firmware, and the people who use the bottle.
extension BottleWorld {
  func deadline(of host: HostID) -> Instant? { host.kind == .peripheral ? bottleDue : nil }

  mutating func tick(_ host: HostID) {
    countTime()
    let outputs = bottle.tick(at: now)
    follow(outputs)
  }

  /// Passes a physical event to the bottle.
  mutating func touch(_ input: BottleInput) {
    countTime()
    let outputs = bottle.handle(.world(input), at: now)
    follow(outputs)
  }

  /// Carries out the outputs of the bottle.
  mutating func follow(_ outputs: [VirtualBottle.Output]) {
    bottleDue = bottle.deadline.map { max($0, now) }
    noteRecords()
    for output in outputs {
      switch output {
      case .advertises(let isOn): note(.advertises(isOn))
      case .disconnects:
        radio.bottleLink = nil
        drop(.reset)
      case .notifies(let attribute, let bytes): notify(attribute, bytes)
      case .answers, .sleeps, .stores: continue
      }
    }
    kernel.own.unsynced = Int(bottle.bottle.ring.unsynced(withDeleted: false))
    plan()
    updateState()
  }

  private mutating func noteRecords() {
    let ring = bottle.bottle.ring
    while nextRecord < ring.nextID {
      kernel.counts[.drinks] += 1
      expect(ring[Int(nextRecord - ring[0].id)])
      if knowsTime { note(.stamped(isValid: bottle.bottle.clock.isValid)) }
      nextRecord += 1
    }
    let oldest = ring.count > 0 ? ring[0].id : ring.nextID
    while oldestRecord < oldest {
      if own.expected.contains(oldestRecord) { note(removed: oldestRecord) }
      oldestRecord += 1
    }
    if bottle.countsDeleted { noteMarked(ring) }
  }

  /// Adds a record to those that must be stored, unless the store contains an identical record from
  /// a lost memory.
  private mutating func expect(_ made: DrinkRecord) {
    let record = BottleRecord(
      id: made.id, time: made.time, amount: made.amount, level: made.level, kind: made.kind)
    self.made[record.id] = record
    guard !held.contains(record) else {
      kernel.own.stored.insert(record.id)
      return
    }
    kernel.own.expected.insert(record.id)
    note(.recorded(record.id))
  }

  /// Erases the bottle's memory. Then a person picks up the bottle and drinks.
  private mutating func wipe() {
    countTime()
    for id in own.expected.sorted() { note(removed: id) }
    note(.erased)
    lost.formUnion(made.values)
    (made, nextRecord, oldestRecord) = ([:], 1, 0)
    (kernel.own.stored, radio.sent) = ([], [])
    let outputs = bottle.handle(.erased, at: now)
    follow(outputs)
    drink(1)
  }

  /// Records the loss of records that the bottle marks as synchronized without having sent them.
  ///
  /// This occurs if the bottle marks its first records after its full ring has received another
  /// record.
  private mutating func noteMarked(_ ring: RecordRing<ArrayStorage>) {
    for index in 0..<ring.count where ring[index].isSynced {
      let id = ring[index].id
      if own.expected.contains(id), !radio.sent.contains(id) { note(removed: id) }
    }
  }

  /// Whether the phone has had enough time to set the bottle's clock.
  private var knowsTime: Bool {
    guard process == .running, isInRange, let link = radio.link, link.subscriber != nil,
      link.timeBy < now,
      wall(.phone).nanoseconds > 1_577_836_800_000_000_000, let since = readySince
    else { return false }
    return since.duration(to: now) > .seconds(5)
  }

  /// Removes a record from those that must be stored.
  mutating func note(removed id: UInt32) {
    kernel.own.expected.remove(id)
    note(.removed(id))
  }

  /// Returns the ID of the record that a write deletes although no phone has acknowledged it; `nil`
  /// if there is none.
  func record(deletedBy write: BottleFeature.RadioWrite) -> UInt32? {
    guard write.attribute == .command, case .delete(let id)? = try? BottleCommand(write.bytes),
      own.expected.contains(id)
    else { return nil }
    return id
  }

  // The plan.

  static func impose(
    _ event: PlannedEvent<BottleFeature.EventKind>, on conditions: inout Conditions
  ) {
    switch event.eventKind {
    case .own(.evict): (conditions.isKilled, conditions.isInBackground) = (true, true)
    case .own(.bluetooth): conditions.isUnreachable = true
    case .own, .common: return
    }
  }

  mutating func begin(
    _ eventKind: BottleFeature.EventKind, _ event: PlannedEvent<BottleFeature.EventKind>,
    _ index: Int
  ) {
    switch eventKind {
    case .refreshes, .deletes, .commands, .holds, .pauses, .forgets: ask(eventKind, event)
    case .drinks: drink(event.number)
    case .moves:
      touch(.moved)
      touch(.stands(false))
      kernel.later(.handles(.stands(true)), after: .seconds(4))
    case .carries: carry(index)
    case .pours: touch(.poured(Int16(event.choice) ?? 0))
    case .shakes: touch(.shaken)
    case .measures:
      let percent = UInt8(clamping: event.number)
      touch(.battery(percent))
      notify(.battery, [percent])
    case .restarts:
      countTime()
      let outputs = bottle.handle(.restarted, at: now)
      follow(outputs)
    case .wipes: wipe()
    case .flat: touch(.battery(5))
    case .changes: plan(BottleRadio.ServiceChange(rawValue: event.choice) ?? .now)
    case .away: rangeChanged()
    case .crowded, .lossy, .garbles:
      plan()
      updateState()
    case .timeless: kernel.hosts[HostID.phone.slot].wallOffset -= .seconds(300_000_000)
    case .bluetooth: setAdapter(AdapterState(rawValue: event.choice) ?? .off)
    case .echoes: echo()
    case .evict: killSoon(.phone)
    }
  }

  /// Passes a request from the user to the app.
  private mutating func ask(
    _ eventKind: BottleFeature.EventKind, _ event: PlannedEvent<BottleFeature.EventKind>
  ) {
    switch eventKind {
    case .refreshes: request { .refresh($0) }
    case .deletes:
      guard let newest = disk.drinks(before: nil, limit: 1).first else { return }
      request { .perform($0, .command(.delete(newest.record.id))) }
    case .commands:
      guard let kind = BottleRequestKind(rawValue: event.choice) else { return }
      request { .perform($0, kind.request) }
    case .holds: hold(true)
    case .pauses:
      guard process == .running else { return }
      // Stopping the link releases all holds.
      (kernel.own.holds, isPaused) = (0, true)
      give(.stop, to: .phone)
    case .forgets: if process == .running { give(.choose(nil), to: .phone) }
    case .drinks, .moves, .carries, .pours, .shakes, .restarts, .wipes, .flat, .measures, .changes,
      .away, .crowded, .lossy, .garbles, .bluetooth, .echoes, .timeless, .evict:
      return
    }
  }

  mutating func end(_ event: PlannedEvent<BottleFeature.EventKind>, _ index: Int) {
    switch event.eventKind {
    case .own(.holds): hold(false)
    case .own(.pauses): turnOn()
    case .own(.flat): if !isUnderWay(.flat) { touch(.battery(90)) }
    case .own(.away): if isInRange { rangeChanged() }
    case .own(.bluetooth): if !isUnderWay(.bluetooth) { setAdapter(.on) }
    case .own, .common:
      // The bottle may have connected in the meantime.
      if radio.link != nil { launch(isConnected: true) }
      plan()
      updateState()
    }
  }

  /// Turns the feature on again once all pauses have ended.
  mutating func turnOn() {
    guard isPaused, !isUnderWay(.pauses), process == .running else { return }
    isPaused = false
    give(.start, to: .phone)
  }

  mutating func hold(_ isHeld: Bool) {
    guard process == .running, !isPaused || !isHeld else { return }
    kernel.own.holds = max(0, own.holds + (isHeld ? 1 : -1))
    give(.hold(isHeld), to: .phone)
  }

  /// Makes a person pick up the bottle, drink, and put it down.
  private mutating func drink(_ count: Int) {
    if bottle.bottle.power == .deep { touch(.tapped) }
    touch(.moved)
    touch(.stands(false))
    for number in 0..<count {
      let amount = Int16(30 + kernel.generator.next() % 300)
      let wait = Duration.seconds(2) + .milliseconds(1500 * Int64(number))
      kernel.later(.handles(.poured(amount)), after: wait)
    }
    let rest = Duration.seconds(4) + .milliseconds(1500 * Int64(count))
    kernel.later(.handles(.stands(true)), after: rest)
  }

  /// Moves the bottle repeatedly while the event is in progress.
  mutating func carry(_ event: Int) {
    guard kernel.active.contains(event) else { return }
    touch(.moved)
    touch(.stands(false))
    kernel.later(.carries(event: event), after: .seconds(7))
  }

  /// Delivers callbacks for earlier attempts of this run. Some of these callbacks are repeated,
  /// others occur for the first time.
  private mutating func echo() {
    for attempt in radio.past
    where attempt != clients[0].link.currentAttempt && attempt != clients[0].link.queuedAttempt {
      deliver(.central(.connected(attempt)))
      deliver(.central(.failed(attempt, .timeout(.connect))))
      deliver(.central(.disconnected(attempt, .reset)))
      deliver(.undiscovered(attempt, .reset))
      deliver(.discovered(attempt, longestValue: 20, bottle.state, at: wall(.phone)))
      deliver(.heard(attempt, .battery(1), at: wall(.phone)))
    }
    guard let attempt = radio.link?.subscriber else { return }
    deliver(.discovered(attempt, longestValue: 20, BottleState(), at: wall(.phone)))
    deliver(.central(.connected(attempt)))
  }

  // The cost.

  /// Adds the time since the last change to the cost.
  mutating func countTime() {
    cost.pass(
      to: now, isAwake: bottle.bottle.power == .awake, isAdvertising: bottle.bottle.isAdvertising,
      isConnected: radio.link != nil,
      isScanning: radio.isScanning && process == .running && own.isKnown)
  }
}

extension BottleRecord {
  /// The record without its flags for synchronization and deletion.
  var bare: BottleRecord {
    BottleRecord(id: id, time: time, amount: amount, level: level, kind: kind)
  }
}

/// The times that a bottle and its phone spend in costly states.
struct BottleCost {
  private(set) var awake = Duration.zero
  private(set) var advertising = Duration.zero
  private(set) var connected = Duration.zero
  /// The time for which the phone searches for a known bottle.
  private(set) var scanning = Duration.zero
  private var last = Instant.zero

  mutating func pass(
    to now: Instant, isAwake: Bool, isAdvertising: Bool, isConnected: Bool, isScanning: Bool
  ) {
    let time = last.duration(to: now)
    guard time > .zero else { return }
    last = now
    if isAwake { awake += time }
    if isAdvertising { advertising += time }
    if isConnected { connected += time }
    if isScanning { scanning += time }
  }

  /// Converts a time to whole seconds.
  func seconds(_ time: Duration) -> Int { Int(time.components.seconds) }
}
