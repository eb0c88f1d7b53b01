import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFirmware
import HoldfastLinkChecks
import HoldfastVirtualBottle
import HoldfastWorldKernel

/// A world with a phone, its system and its radio, and a bottle with the actual firmware.
struct BottleWorld: SimulatedWorld, ~Copyable {
  typealias Feature = BottleFeature

  var kernel: Kernel<BottleFeature>
  var clients: [BottleModel]
  var seam: BottleSeam
  var radio = BottleRadio()
  var bottle: VirtualBottle
  /// The next deadline of the bottle.
  var bottleDue: Instant?
  /// The content of the phone's disk, and the time at which the last pending change will be
  /// written.
  var disk = StoredDrinks()
  private var diskFree = Instant.zero
  /// The numbers of the drinks that the app has shown in any of its runs.
  private var shown: Set<UInt64> = []
  /// The times that the bottle and the phone's scans have taken so far.
  var cost = BottleCost()
  /// The IDs of the bottle's next record and of the oldest record that it keeps.
  var nextRecord: UInt32 = 1
  var oldestRecord: UInt32 = 0
  /// The records in the bottle's current memory, by ID, and all records that were stored.
  var made: [UInt32: BottleRecord] = [:]
  private(set) var held: Set<BottleRecord> = []
  /// The records that the bottle lost with its memory.
  var lost: Set<BottleRecord> = []
  private var lastRequest: UInt64 = 0
  /// The time since which the model has reported that it is connected.
  private(set) var readySince: Instant?
  /// Whether the user has turned off the feature.
  var isPaused = false
  private(set) var isCalm = false
  private(set) var isOver = false

  init(
    _ plan: WorldPlan<BottleFeature>, _ setup: RunSetup<BottleFeature>,
    watch: RunWatch<BottleFeature>?
  ) {
    kernel = Kernel(plan, setup, watch: watch)
    seam = BottleSeam(setup.defect)
    let model = BottleModel(BottleSettings(policy: seam.policy(kernel.policy)), seed: 0)
    clients = [model]
    bottle = VirtualBottle(plan.numbers.timers, capacity: plan.numbers.capacity, at: .zero)
    bottle.countsDeleted = plan.numbers.lies == 1
    bottleDue = bottle.deadline
    var state = BottleFeature.State()
    state.bound = plan.numbers.passive + .seconds(90)
    if case .queuedConnect(let queue) = setup.policy.standby { state.bound += queue.rest }
    kernel.checkers.views = [
      PhoneView(
        PhoneState<BottleFeature>(policy: setup.policy, status: model.link.status, own: state))
    ]
  }

  var numbers: BottleFeature.Numbers { kernel.plan.numbers }
  var process: Host<BottleFeature>.Process { kernel.hosts[HostID.phone.slot].process }
  var run: Int { kernel.hosts[HostID.phone.slot].run }

  // The app.

  mutating func boot(_ host: HostID) {
    guard host.kind == .phone else { return }
    countTime()
    let settings = BottleSettings(policy: seam.policy(kernel.policy))
    clients[0] = BottleModel(settings, seed: newSeed(host))
    (radio.tickets, radio.isScanning, radio.past) = ([], false, [])
    (radio.keepsConnect, radio.keepsScan, radio.isEvicted) = (false, false, false)
    radio.link?.stalled.removeAll(where: \.isForPhone)
    (kernel.own.holds, kernel.own.requests) = (0, 0)
    (diskFree, isPaused) = (now, false)
  }

  mutating func ended(_ host: HostID) {
    guard host.kind == .phone else { return }
    let isRetained = isBeingEvicted
    radio.isEvicted = isRetained
    let hadScan = radio.isScanning && clients[0].bottle == nil
    let hadTickets = !radio.tickets.isEmpty
    countTime()
    radio.forget()
    if isRetained {
      (radio.keepsConnect, radio.keepsScan) = (hadTickets, hadScan)
      radio.link?.subscriber = nil
    } else {
      hangUp()
    }
    plan()
    updateState()
  }

  mutating func reportAppState(_ phone: HostID, isFirst: Bool) {
    if isFirst {
      let restores = radio.restores
      (radio.restores, radio.unreported) = ([], [])
      give(.restored(disk.snapshot), to: phone)
      if !restores.isEmpty { give(.central(.restored(restores)), to: phone) }
      give(.start, to: phone)
      give(.central(.adapter(radio.adapter)), to: phone)
    } else {
      let unreported = radio.unreported
      radio.unreported = []
      for state in unreported { give(.central(.adapter(state)), to: phone) }
      turnOn()
    }
    // The time that the system takes to find a bottle depends on the app's state.
    plan()
    updateState()
  }

  mutating func look(_ phone: HostID) {
    readySince = clients[0].isConnected ? readySince ?? now : nil
    kernel.own.isLinkWanted = clients[0].link.isWanted
    kernel.own.isKnown = clients[0].bottle != nil
    kernel.own.isTimed = clients[0].link.deadline != nil
  }

  mutating func altered(_ input: BottleModel.Input, of phone: HostID) -> [BottleModel.Input] {
    seam.toApp(input, isInBackground: lifecycle(of: phone) == .background)
  }

  mutating func altered(
    _ effect: BottleModel.Effect, of phone: HostID
  ) -> [BottleModel.Effect] {
    seam.fromApp(effect, attempt: clients[0].link.currentAttempt)
  }

  mutating func perform(_ effect: BottleModel.Effect, of phone: HostID) {
    switch effect {
    case .scan, .stopScan, .connect, .cancel, .discover, .write: ask(effect)
    case .commit(let id, let change):
      store(.commits(id, seam.change(change, known: own.stored)), on: phone)
    case .confirm(let number): store(.confirms(number), on: phone)
    case .update(.drink(let drink)):
      kernel.counts[.shown] += 1
      shown.insert(drink.number)
      kernel.own.unshown = kernel.counts[.stored] - shown.count
      kernel.answerLater(
        .input(.shown(through: drink.number)), to: phone, after: .milliseconds(20))
    case .update(.refreshed), .update(.performed): kernel.own.requests -= 1
    case .update: return
    }
    updateState()
  }

  // The store: changes are written one after another, as by the effect handler.

  private mutating func store(_ change: BottleFeature.ScheduledEvent, on phone: HostID) {
    let start = max(diskFree, now)
    diskFree = start.advanced(by: diskDelay(phone))
    write(change, on: phone, after: now.duration(to: diskFree))
  }

  mutating func makeDurable(
    _ change: BottleFeature.ScheduledEvent, on host: HostID
  ) -> BottleFeature.ScheduledEvent? {
    switch change {
    case .commits(let id, let change):
      let new = disk.commit(change)
      for drink in new { note(stored: drink) }
      return .input(.committed(id, new))
    case .confirms(let number):
      disk.confirm(number)
      kernel.own.confirmed = max(own.confirmed, number)
      return nil
    case .input, .delivers, .notifies, .meets, .sees, .writes, .discovers, .silences, .leaves,
      .changes, .handles, .carries, .calms:
      return nil
    }
  }

  private mutating func note(stored drink: BottleDrink) {
    let id = drink.record.id
    kernel.counts[.stored] += 1
    kernel.own.unshown = kernel.counts[.stored] - shown.count
    let record = drink.record.bare
    held.insert(record)
    if made[id] != record {
      // A chunk may be stored although the bottle lost its memory after sending it.
      if lost.contains(record) { return }
      note(.altered(id))
    }
    kernel.own.stored.insert(id)
    kernel.own.expected.remove(id)
    note(.stored(id))
  }

  func refusedChange(_ change: BottleFeature.ScheduledEvent, isFull: Bool)
    -> BottleFeature.ScheduledEvent
  {
    guard case .commits(let id, _) = change else { return change }
    return .input(
      .uncommitted(
        id, isFull ? .full(detail: "no space left") : .locked(detail: "another process has it")))
  }

  // Requests of the user.

  mutating func request(_ make: (UInt64) -> BottleModel.Input) {
    guard process == .running, !isPaused else { return }
    lastRequest += 1
    kernel.own.requests += 1
    give(make(lastRequest), to: .phone)
  }

  // Scheduled events.

  mutating func take(_ scheduled: BottleFeature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .input(let input): give(input, to: .phone)
    case .delivers(let input): deliver(input)
    case .notifies(let attempt, let attribute, let bytes):
      let news = seam.read(BottleModel.News(bytes, of: attribute))
      if let news { deliver(.heard(attempt, news, at: wall(.phone))) }
    case .meets(let plan): meet(plan)
    case .sees: see()
    case .writes(let write): arrive(write)
    case .discovers(let attempt, let link, let services, let run):
      discovered(attempt, link, services, run)
    case .silences(let link): silence(link)
    case .leaves(let link): bottleLoses(link)
    case .changes(let link): changeServices(link)
    // Events that were planned before the calm phase end when it begins.
    case .handles(let input): if !isCalm { touch(input) }
    case .carries(let event): carry(event)
    case .calms: beAround()
    case .commits, .confirms: return  // `makeDurable` handles these.
    }
  }

  // Requirements without an effect: there are no lines and no server.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {}
  mutating func arrived(_ packet: Nothing?, on line: TrafficID, at server: HostID) {}
  func opened(_ attempt: AttemptID, _ packet: Nothing) -> BottleModel.Input {
    .central(.connected(attempt))
  }
  func received(_ attempt: AttemptID, _ packet: Nothing) -> BottleModel.Input {
    .central(.connected(attempt))
  }

  // Calm.

  /// Whether everything is complete. This requires a connection, so that another step of the model
  /// follows.
  var isComplete: Bool {
    clients[0].isConnected && !clients[0].sync.isRunning
      && BottleFeature.isHealed(kernel.checkers.views[0].phoneState)
  }

  mutating func prepareCalm() {
    isCalm = true
    countTime()
    kernel.counts[.awake] = cost.seconds(cost.awake)
    kernel.counts[.advertising] = cost.seconds(cost.advertising)
    kernel.counts[.connected] = cost.seconds(cost.connected)
    kernel.counts[.scanning] = cost.seconds(cost.scanning)
  }

  mutating func becomeCalm() {
    touch(.battery(90))
    // If a hold ended while the app was suspended, the hold is released now.
    while own.holds > 0, process == .running { hold(false) }
    beAround()
    give(.start, to: .phone)
  }

  /// Taps the bottle occasionally during the calm phase, like a person nearby.
  private mutating func beAround() {
    guard !isOver else { return }
    touch(.tapped)
    touch(.stands(true))
    reached(.calm)
    kernel.later(.calms, after: .seconds(10))
  }

  mutating func tryAgain() { give(.start, to: .phone) }
  mutating func happenLast() { touch(.poured(250)) }

  mutating func leave() {
    isOver = true
    give(.stop, to: .phone)
  }
}

// Connections between phone and bottle, and losses.
extension BottleWorld {
  var isInRange: Bool { !isUnderWay(.away) }

  /// Schedules the next connection according to the current state. An existing plan with the same
  /// pace is kept.
  mutating func plan() {
    let pace = self.pace
    guard pace != radio.pace else { return }
    radio.pace = pace
    radio.plan += 1
    guard let wait = wait(at: pace) else { return }
    kernel.later(.meets(plan: radio.plan), after: radio.rest(at: now) + wait)
  }

  private var pace: BottleRadio.Pace {
    guard radio.link == nil, radio.isOn, isInRange, bottle.bottle.isAdvertising,
      !radio.openTickets.isEmpty || radio.keepsConnect
    else { return .never }
    let isEager = radio.openTickets.contains { !$0.isQueued }
    if isUnderWay(.crowded), !isEager { return .never }
    if isEager || radio.isScanning && radio.keepsConnect == false { return .fast }
    let isInFront = process == .running && lifecycle(of: .phone) == .foreground
    return isInFront ? .foreground : .background
  }

  /// Returns the time until the phone notices the bottle; `nil` if it does not. The bottle
  /// advertises every second. Without a scan, the system listens only occasionally.
  private mutating func wait(at pace: BottleRadio.Pace) -> Duration? {
    switch pace {
    case .never: nil
    case .fast: .milliseconds(50) + kernel.generator.duration(below: .seconds(1))
    case .foreground: .seconds(5) + kernel.generator.duration(below: .seconds(10))
    case .background:
      min(numbers.passive, .seconds(10))
        + kernel.generator.duration(below: max(numbers.passive - .seconds(10), .seconds(1)))
    }
  }

  /// Handles a planned connection between phone and bottle.
  mutating func meet(_ plan: UInt64) {
    guard plan == radio.plan, radio.pace != .never else { return }
    radio.pace = .never
    let isCrowded = isUnderWay(.crowded)
    guard !isCrowded, !kernel.happens(kernel.networkConditions.loss) else {
      let failure: LinkFailure =
        isCrowded ? .local(detail: "no slot is free") : .timeout(.connect)
      for ticket in radio.openTickets where !ticket.isQueued || kernel.happens(0.3) {
        fails(ticket.attempt, failure)
      }
      updateState()
      return self.plan()
    }
    countTime()
    let outputs = bottle.handle(.connected(longestValue: numbers.longest), at: now)
    follow(outputs)
    guard bottle.bottle.isConnected else { return self.plan() }
    linked()
  }

  private mutating func linked() {
    radio.lastLink += 1
    radio.link = BottleRadio.Link(number: radio.lastLink, upFree: now, downFree: now)
    radio.bottleLink = radio.lastLink
    kernel.counts[.links] += 1
    note(.linked(true))
    updateState()
    for ticket in radio.openTickets { opens(ticket.attempt) }
    if process == .dead { launch(isConnected: true) }
  }

  /// Opens the connection of a ticket. The app is notified a moment later.
  mutating func opens(_ attempt: AttemptID) {
    note(.upgraded(.phone, attempt, status: 101), of: .phone)
    later(.central(.connected(attempt)), after: .milliseconds(5))
  }

  // Scans.

  /// Schedules the next advertisement that a scan receives.
  mutating func lookOut() {
    guard !radio.looks, radio.isScanning || radio.keepsScan else { return }
    radio.looks = true
    let isInFront = process == .running && lifecycle(of: .phone) == .foreground
    let wait = self.wait(at: isInFront ? .fast : .background)
    kernel.later(.sees, after: wait ?? .seconds(1))
  }

  mutating func see() {
    radio.looks = false
    guard radio.isScanning || radio.keepsScan, radio.isOn else { return }
    if isInRange, bottle.bottle.isAdvertising {
      if process == .dead { launch(isConnected: false) }
      if clients[0].bottle != nil {
        deliver(.central(.found(BottleRadio.other, name: nil)))
      }
      if radio.isScanning {
        deliver(.central(.found(BottleRadio.id, name: BottleRadio.name)))
      }
    }
    lookOut()
  }

  // Ends of connections.

  /// Ends the connection at the phone. The bottle detects this a little later.
  mutating func hangUp() {
    guard let link = radio.link else { return }
    countTime()
    radio.link = nil
    note(.linked(false))
    let wait = isInRange ? Duration.milliseconds(50) : BottleRadio.supervision
    kernel.later(.leaves(link: link.number), after: wait)
    updateState()
  }

  mutating func bottleLoses(_ link: UInt64) {
    guard radio.bottleLink == link else { return }
    radio.bottleLink = nil
    countTime()
    let outputs = bottle.handle(.disconnected, at: now)
    follow(outputs)
  }

  /// Loses the connection. Each ticket is notified of the loss and ends.
  mutating func drop(_ failure: LinkFailure) {
    guard radio.link != nil else { return }
    countTime()
    radio.link = nil
    note(.linked(false))
    let lost = radio.tickets
    radio.tickets = []
    radio.reportedBy = now.advanced(by: BottleRadio.notice)
    for ticket in lost {
      note(.wentDead(.phone, ticket.attempt), of: .phone)
      later(.central(.disconnected(ticket.attempt, failure)), after: BottleRadio.notice)
    }
    if process == .dead { launch(isConnected: false) }
    plan()
    updateState()
  }

  /// Ends a connection at both ends if the bottle is still out of range.
  mutating func silence(_ link: UInt64) {
    guard radio.link?.number == link, !isInRange else { return }
    drop(.timeout(.silence))
    bottleLoses(link)
  }

  /// Handles a bottle that moved out of range or back into range.
  mutating func rangeChanged() {
    if isInRange {
      let stalled = radio.link?.stalled ?? []
      radio.link?.stalled = []
      for (index, scheduled) in stalled.enumerated() {
        let wait = Duration.milliseconds(Int64(index) * 5)
        if scheduled.isForPhone {
          kernel.later(scheduled, on: .phone, after: wait)
        } else {
          kernel.later(scheduled, after: wait)
        }
      }
    } else if let link = radio.link {
      kernel.later(.silences(link: link.number), after: BottleRadio.supervision)
    }
    plan()
    updateState()
  }

  // State for the checkers.

  /// Records whether anything prevents a synchronization, and whether the system has anything
  /// pending.
  mutating func updateState() {
    let isLinked = radio.link != nil
    let hasPending = !radio.tickets.isEmpty || isLinked || radio.isScanning
    kernel.own.hasPending = hasPending
    let mustBePending =
      process != .dead && radio.isOn && own.isKnown && !isPaused && radio.unreported.isEmpty
      && now >= radio.reportedBy
    kernel.own.idleSince = mustBePending && !hasPending ? own.idleSince ?? now : nil
    let isThere = process != .dead || !isForced && (radio.keepsConnect || isLinked)
    let isClear =
      radio.isOn && isInRange && isThere && own.isKnown && kernel.networkConditions.loss == 0
      && kernel.hosts[HostID.phone.slot].conditions.disk == .works
      && !isUnderWay(.lossy) && !isUnderWay(.garbles) && !isUnderWay(.crowded)
      && own.isLinkWanted && radio.unreported.isEmpty
      && (bottle.bottle.isAdvertising || isLinked && radio.bottleLink == radio.link?.number)
    guard isClear else {
      (kernel.own.clearSince, kernel.own.freshSince) = (nil, nil)
      return
    }
    kernel.own.clearSince = own.clearSince ?? now
    if !isLinked { kernel.own.freshSince = own.freshSince ?? now }
  }
}

extension BottleFeature.ScheduledEvent {
  /// Whether the event belongs to the run of the app for which it was scheduled.
  var isForPhone: Bool {
    switch self {
    case .delivers, .notifies, .input, .commits, .confirms: true
    case .meets, .sees, .writes, .discovers, .silences, .leaves, .changes, .handles, .carries,
      .calms:
      false
    }
  }
}

// The app's calls to its radio, and the system's reports.
extension BottleWorld {
  mutating func ask(_ effect: BottleModel.Effect) {
    countTime()
    switch effect {
    case .scan:
      guard radio.isOn else { return }
      kernel.counts.attempts += 1
      radio.isScanning = true
      lookOut()
    case .stopScan:
      radio.isScanning = false
      if seam.dropsQueue, radio.link == nil { radio.tickets.removeAll(where: \.isQueued) }
    case .connect(let attempt, _, let isQueued, let rest):
      let until = now.advanced(by: rest)
      connect(BottleRadio.Ticket(attempt: attempt, isQueued: isQueued, restsUntil: until))
    case .cancel(let attempt, _): cancel(attempt)
    case .discover(let attempt): discover(attempt)
    case .write(let attempt, let id, let attribute, let bytes):
      write(attempt, id, attribute, bytes)
    case .commit, .confirm, .update: return
    }
    plan()
  }

  private mutating func connect(_ ticket: BottleRadio.Ticket) {
    let attempt = ticket.attempt
    guard radio.isOn, !seam.ignores(restored: radio.link != nil && radio.tickets.isEmpty) else {
      return
    }
    if ticket.isQueued { kernel.counts.attempts += 1 }
    if !radio.hasTicket(attempt) {
      radio.tickets.append(ticket)
      radio.past.append(attempt)
      if radio.past.count > 4 { radio.past.removeFirst() }
    }
    if radio.link != nil {
      opens(attempt)
    } else if ticket.isQueued, isUnderWay(.crowded), kernel.happens(0.5) {
      fails(attempt)
    }
  }

  /// Fails a connect, by default because no slot is free.
  mutating func fails(
    _ attempt: AttemptID, _ failure: LinkFailure = .local(detail: "no slot is free")
  ) {
    for index in radio.tickets.indices where radio.tickets[index].attempt == attempt {
      radio.tickets[index].hasFailed = true
    }
    later(.central(.failed(attempt, failure)), after: .milliseconds(300))
  }

  private mutating func cancel(_ attempt: AttemptID) {
    let wasLinked = radio.link != nil
    guard radio.hasTicket(attempt) else { return }
    radio.tickets.removeAll { $0.attempt == attempt }
    if radio.link?.subscriber == attempt { radio.link?.subscriber = nil }
    if radio.tickets.isEmpty { hangUp() }
    guard kernel.callbacks.next() % 2 == 0 else { return }
    // A canceled connect may have succeeded in the meantime. The end of a canceled connection is
    // also reported.
    let wait = kernel.callbacks.duration(below: .seconds(30))
    later(
      .central(wasLinked ? .disconnected(attempt, nil) : .connected(attempt)), after: wait)
  }

  private mutating func discover(_ attempt: AttemptID) {
    guard let link = radio.link else { return }
    let wait = Duration.milliseconds(150) + kernel.generator.duration(below: .seconds(1))
    kernel.later(
      .discovers(attempt, link: link.number, services: link.services, run: run), after: wait)
  }

  mutating func discovered(
    _ attempt: AttemptID, _ number: UInt64, _ services: Int, _ run: Int
  ) {
    guard let link = radio.link, link.number == number, run == self.run, radio.hasTicket(attempt)
    else { return }
    guard isInRange else {
      radio.link?.stalled.append(
        .discovers(attempt, link: number, services: services, run: run))
      return
    }
    guard link.services == services else {
      return deliver(.undiscovered(attempt, BottleRadio.servicesChanged))
    }
    guard !isUnderWay(.lossy) || !kernel.happens(0.2) else {
      return deliver(.undiscovered(attempt, .timeout(.response)))
    }
    let now = now
    radio.link?.subscribe(attempt, at: now)
    deliver(
      .discovered(
        attempt, longestValue: numbers.longest, bottle.state, at: wall(.phone)))
    reached(.discovery)
  }

  // Values.

  private mutating func write(
    _ attempt: AttemptID, _ id: WriteID, _ attribute: BottleAttribute, _ bytes: [UInt8]
  ) {
    guard let link = radio.link, radio.hasTicket(attempt) else {
      return later(.unwritten(id, .reset), after: .milliseconds(5))
    }
    if isUnderWay(.lossy), kernel.happens(0.15) {
      if BottleRadio.setsTime(attribute, bytes) { noteLostTime() }
      return later(.unwritten(id, .timeout(.response)), after: .seconds(1))
    }
    let (realAttribute, realBytes) = seam.written(bytes, to: attribute)
    let write = BottleFeature.RadioWrite(
      link: link.number, services: link.services, run: run, id: id, attribute: realAttribute,
      bytes: realBytes)
    radio.link?.unanswered.append(id)
    guard isInRange else {
      radio.link?.stalled.append(.writes(write))
      return
    }
    let at = max(link.upFree, now.advanced(by: kernel.delay()))
    radio.link?.upFree = at
    kernel.queue.add(.scheduled(nil, run: 0, .writes(write)), at: at)
  }

  /// Records a lost write of the time.
  ///
  /// The app receives the failure after 1 s and retries after fixed waits. The bottle's clock may
  /// therefore be set later.
  private mutating func noteLostTime() {
    guard let lost = radio.link?.lostTimes else { return }
    let waits = clients[0].settings.syncRetries
    let wait = lost < waits.count ? waits[lost] : .seconds(86_400)
    let next = now.advanced(by: .seconds(1) + wait + .seconds(2))
    radio.link?.lostTimes = lost + 1
    radio.link?.timeBy = next
  }

  /// Handles a write that arrives at the bottle.
  mutating func arrive(_ write: BottleFeature.RadioWrite) {
    guard radio.link?.number == write.link, radio.bottleLink == write.link else {
      if write.run == run { later(.unwritten(write.id, .reset), after: .milliseconds(5)) }
      return
    }
    guard isInRange else {
      radio.link?.stalled.append(.writes(write))
      return
    }
    guard concernsServices(write) else { return }
    countTime()
    if answersList(write) { return }
    let deleted = record(deletedBy: write)
    let outputs = bottle.handle(.written(write.attribute, write.bytes), at: now)
    if let deleted { note(removed: deleted) }
    let isTaken = !outputs.contains(.answers(write.attribute, isTaken: false))
    let answer = BottleModel.Input.written(write.id)
    let result = isTaken ? answer : .unwritten(write.id, .refused)
    let isAwaited = isAwaited(write)
    if numbers.overtakes == 0, isAwaited { enqueue(.delivers(result)) }
    follow(outputs)
    if numbers.overtakes == 1, isAwaited { enqueue(.delivers(result)) }
  }

  /// Answers with a list of activities, like the original firmware. Returns false if the write does
  /// not request a list.
  private mutating func answersList(_ write: BottleFeature.RadioWrite) -> Bool {
    guard numbers.lies == 1, write.attribute == .command,
      let list = BottleLists.answer(write.bytes, &kernel.generator)
    else { return false }
    if isAwaited(write) { enqueue(.delivers(.written(write.id))) }
    notify(.activity, list)
    return true
  }

  /// Sends an event to the app, after those in transit.
  private mutating func enqueue(_ scheduled: BottleFeature.ScheduledEvent) {
    guard let link = radio.link else {
      // The connection ended at the same instant.
      if case .delivers(.written(let id)) = scheduled {
        later(.unwritten(id, .reset), after: .zero)
      }
      return
    }
    guard isInRange else {
      radio.link?.stalled.append(scheduled)
      return
    }
    let at = max(link.downFree, now.advanced(by: kernel.delay()))
    radio.link?.downFree = at
    kernel.queue.add(.scheduled(.phone, run: run, scheduled), at: at)
  }

  /// Sends a value from the bottle as a notification.
  mutating func notify(_ attribute: BottleAttribute, _ bytes: [UInt8]) {
    guard let link = radio.link else { return }
    if attribute == .drinks, let chunk = try? BottleChunk(bytes) {
      radio.sent.formUnion(chunk.records.map(\.id))
    }
    if process == .dead { return launch(isConnected: true) }
    guard let attempt = link.subscriber else { return }
    if isUnderWay(.garbles), kernel.happens(0.3) {
      return enqueue(.notifies(attempt, attribute, bytes.dropLast()))
    }
    let isLossy = isUnderWay(.lossy)
    if isLossy, kernel.happens(0.25) { return }
    enqueue(.notifies(attempt, attribute, bytes))
    if isLossy, kernel.happens(0.15) { enqueue(.notifies(attempt, attribute, bytes)) }
    if attribute == .drinks { reached(.transfer) }
  }

  // The app.

  /// Schedules an input of the app. It is dropped if the app's process ends first.
  mutating func later(_ input: BottleModel.Input, after wait: Duration) {
    kernel.later(.delivers(input), on: .phone, after: wait)
    if kernel.happens(kernel.networkConditions.twice), BottleModel.role(of: input).attempt != nil {
      kernel.later(.delivers(input), on: .phone, after: wait + kernel.delay())
    }
  }

  /// Passes a radio event to the app. The system lets a background app run to handle it.
  mutating func deliver(_ input: BottleModel.Input) {
    guard process != .dead else { return }
    if case .central(.failed(let attempt, _)) = input {
      radio.tickets.removeAll { $0.attempt == attempt && $0.hasFailed }
    }
    if lifecycle(of: .phone) == .background || process == .suspended { wakeApp() }
    give(input, to: .phone)
  }

  private mutating func wakeApp() {
    runInBackground(.phone, for: BottleRadio.grant, then: evictions)
  }

  /// Launches an app that the system had ended, because of a radio event.
  mutating func launch(isConnected: Bool) {
    guard process == .dead, radio.isEvicted, !isForced else { return }
    radio.restores = [RestoredPeripheral(BottleRadio.id, isConnected: isConnected)]
    wakeApp()
  }

  /// Whether the system, not the user, is ending the app.
  var isBeingEvicted: Bool { !isForced && !evictions.isEmpty }

  /// Whether the user or a fault ended the app. In that case the system does not launch it.
  var isForced: Bool {
    kernel.active.contains { kernel.plan.events[$0].event.eventKind == .common(.kill) }
  }

  private var evictions: [Int] {
    kernel.active.filter { kernel.plan.events[$0].event.eventKind == .own(.evict) }
  }

  // The adapter.

  mutating func setAdapter(_ state: AdapterState) {
    guard state != radio.adapter else { return }
    countTime()
    let wasScanning = !radio.tickets.isEmpty || radio.keepsConnect || radio.link != nil
    radio.adapter = state
    radio.unreported.append(state)
    kernel.own.isOn = state == .on
    if state == .on {
      if radio.hadRequest { wakeForAdapter() }
    } else {
      radio.hadRequest = radio.hadRequest || wasScanning
      // The system does not report the requests that it drops.
      for ticket in radio.tickets where radio.link != nil {
        note(.wentDead(.phone, ticket.attempt), of: .phone)
      }
      radio.forget()
      hangUp()
    }
    plan()
    updateState()
  }

  /// Wakes an app that had pending requests to the radio.
  private mutating func wakeForAdapter() {
    radio.hadRequest = false
    switch process {
    case .suspended: wakeApp()
    case .dead: if kernel.callbacks.next() % 2 == 0 { launch(isConnected: false) }
    case .running: return
    }
  }
}
