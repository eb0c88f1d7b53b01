import BottleFirmware
import BottleLink
import LinkCore
import LinkWire
import VirtualBottle

/// One phone, its system and its radio, and a bottle with the real firmware.
struct BottleWorld: SimulatedWorld, ~Copyable {
  typealias Feature = BottleFeature

  var kernel: Kernel<BottleFeature>
  var clients: [BottleModel]
  var seam: BottleSeam
  var radio = BottleRadio()
  var bottle: VirtualBottle
  /// When the bottle wants to be called.
  var bottleDue: Instant?
  /// What the disk of the phone holds, and when the last of the changes under way is written.
  var disk = KeptDrinks()
  private var diskFree = Instant.zero
  /// The drinks that any run of the app has shown.
  private var shown: Set<UInt64> = []
  /// The seconds of the bottle and of the phone's scans.
  var cost = BottleCost()
  /// The id of the bottle's next record, and of the oldest one that it keeps.
  var nextRecord: UInt32 = 1
  var oldestRecord: UInt32 = 0
  /// The records of the bottle's present memory, by their ids, and all that the store got.
  var made: [UInt32: BottleRecord] = [:]
  private(set) var held: Set<BottleRecord> = []
  /// The records of memories that the bottle has lost.
  var gone: Set<BottleRecord> = []
  private var lastRequest: UInt64 = 0
  /// Since when the model says that it is connected.
  private(set) var readySince: Instant?
  /// The user turned the feature off, and not on again.
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
    kernel.bench.views = [
      PhoneView(
        Standing<BottleFeature>(policy: setup.policy, status: model.link.status, own: state))
    ]
  }

  var numbers: BottleFeature.Numbers { kernel.plan.numbers }
  var process: Host<BottleFeature>.Process { kernel.hosts[HostID.phone.place].process }
  var run: Int { kernel.hosts[HostID.phone.place].run }

  // The app.

  mutating func boot(_ host: HostID) {
    guard host.kind == .phone else { return }
    account()
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
    let isKept = isBeingEvicted
    radio.isEvicted = isKept
    let hadScan = radio.isScanning && clients[0].bottle == nil
    let hadTickets = !radio.tickets.isEmpty
    account()
    radio.forget()
    if isKept {
      (radio.keepsConnect, radio.keepsScan) = (hadTickets, hadScan)
      radio.link?.subscriber = nil
    } else {
      hangUp()
    }
    plan()
    weigh()
  }

  mutating func tellApp(_ phone: HostID, isFirst: Bool) {
    if isFirst {
      let restores = radio.restores
      (radio.restores, radio.untold) = ([], [])
      give(.restored(disk.snapshot), to: phone)
      if !restores.isEmpty { give(.central(.restored(restores)), to: phone) }
      give(.start, to: phone)
      give(.central(.adapter(radio.adapter)), to: phone)
    } else {
      let untold = radio.untold
      radio.untold = []
      for state in untold { give(.central(.adapter(state)), to: phone) }
      turnOn()
    }
    // The pace of the system follows the app.
    plan()
    weigh()
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
    weigh()
  }

  // The store: one change after the other, as the shell makes them.

  private mutating func store(_ change: BottleFeature.Cue, on phone: HostID) {
    let start = max(diskFree, now)
    diskFree = start.advanced(by: diskDelay(phone))
    write(change, on: phone, after: now.duration(to: diskFree))
  }

  mutating func makeDurable(
    _ change: BottleFeature.Cue, on host: HostID
  ) -> BottleFeature.Cue? {
    switch change {
    case .commits(let id, let change):
      let new = disk.commit(change)
      for drink in new { note(stored: drink) }
      return .input(.committed(id, new))
    case .confirms(let number):
      disk.confirm(number)
      kernel.own.confirmed = max(own.confirmed, number)
      return nil
    case .input, .tells, .notifies, .meets, .sees, .writes, .discovers, .silences, .leaves,
      .handles, .carries, .calms:
      return nil
    }
  }

  private mutating func note(stored drink: Drink) {
    let id = drink.record.id
    kernel.counts[.stored] += 1
    kernel.own.unshown = kernel.counts[.stored] - shown.count
    let record = drink.record.bare
    held.insert(record)
    if made[id] != record {
      // A chunk that came before the bottle lost its memory is stored all the same.
      if gone.contains(record) { return }
      note(.altered(id))
    }
    kernel.own.stored.insert(id)
    kernel.own.expected.remove(id)
    note(.stored(id))
  }

  func refusedChange(_ change: BottleFeature.Cue, isFull: Bool) -> BottleFeature.Cue {
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

  // What is to come.

  mutating func take(_ cue: BottleFeature.Cue, on host: HostID?) {
    switch cue {
    case .input(let input): give(input, to: .phone)
    case .tells(let input): tell(input)
    case .notifies(let attempt, let attribute, let bytes):
      let news = seam.read(BottleModel.News(bytes, of: attribute))
      if let news { tell(.heard(attempt, news, at: wall(.phone))) }
    case .meets(let plan): meet(plan)
    case .sees: see()
    case .writes(let write): arrive(write)
    case .discovers(let attempt, let link, let run): discovered(attempt, link, run)
    case .silences(let link): silence(link)
    case .leaves(let link): bottleLoses(link)
    // What was planned before calm ends with it.
    case .handles(let input): if !isCalm { touch(input) }
    case .carries(let act): carry(act)
    case .calms: beAround()
    case .commits, .confirms: return  // become durable instead
    }
  }

  // No line and no server.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {}
  mutating func arrived(_ packet: Nothing?, on line: TrafficID, at server: HostID) {}
  func opened(_ attempt: AttemptID, _ packet: Nothing) -> BottleModel.Input {
    .central(.connected(attempt))
  }
  func received(_ attempt: AttemptID, _ packet: Nothing) -> BottleModel.Input {
    .central(.connected(attempt))
  }

  // Calm.

  /// While it is connected, so that a step of the model shows that all is well.
  var isComplete: Bool {
    clients[0].isConnected && !clients[0].sync.isRunning
      && BottleFeature.isHealed(kernel.bench.views[0].standing)
  }

  mutating func prepareCalm() {
    isCalm = true
    account()
    kernel.counts[.awake] = cost.seconds(cost.awake)
    kernel.counts[.advertising] = cost.seconds(cost.advertising)
    kernel.counts[.connected] = cost.seconds(cost.connected)
    kernel.counts[.scanning] = cost.seconds(cost.scanning)
  }

  mutating func becomeCalm() {
    touch(.battery(90))
    // A screen that was closed while the app was suspended is closed now.
    while own.holds > 0, process == .running { hold(false) }
    beAround()
    give(.start, to: .phone)
  }

  /// In calm somebody is around who taps the bottle now and then.
  private mutating func beAround() {
    guard !isOver else { return }
    touch(.tapped)
    touch(.stands(true))
    kernel.later(.calms, after: .seconds(10))
  }

  mutating func tryAgain() { give(.start, to: .phone) }
  mutating func happenLast() { touch(.poured(250)) }

  mutating func leave() {
    isOver = true
    give(.stop, to: .phone)
  }
}
