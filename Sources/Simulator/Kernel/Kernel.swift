import LinkCore

/// The state of a world that does not depend on the feature: virtual time, hosts, traffic, and what
/// was noted.
///
/// Events are taken by time; between them models and servers are woken at their deadlines. All
/// chance comes from the plan's seed. What the state does is in the extensions of `SimulatedWorld`.
/// It cannot be copied, since a copy would retain everything that it holds.
struct Kernel<Feature: SimulatedFeature>: ~Copyable {
  let plan: WorldPlan<Feature>
  let setup: RunSetup<Feature>
  var now = Instant.zero
  var queue = EventQueue<KernelEvent<Feature>>()
  /// The weather, which is good once calm has come.
  var weather: NetworkWeather
  /// Planned acts under way, in the order in which they began.
  var active: [Int] = []
  /// Phones first, each kind in order.
  var hosts: [Host<Feature>]
  /// The names of all hosts, and those of the phones.
  let ids: [HostID]
  let phones: [HostID]
  var lines: [Line<Feature>] = []
  var exchanges: [Exchange<Feature>] = []
  var lastNumber: TrafficID = 0
  var lastWrite: UInt64 = 0
  /// The chance of the network, and that of late callbacks.
  var chance: Chance
  var callbacks: Chance
  /// One for each phone.
  var seams: [LinkSeam<Feature.Model>]
  /// How each phone stands, and the checkers.
  var bench = Bench<Feature>()
  var counts = RunCounts<Feature.Tally>()
  var digest = Digest()
  /// What the world itself found, beside its checkers.
  var findings: [Finding] = []
  /// Ticks at one instant: a deadline that does not move would be met for ever.
  var spins = (at: Instant.zero, count: 0)
  var pace = Pace()
  /// What machines broke so far; each invariant is reported once.
  private var broken: Set<String> = []
  private var checks: UInt64 = 0
  var isAborted = false
  let watch: RunWatch<Feature>?
  /// Makes the state address-only: a borrow of it, or of the world that holds it, passes its
  /// address. A loadable value is copied to the stack for each call.
  private let isAddressOnly: any Sendable = true

  /// A world that has not begun.
  init(
    _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature>, watch: RunWatch<Feature>?
  ) {
    let kinds = Feature.hosts(plan.numbers)
    self.plan = plan
    self.setup = setup
    self.watch = watch
    weather = plan.weather
    var root = Chance(seed: plan.seed)
    let phones = kinds.count { $0 == .phone }
    hosts = []
    chance = Chance(seed: 0)
    for (place, kind) in kinds.enumerated() {
      // Behind that of the phones; a world has a server.
      if place == phones { chance = Chance(seed: root.next()) }
      let id = HostID(kind: kind, index: kinds[..<place].count { $0 == kind }, place: place)
      hosts.append(Host(id, weather: plan.weather, chance: Chance(seed: root.next())))
    }
    callbacks = Chance(seed: root.next())
    ids = hosts.map(\.id)
    self.phones = Array(ids.prefix(phones))
    let seam = LinkSeam<Feature.Model>(setup.defect?.link)
    seams = Array(repeating: seam, count: phones)
  }

  /// What the checkers see of the first phone.
  var own: Feature.State {
    get { bench.views[0].standing.own }
    set { bench.views[0].standing.own = newValue }
  }

  /// The policy that the models really follow.
  var policy: LinkPolicy { seams.first?.policy(setup.policy) ?? setup.policy }

  /// The only host of a kind, or the first.
  func host(_ kind: HostKind, _ index: Int = 0) -> HostID {
    guard let host = hosts.first(where: { $0.id.kind == kind && $0.id.index == index }) else {
      preconditionFailure("the world has no \(kind.rawValue) \(index)")
    }
    return host.id
  }

  // Clocks.

  /// The wall clocks of all hosts when a run begins.
  static var wallBase: Timestamp { Timestamp(nanoseconds: 1_800_000_000_000_000_000) }

  // Time.

  mutating func advance(to time: Instant) {
    for place in bench.views.indices
    where bench.views[place].standing.isWanted && hosts[place].isRunning {
      counts.wanted += now.duration(to: time)
    }
    now = time
  }

  mutating func nextEvent() -> Instant? { queue.next }

  /// The earliest deadline of a model that runs.
  mutating func nextModel() -> (at: Instant, host: HostID, isModel: Bool)? {
    var first: (at: Instant, host: HostID, isModel: Bool)?
    for place in bench.views.indices where hosts[place].isRunning {
      guard let at = bench.views[place].standing.deadline, at <= first?.at ?? .max else { continue }
      first = (at, ids[place], true)
    }
    return first
  }

  /// Ends the run if deadlines come again and again at one instant.
  mutating func countSpin() {
    spins = spins.at == now ? (now, spins.count + 1) : (now, 0)
    guard spins.count > 1000 else { return }
    find(.stuck, "a deadline that has come and does not move")
    isAborted = true
  }

  /// Ends the run if more happens than any run needs.
  mutating func countEvent() {
    guard let excess = pace.excess(at: now) else { return }
    find(.endless, excess)
    isAborted = true
  }

  /// How much of a machine is checked after its present step: every 64th time all of it, and always
  /// where somebody listens, so that a story names the step that broke an invariant.
  mutating func depthOfCheck() -> InvariantCheck.Depth {
    checks += 1
    return watch != nil || checks.isMultiple(of: 64) ? .thorough : .quick
  }

  /// Reports what the last step of a machine broke.
  mutating func examine(_ machine: inout some Machine) {
    report(machine.brokenInvariants(depthOfCheck()))
  }

  /// Reports the invariants that a machine broke, each once in a run.
  mutating func report(_ names: [String]) {
    for name in names where broken.insert(name).inserted { find(.brokenInvariant, name) }
  }

  /// Refreshes how a phone stands.
  mutating func stand(_ phone: HostID, isWanted: Bool) {
    let place = phone.place
    var underWay = hosts[place].calls
    for line in lines where line.phoneHolds && !line.isOpen && !line.isDead && line.from == phone {
      underWay += 1
    }
    for exchange in exchanges where !exchange.isAbandoned && exchange.from == phone {
      underWay += 1
    }
    bench.views[place].standing.now = now
    bench.views[place].standing.isAwake = hosts[place].isRunning
    bench.views[place].standing.isWanted = isWanted
    bench.views[place].standing.isSignedIn = hosts[place].isSignedIn
    bench.views[place].standing.isReachable = hosts[place].told.isReachable
    bench.views[place].standing.underWay = underWay
    let disk = hosts[place].conditions.disk
    bench.views[place].standing.storeFails = disk == .full || disk == .locked
  }

  // The queue.

  mutating func add(_ event: consuming KernelEvent<Feature>, after wait: Duration) {
    queue.add(event, at: now.advanced(by: wait))
  }

  /// Lets a cue come later, unless the run of the host ends before.
  mutating func later(_ cue: Feature.Cue, on host: HostID, after wait: Duration) {
    add(.cue(host, run: hosts[host.place].run, cue), after: wait)
  }

  /// Lets a cue come later, whatever becomes of any host.
  mutating func later(_ cue: Feature.Cue, after wait: Duration) {
    add(.cue(nil, run: 0, cue), after: wait)
  }

  /// Lets a cue come later as the answer to a call: held while the process is suspended, dropped
  /// when its run ends.
  mutating func answerLater(_ cue: Feature.Cue, to host: HostID, after wait: Duration) {
    hosts[host.place].calls += 1
    add(.answers(host, run: hosts[host.place].run, cue), after: wait)
  }

  // The network.

  mutating func newNumber() -> TrafficID {
    lastNumber += 1
    return lastNumber
  }

  /// How long something takes one way.
  mutating func delay() -> Duration {
    weather.delay + chance.duration(below: weather.jitter)
  }

  /// The time of a way there and back.
  mutating func roundTrip() -> Duration { delay() + delay() }

  mutating func happens(_ share: Double) -> Bool { share > 0 && chance.unit() < share }

  /// When the last of these bytes has left, given what else has to be carried for a phone.
  mutating func carry(_ bytes: Int, of host: HostID, down: Bool) -> Instant {
    let bandwidth = hosts[host.place].conditions.bandwidth
    guard bandwidth > 0 else {
      // A wide way carries at once what waited for a narrow one.
      if down { hosts[host.place].network.downFree = .zero }
      if !down { hosts[host.place].network.upFree = .zero }
      return now
    }
    let time = Duration.nanoseconds(Int64(bytes) * 1_000_000_000 / bandwidth)
    if down {
      let free = max(hosts[host.place].network.downFree, now).advanced(by: time)
      hosts[host.place].network.downFree = free
      return free
    } else {
      let free = max(hosts[host.place].network.upFree, now).advanced(by: time)
      hosts[host.place].network.upFree = free
      return free
    }
  }

  // What is noted.

  mutating func find(_ kind: Finding.Kind, _ detail: String) {
    findings.append(Finding(kind, at: now, detail))
  }

  /// Shows a step of a model to the tape, the checkers and the listener.
  mutating func noteStep(
    _ phone: HostID, _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect]
  ) {
    digest.note(phone, input, isLate: isLate, effects, of: Feature.self, at: now)
    bench.stepped(phone, input, isLate: isLate, effects)
    guard let watch else { return }
    let seen: Observation<Feature> =
      input.map { .told(phone, $0, isLate: isLate, effects: effects) }
      ?? .ticked(phone, effects: effects)
    watch(seen, bench.views[phone.index].standing)
  }

  /// Shows anything else.
  mutating func note(_ seen: Observation<Feature>, of phone: HostID?) {
    digest.note(seen, of: phone, at: now)
    bench.met(seen, of: phone?.index)
    watch?(seen, bench.views[phone?.index ?? 0].standing)
  }

  /// The result of the run.
  func outcome() -> RunOutcome<Feature> {
    RunOutcome(
      seed: plan.seed, server: plan.server, findings: bench.findings + findings,
      counts: counts, digest: digest.value)
  }
}

extension Instant {
  /// The end of time.
  static var max: Instant { Instant(nanoseconds: .max) }
}

/// A count of what happened in a run, so that a run that never ends is ended.
struct Pace: Sendable {
  /// Events and wakes of a whole run. Ours: a drawn plan makes some thousands.
  let mostInRun: Int
  /// Events and wakes at one instant. Ours: a drawn plan makes some hundreds.
  let mostAtOnce: Int

  private var count = 0
  private var here = 0
  private var at = Instant.zero

  init(mostInRun: Int = 10_000_000, mostAtOnce: Int = 100_000) {
    (self.mostInRun, self.mostAtOnce) = (mostInRun, mostAtOnce)
  }

  /// Counts what happens now; returns what is wrong if that was too much.
  mutating func excess(at now: Instant) -> String? {
    count += 1
    here = at == now ? here + 1 : 1
    at = now
    if here > mostAtOnce { return "more than \(mostAtOnce) events at one instant" }
    if count > mostInRun { return "more than \(mostInRun) events in one run" }
    return nil
  }
}

extension String {
  /// A text of one ASCII character, so many times.
  ///
  /// 40 times as fast as `String(repeating:count:)`, which appends each character by itself.
  init(of character: Unicode.Scalar, count: Int) {
    self.init(decoding: [UInt8](repeating: UInt8(ascii: character), count: count), as: UTF8.self)
  }
}
