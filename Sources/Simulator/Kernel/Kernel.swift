public import HoldfastCore
public import HoldfastLinkChecks

/// The part of a world's state that all features share: virtual time, hosts, traffic and records.
///
/// Events are processed in order of time. Between events, models and servers are woken at their
/// deadlines. All randomness derives from the plan's seed. The operations on this state are in
/// extensions of `SimulatedWorld`. The type is noncopyable because a copy would retain everything
/// that it holds.
public struct Kernel<Feature: SimulatedFeature>: ~Copyable {
  /// The plan of the run.
  public let plan: WorldPlan<Feature>
  /// The policy and the deliberate defect.
  public let setup: RunSetup<Feature>
  public var now = Instant.zero
  /// The scheduled events.
  public var queue = EventQueue<KernelEvent<Feature>>()
  /// The network conditions. They are good once calm has begun.
  public var networkConditions: NetworkConditions
  /// The indices of the planned events in progress, in the order in which they began.
  public var active: [Int] = []
  /// All hosts: phones first, then the other hosts by kind.
  public var hosts: [Host<Feature>]
  /// The IDs of all hosts, and of the phones.
  let ids: [HostID]
  /// The IDs of the phones.
  public let phones: [HostID]
  /// The connections that either end still holds.
  public var lines: [Line<Feature>] = []
  /// The requests that await their responses.
  public var exchanges: [Exchange<Feature>] = []
  var lastNumber: TrafficID = 0
  var lastWrite: UInt64 = 0
  /// The random sources of the network and of late callbacks.
  public var generator: RandomSource
  /// The random source of late callbacks.
  public var callbacks: RandomSource
  /// The seams between the models and the world, one for each phone.
  var seams: [LinkSeam<Feature.Model>]
  /// The state of each phone, and the checkers.
  public var checkers = CheckerSet<Feature>()
  /// The checkers that need to know the world around the phones.
  var worldCheckers = Feature.WorldCheckers()
  public var counts = RunCounts<Feature.Counter>()
  var digest = Digest()
  /// Findings that the world itself makes, in addition to those of its checkers.
  var findings: [Finding] = []
  /// The number of consecutive ticks at one instant. A deadline that does not move would recur
  /// forever.
  var spins = (at: Instant.zero, count: 0)
  var pace = Pace()
  /// The invariants that have been broken so far. Each is reported once.
  private var broken: Set<String> = []
  private var checks: UInt64 = 0
  /// Whether the run has ended early, since it exceeds its pace.
  public var isAborted = false
  let watch: RunWatch<Feature>?
  /// A field that makes the type address-only.
  ///
  /// Borrowing this state, or the world that holds it, then passes an address. A loadable value
  /// would be copied to the stack for each call.
  private let isAddressOnly: any Sendable = true

  /// Creates a world that has not begun.
  public init(
    _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature>, watch: RunWatch<Feature>?
  ) {
    let kinds = Feature.hosts(plan.numbers)
    self.plan = plan
    self.setup = setup
    self.watch = watch
    networkConditions = plan.networkConditions
    var root = RandomSource(seed: plan.seed)
    let phones = kinds.count { $0 == .phone }
    hosts = []
    generator = RandomSource(seed: 0)
    for (slot, kind) in kinds.enumerated() {
      // This source is drawn after those of the phones. Every world has a server.
      if slot == phones { generator = RandomSource(seed: root.next()) }
      let id = HostID(kind: kind, index: kinds[..<slot].count { $0 == kind }, slot: slot)
      hosts.append(
        Host(
          id, networkConditions: plan.networkConditions, generator: RandomSource(seed: root.next()))
      )
    }
    callbacks = RandomSource(seed: root.next())
    ids = hosts.map(\.id)
    self.phones = Array(ids.prefix(phones))
    let seam = LinkSeam<Feature.Model>(setup.defect?.link)
    seams = Array(repeating: seam, count: phones)
  }

  /// The feature's state of the first phone, which the checkers use.
  public var own: Feature.State {
    get { checkers.views[0].phoneState.own }
    set { checkers.views[0].phoneState.own = newValue }
  }

  /// The policy that the models follow, including the changes that a defect makes.
  public var policy: LinkPolicy { seams.first?.policy(setup.policy) ?? setup.policy }

  /// Returns the host with the given kind and index.
  public func host(_ kind: HostKind, _ index: Int = 0) -> HostID {
    guard let host = hosts.first(where: { $0.id.kind == kind && $0.id.index == index }) else {
      preconditionFailure("the world has no \(kind.rawValue) \(index)")
    }
    return host.id
  }

  // Clocks.

  /// The time that every wall clock shows when a run begins.
  public static var wallBase: Timestamp { RunClock.start }

  // Time.

  mutating func advance(to time: Instant) {
    for index in checkers.views.indices
    where checkers.views[index].phoneState.isWanted && hosts[index].isRunning {
      counts.wanted += now.duration(to: time)
    }
    now = time
  }

  mutating func nextEvent() -> Instant? { queue.next }

  /// Returns the earliest deadline among the models whose processes are running.
  mutating func nextModel() -> (at: Instant, host: HostID, isModel: Bool)? {
    var first: (at: Instant, host: HostID, isModel: Bool)?
    for index in checkers.views.indices where hosts[index].isRunning {
      guard let at = checkers.views[index].phoneState.deadline, at <= first?.at ?? .max else {
        continue
      }
      first = (at, ids[index], true)
    }
    return first
  }

  /// Ends the run if a deadline keeps recurring at the same instant.
  mutating func countSpin() {
    spins = spins.at == now ? (now, spins.count + 1) : (now, 0)
    guard spins.count > 1000 else { return }
    find(.stuck, "a deadline that has come and does not move")
    isAborted = true
  }

  /// Ends the run if it has more events than any run needs.
  mutating func countEvent() {
    guard let excess = pace.excess(at: now) else { return }
    find(.endless, excess)
    isAborted = true
  }

  /// Returns how thoroughly to check a machine after its current step.
  ///
  /// Every 64th check is thorough. If the run is watched, all checks are thorough, so that a trace
  /// names the step that broke an invariant.
  public mutating func depthOfCheck() -> InvariantCheck.Depth {
    checks += 1
    return watch != nil || checks.isMultiple(of: 64) ? .thorough : .quick
  }

  /// Reports the invariants that a machine's last step broke.
  public mutating func examine(_ machine: inout some Machine) {
    report(machine.brokenInvariants(depthOfCheck()))
  }

  /// Reports the invariants that a machine broke. Each is reported once per run.
  public mutating func report(_ names: [String]) {
    for name in names where broken.insert(name).inserted { find(.brokenInvariant, name) }
  }

  /// Updates the state of a phone that the checkers use.
  mutating func updatePhoneState(_ phone: HostID, isWanted: Bool) {
    let slot = phone.slot
    var underWay = hosts[slot].calls
    for line in lines where line.phoneHolds && !line.isOpen && !line.isDead && line.from == phone {
      underWay += 1
    }
    for exchange in exchanges where !exchange.isAbandoned && exchange.from == phone {
      underWay += 1
    }
    checkers.views[slot].phoneState.now = now
    checkers.views[slot].phoneState.isAwake = hosts[slot].isRunning
    checkers.views[slot].phoneState.isWanted = isWanted
    checkers.views[slot].phoneState.isSignedIn = hosts[slot].isSignedIn
    checkers.views[slot].phoneState.isReachable = hosts[slot].reported.isReachable
    checkers.views[slot].phoneState.underWay = underWay
    let disk = hosts[slot].conditions.disk
    checkers.views[slot].phoneState.storeFails = disk == .full || disk == .locked
  }

  // The queue.

  public mutating func add(_ event: consuming KernelEvent<Feature>, after wait: Duration) {
    queue.add(event, at: now.advanced(by: wait))
  }

  /// Schedules an event for a host. The event is dropped if the current run of the host ends first.
  public mutating func later(
    _ scheduled: Feature.ScheduledEvent, on host: HostID, after wait: Duration
  ) {
    add(.scheduled(host, run: hosts[host.slot].run, scheduled), after: wait)
  }

  /// Schedules an event that does not depend on any host.
  public mutating func later(_ scheduled: Feature.ScheduledEvent, after wait: Duration) {
    add(.scheduled(nil, run: 0, scheduled), after: wait)
  }

  /// Schedules an event that answers a call. The event is held while the process is suspended, and
  /// dropped when the process ends.
  public mutating func answerLater(
    _ scheduled: Feature.ScheduledEvent, to host: HostID, after wait: Duration
  ) {
    hosts[host.slot].calls += 1
    add(.answers(host, run: hosts[host.slot].run, scheduled), after: wait)
  }

  // The network.

  /// Returns a number that no other line and no other request has.
  public mutating func newNumber() -> TrafficID {
    lastNumber += 1
    return lastNumber
  }

  /// Returns the delay of one transmission in one direction.
  public mutating func delay() -> Duration {
    networkConditions.delay + generator.duration(below: networkConditions.jitter)
  }

  /// Returns the time of a round trip.
  public mutating func roundTrip() -> Duration { delay() + delay() }

  public mutating func happens(_ share: Double) -> Bool { share > 0 && generator.unit() < share }

  /// Returns the time at which the last of some bytes has left, after the phone's earlier traffic.
  mutating func carry(_ bytes: Int, of host: HostID, down: Bool) -> Instant {
    let bandwidth = hosts[host.slot].conditions.bandwidth
    guard bandwidth > 0 else {
      // A wide link immediately sends everything that was queued on a narrow link.
      if down { hosts[host.slot].network.downFree = .zero }
      if !down { hosts[host.slot].network.upFree = .zero }
      return now
    }
    let time = Duration.nanoseconds(Int64(bytes) * 1_000_000_000 / bandwidth)
    if down {
      let free = max(hosts[host.slot].network.downFree, now).advanced(by: time)
      hosts[host.slot].network.downFree = free
      return free
    } else {
      let free = max(hosts[host.slot].network.upFree, now).advanced(by: time)
      hosts[host.slot].network.upFree = free
      return free
    }
  }

  // Observations and findings.

  /// Reports that a guarantee is broken.
  public mutating func find(_ kind: Finding.Kind, _ detail: String) {
    findings.append(Finding(kind, at: now, detail))
  }

  /// Records a step of a model in the digest, and passes it to the checkers and the watcher.
  mutating func noteStep(
    _ phone: HostID, _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect]
  ) {
    digest.note(phone, input, isLate: isLate, effects, of: Feature.self, at: now)
    Feature.step(phone, input, isLate: isLate, effects, &checkers)
    checkers.views[phone.index].stepped(input, isLate: isLate, effects, &worldCheckers)
    guard let watch else { return }
    let seen: Observation<Feature> =
      input.map { .received(phone, $0, isLate: isLate, effects: effects) }
      ?? .ticked(phone, effects: effects)
    watch(seen, checkers.views[phone.index].phoneState)
  }

  /// Records an observation that is not a step.
  public mutating func note(_ seen: Observation<Feature>, of phone: HostID?) {
    digest.note(seen, of: phone, at: now)
    Feature.observe(seen, of: phone?.index, &checkers)
    checkers.views[phone?.index ?? 0].handle(seen, &worldCheckers)
    watch?(seen, checkers.views[phone?.index ?? 0].phoneState)
  }

  /// Passes an observation that no checker needs to the watcher.
  func tell(_ seen: Observation<Feature>) {
    guard let watch else { return }
    var phoneState = checkers.views[0].phoneState
    phoneState.now = now
    watch(seen, phoneState)
  }

  /// Completes the checks at the end of the run.
  mutating func conclude() {
    checkers.conclude()
    worldCheckers.conclude(checkers.views[0].phoneState)
  }

  /// The result of the run.
  func outcome() -> RunOutcome<Feature> {
    RunOutcome(
      seed: plan.seed, server: plan.server,
      findings: checkers.findings(with: worldCheckers.findings) + findings,
      counts: counts, digest: digest.value)
  }
}

/// The wall clock of a run.
public enum RunClock {
  /// The time that every wall clock shows when a run begins.
  public static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
}

extension Instant {
  /// The latest instant that can be represented.
  static var max: Instant { Instant(nanoseconds: .max) }
}

/// A counter of a run's events that detects a run that would not end.
struct Pace: Sendable {
  /// The maximum number of events and wakes in a whole run. A drawn plan produces some thousands;
  /// the limit is Holdfast's own.
  let mostInRun: Int
  /// The maximum number of events and wakes at one instant. A drawn plan produces some hundreds;
  /// the limit is Holdfast's own.
  let mostAtOnce: Int

  private var count = 0
  private var here = 0
  private var at = Instant.zero

  init(mostInRun: Int = 10_000_000, mostAtOnce: Int = 100_000) {
    (self.mostInRun, self.mostAtOnce) = (mostInRun, mostAtOnce)
  }

  /// Counts an event, and describes the limit that it exceeds. Returns `nil` if it exceeds none.
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
  /// Creates a text that repeats one ASCII character.
  ///
  /// This is 40 times as fast as `String(repeating:count:)`, which appends the characters one by
  /// one.
  public init(of character: Unicode.Scalar, count: Int) {
    self.init(decoding: [UInt8](repeating: UInt8(ascii: character), count: count), as: UTF8.self)
  }
}
