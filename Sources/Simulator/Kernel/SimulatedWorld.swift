public import HoldfastCore
public import HoldfastLinkChecks

/// A world of one feature: the kernel, the models on its phones, and the actual rules of its
/// servers.
///
/// The kernel calls the requirements of this protocol, and extensions provide the kernel's
/// operations. `play()` runs a world: servers boot, `prepare()` sets up their data, phones are
/// launched, and the events of the plan take place. Then the calm phase begins, and `heal()` waits
/// until everything is complete.
public protocol SimulatedWorld: ~Copyable {
  associatedtype Feature: SimulatedFeature
  associatedtype Client: LinkClient
  where Client.Input == Feature.Model.Input, Client.Effect == Feature.Model.Effect

  var kernel: Kernel<Feature> { get set }
  /// The models, indexed by phone.
  var clients: [Client] { get set }

  // Processes.
  /// Creates the model of a phone's process, or the rules of a server's process, as the process
  /// starts.
  mutating func boot(_ host: HostID)
  /// Handles the end of a process that was killed or crashed.
  mutating func ended(_ host: HostID)
  /// Makes a server close its connections within a time. The server must then call `drained`.
  mutating func drain(_ server: HostID, within time: Duration)
  /// The deadline that the world itself has for a host, in addition to that of a phone's model.
  func deadline(of host: HostID) -> Instant?
  /// Handles the deadline that `deadline(of:)` returned.
  mutating func tick(_ host: HostID)

  // The app on a phone.
  /// Reports to the model the state that has changed since the last report, other than lifecycle
  /// and reachability. In a new run of the process, this method reports the complete state.
  mutating func reportAppState(_ phone: HostID, isFirst: Bool)
  /// Returns whether the user wants the link, according to the state that was reported to the
  /// model.
  func isWanted(_ phone: HostID) -> Bool
  /// Checks the effects that the model returned for an input, or for a tick if the input is `nil`.
  mutating func stepped(
    _ input: Feature.Input?, _ effects: [Feature.Effect], at time: Instant, of phone: HostID)
  /// Copies the model's state to the phone's `PhoneState.own`.
  mutating func look(_ phone: HostID)
  mutating func perform(_ effect: Feature.Effect, of phone: HostID)

  // Defects specific to the feature.
  mutating func altered(_ input: Feature.Input, of phone: HostID) -> [Feature.Input]
  mutating func altered(_ effect: Feature.Effect, of phone: HostID) -> [Feature.Effect]

  // Lines.
  /// Handles an upgrade request at a server. The server accepts or refuses it, now or later.
  mutating func upgradeArrived(_ line: TrafficID, _ hello: Feature.Hello, at server: HostID)
  /// Handles bytes from a phone at a server. The packet is `nil` for a ping or a pong.
  mutating func arrived(_ packet: Feature.Packet?, on line: TrafficID, at server: HostID)
  /// Handles the end of a connection at a server.
  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID)
  /// Returns the model's input for the packet with which a line opened.
  func opened(_ attempt: AttemptID, _ packet: Feature.Packet) -> Feature.Input
  /// Returns the model's input for a packet.
  mutating func received(_ attempt: AttemptID, _ packet: Feature.Packet) -> Feature.Input

  // Exchanges.
  /// Handles a request at a server. The server responds now or later.
  mutating func requestArrived(_ id: TrafficID, _ question: Feature.Question, at server: HostID)
  /// Returns the response of a server that answers every request with the given status.
  func refusal(_ status: Int) -> Feature.Reply
  /// Returns the size of a request in bytes, which matters on narrow links.
  func bytes(of question: Feature.Question) -> Int
  func bytes(of reply: Feature.Reply) -> Int
  /// Returns whether the response to a request may arrive twice.
  func mayComeTwice(_ question: Feature.Question) -> Bool
  /// Returns the request to repeat with newer credentials after a response; `nil` if there is none.
  func repeated(
    _ question: Feature.Question, after reply: Feature.Reply, of host: HostID
  ) -> Feature.Question?
  /// Handles the result of an exchange.
  mutating func answered(
    _ question: Feature.Question, _ result: Result<Feature.Reply, LinkFailure>, to host: HostID)

  // Scheduled events.
  /// Handles a scheduled event.
  mutating func take(_ scheduled: Feature.ScheduledEvent, on host: HostID?)
  /// Makes a change durable. Returns the event that the process receives a moment later.
  mutating func makeDurable(_ change: Feature.ScheduledEvent, on host: HostID) -> Feature
    .ScheduledEvent?
  /// Returns whether changes may become durable if the process ends while they are being written.
  func keepsLastWrites(_ host: HostID) -> Bool
  /// Returns the event that the process receives for a change that the disk refused.
  func refusedChange(_ change: Feature.ScheduledEvent, isFull: Bool) -> Feature.ScheduledEvent
  /// Handles a write that was interrupted by the end of the process or by a full disk.
  mutating func tear(_ change: Feature.ScheduledEvent, on host: HostID)

  // The plan.
  /// Applies the feature's own planned event to the conditions of a host. The kernel calls this
  /// method while the event is in progress.
  static func impose(_ event: PlannedEvent<Feature.EventKind>, on conditions: inout Conditions)
  mutating func begin(
    _ eventKind: Feature.EventKind, _ event: PlannedEvent<Feature.EventKind>, _ index: Int)
  /// Takes back what `begin` changed outside of the conditions.
  mutating func end(_ event: PlannedEvent<Feature.EventKind>, _ index: Int)
  /// Sets up the servers' data before the run begins.
  mutating func prepare()
  /// Repairs state that only the world holds, at the start of the calm phase.
  mutating func prepareCalm()
  /// Makes users open the app once all faults have ended.
  mutating func becomeCalm()
  /// Waits until everything is complete.
  mutating func heal()
  /// Whether the user has all data and nothing remains to be sent.
  var isComplete: Bool { get }
  /// A description of the current state, for use in a finding.
  var complaint: String { get }
  /// Performs the actions of a user who notices a failure after a while.
  mutating func tryAgain()
  /// Adds one last event, which must also take full effect.
  mutating func happenLast()
  /// Makes the user stop using the app.
  mutating func leave()
}

extension SimulatedWorld where Self: ~Copyable {
  /// An observation of this world.
  public typealias Seen = Observation<Feature>

  public mutating func ended(_ host: HostID) {}
  public mutating func stepped(
    _ input: Feature.Input?, _ effects: [Feature.Effect], at time: Instant, of phone: HostID
  ) {}
  mutating func altered(_ input: Feature.Input, of phone: HostID) -> [Feature.Input] { [input] }
  mutating func altered(_ effect: Feature.Effect, of phone: HostID) -> [Feature.Effect] {
    [effect]
  }
  public func mayComeTwice(_ question: Feature.Question) -> Bool { true }
  public func repeated(
    _ question: Feature.Question, after reply: Feature.Reply, of host: HostID
  ) -> Feature.Question? { nil }
  public static func impose(
    _ event: PlannedEvent<Feature.EventKind>, on conditions: inout Conditions
  ) {}
  public mutating func end(_ event: PlannedEvent<Feature.EventKind>, _ index: Int) {}
  public mutating func prepare() {}
  public mutating func prepareCalm() {}
  public func keepsLastWrites(_ host: HostID) -> Bool { true }
  public mutating func tear(_ change: Feature.ScheduledEvent, on host: HostID) {}

  public var now: Instant { kernel.now }
}

// The run.
extension SimulatedWorld where Self: ~Copyable {
  /// Runs the plan and the calm phase after it.
  public mutating func play() -> RunOutcome<Feature> {
    playPlan()
    kernel.counts.runs = 1
    return kernel.outcome()
  }

  private mutating func playPlan() {
    for host in kernel.hosts where host.id.kind != .phone { start(host.id) }
    prepare()
    for index in kernel.plan.events.indices {
      kernel.queue.add(.begins(index), at: Instant.zero.advanced(by: kernel.plan.events[index].at))
    }
    for phone in kernel.phones { launch(phone) }
    run(until: Instant.zero.advanced(by: kernel.plan.length))
    calm()
    heal()
    kernel.counts.simulated = Instant.zero.duration(to: now)
    for phone in kernel.phones.indices { kernel.checkers.views[phone].phoneState.now = now }
    kernel.conclude()
  }

  /// Runs the world until `end`, or until `isDone` returns true after an event.
  ///
  /// - Returns: Whether `isDone` returned true.
  @discardableResult
  public mutating func run(until end: Instant, _ isDone: (borrowing Self) -> Bool = { _ in false })
    -> Bool
  {
    if isDone(self) { return true }
    while !kernel.isAborted {
      let due = nextDeadline()
      let other = due?.at ?? .max
      if let next = kernel.nextEvent(), next <= other {
        guard next <= end else { break }
        kernel.advance(to: next)
        kernel.countEvent()
        if let event = kernel.queue.pop() { take(event) }
      } else {
        guard let due, due.at <= end else { break }
        kernel.advance(to: max(due.at, now))
        kernel.countEvent()
        wake(due.host, isModel: due.isModel)
      }
      if isDone(self) { return true }
    }
    kernel.advance(to: end)
    return false
  }

  /// Returns the earliest deadline. Among equal deadlines, a server's comes first, because servers
  /// follow phones in the list of hosts.
  private mutating func nextDeadline() -> (at: Instant, host: HostID, isModel: Bool)? {
    var first = kernel.nextModel()
    for host in kernel.ids {
      guard let at = deadline(of: host), at <= first?.at ?? .max else { continue }
      first = (at, host, false)
    }
    return first
  }

  private mutating func wake(_ host: HostID, isModel: Bool) {
    kernel.countSpin()
    if isModel { tickModel(host) } else { tick(host) }
  }

  private mutating func take(_ event: consuming KernelEvent<Feature>) {
    switch consume event {
    case .begins(let index): begin(index)
    case .ends(let index): end(index)
    case .suspends(let index, let host): suspendLater(host, for: index)
    case .dies(let host, let run):
      if run == kernel.hosts[host.slot].run, kernel.hosts[host.slot].pendingKill != nil {
        die(host)
      }
    case .upgradeArrives(let number): upgradeArrives(number)
    case .up(let number, let packet, let ping): arriveUp(packet, ping: ping, over: number)
    case .hungUp(let number, let code): serverLoses(number, code: code)
    case .down(let number, let down): arriveDown(down, over: number)
    case .breaks(let number, let failure): breaks(number, failure)
    case .echoes(let host, let run, let attempt, let failure):
      if run == kernel.hosts[host.slot].run {
        inform(host, of: .lost(attempt, failure))
      }
    case .requestArrives(let number): requestArrives(number)
    case .answerArrives(let arrival, let isCopy): arrive(arrival, isCopy: isCopy)
    case .requestExpires(let number): expire(number)
    case .durable(let host, let number): becomeDurable(number, on: host)
    case .answers(let host, let run, let scheduled):
      if run == kernel.hosts[host.slot].run { answer(scheduled, to: host) }
    case .scheduled(let host, let run, let scheduled):
      if let host, run != kernel.hosts[host.slot].run || kernel.hosts[host.slot].process == .dead {
        return
      }
      take(scheduled, on: host)
    }
  }

  // Observations.

  /// Records an observation, with the state of the phones right after it.
  ///
  /// - Parameter phone: The phone that the observation concerns; `nil` if it concerns the whole
  ///   world.
  public mutating func note(_ seen: Seen, of phone: HostID? = nil) {
    if let phone {
      kernel.updatePhoneState(phone, isWanted: isWanted(phone))
    } else {
      for phone in kernel.phones { kernel.updatePhoneState(phone, isWanted: isWanted(phone)) }
    }
    kernel.note(seen, of: phone)
  }

  /// Records a fact that is specific to the feature.
  public mutating func note(_ fact: Feature.Fact) { note(.fact(fact)) }
}

// The model on a phone: its inputs and its effects.
extension SimulatedWorld where Self: ~Copyable {
  /// Passes an event that every kind of link supports to a model, if its process is running.
  mutating func inform(_ phone: HostID, of event: LinkEvent) {
    guard let input = Feature.Model.input(event, at: wall(phone)) else { return }
    give(input, to: phone)
  }

  /// Passes an input to a model, if its process is running.
  public mutating func give(_ input: Feature.Input, to phone: HostID) {
    guard kernel.hosts[phone.slot].isRunning else { return }
    // The current and the queued attempt after the model's last step.
    let current = kernel.checkers.views[phone.index].phoneState.currentAttempt
    let queued = kernel.checkers.views[phone.index].phoneState.queuedAttempt
    let isLate =
      Feature.Model.role(of: input).attempt.map { $0 != current && $0 != queued } ?? false
    guard kernel.setup.defect != nil else { return step(input, isLate: isLate, of: phone) }
    let status = kernel.checkers.views[phone.index].phoneState.status
    let passed = kernel.seams[phone.index].input(input, current: current, status: status)
    guard let passed else { return }
    for real in altered(passed, of: phone) {
      guard kernel.hosts[phone.slot].isRunning else { return }
      step(real, isLate: isLate, of: phone)
    }
  }

  private mutating func step(_ input: Feature.Input, isLate: Bool, of phone: HostID) {
    let time = time(phone)
    let returned = clients[phone.index].handle(input, at: time)
    stepped(input, returned, at: time, of: phone)
    let effects = leaving(returned, phone)
    examine(phone)
    carryOut(effects, of: phone, after: input, isLate: isLate)
  }

  mutating func tickModel(_ phone: HostID) {
    let time = time(phone)
    let returned = clients[phone.index].tick(at: time)
    stepped(nil, returned, at: time, of: phone)
    let effects = leaving(returned, phone)
    examine(phone)
    carryOut(effects, of: phone, after: nil, isLate: false)
  }

  /// Reports the invariants that the model's last step broke.
  private mutating func examine(_ phone: HostID) {
    let depth = kernel.depthOfCheck()
    kernel.report(clients[phone.index].brokenInvariants(depth))
  }

  /// Returns the effects of a step after the defect has altered them.
  private mutating func leaving(
    _ effects: [Feature.Effect], _ phone: HostID
  ) -> [Feature.Effect] {
    guard kernel.setup.defect != nil else { return effects }
    return effects.flatMap { altered($0, of: phone) }
  }

  /// Carries out effects in order, then records the step. Checkers therefore see the operations
  /// that the step started.
  ///
  /// A process with a pending kill may die between two effects.
  private mutating func carryOut(
    _ effects: [Feature.Effect], of phone: HostID, after input: Feature.Input?, isLate: Bool
  ) {
    kernel.counts.steps += 1
    lookAt(phone)
    let (spared, dies) = spared(effects, of: phone)
    for effect in spared { perform(effect, of: phone) }
    kernel.updatePhoneState(phone, isWanted: isWanted(phone))
    kernel.noteStep(phone, input, isLate: isLate, effects)
    if dies { die(phone) }
  }

  /// Records the model's state.
  mutating func lookAt(_ phone: HostID) {
    let slept = kernel.hosts[phone.slot].slept
    let glance = clients[phone.index].glance()
    kernel.checkers.views[phone.index].phoneState.status = glance.status
    kernel.checkers.views[phone.index].phoneState.deadline =
      slept == .zero ? glance.deadline : glance.deadline.map { $0.advanced(by: slept) }
    kernel.checkers.views[phone.index].phoneState.currentAttempt = glance.current
    kernel.checkers.views[phone.index].phoneState.queuedAttempt = glance.queued
    kernel.checkers.views[phone.index].phoneState.wait = glance.wait
    look(phone)
  }
}

// Operations that the kernel provides for a world.
extension SimulatedWorld where Self: ~Copyable {
  // Clocks.

  /// Returns a host's wall-clock time. The network conditions specify the drift of a phone's clock.
  public func wall(_ host: HostID) -> Timestamp {
    let rate = host.kind == .phone ? kernel.networkConditions.wallDrift : 0
    let drift = rate == 0 ? 0 : Int64(Double(now.nanoseconds) * rate)
    return Timestamp(
      nanoseconds: Kernel<Feature>.wallBase.nanoseconds + now.nanoseconds + drift
    ).advanced(by: kernel.hosts[host.slot].wallOffset)
  }

  /// Returns the current time for a model. It excludes suspensions in which the model's clock
  /// stopped.
  func time(_ host: HostID) -> Instant {
    now.advanced(by: .zero - kernel.hosts[host.slot].slept)
  }

  // Traffic.

  /// Returns the host whose network uplink a host uses. A phone's system uses the uplink of its
  /// phone.
  func carrier(of host: HostID) -> HostID {
    host.kind == .system ? kernel.phones[host.index] : host
  }

  /// Returns whether nothing currently passes between a host and the network.
  public func isHole(_ host: HostID) -> Bool {
    let host = carrier(of: host)
    return kernel.hosts[host.slot].conditions.isHole
      || now < kernel.hosts[host.slot].network.holeUntil
  }

  public func line(_ number: TrafficID) -> Int? { kernel.lines.firstIndex { $0.number == number } }

  /// Returns the index of the line of an attempt in the current run of a phone.
  public func line(of host: HostID, _ attempt: AttemptID) -> Int? {
    kernel.lines.firstIndex {
      $0.attempt == attempt && $0.run == kernel.hosts[host.slot].run && $0.from == host
    }
  }

  /// Returns the index of a request that awaits its response.
  public func exchange(_ number: TrafficID) -> Int? {
    kernel.exchanges.firstIndex { $0.number == number }
  }

  // Planned events.

  /// Returns whether a planned event of the given kind is in progress.
  public func isUnderWay(_ eventKind: Feature.EventKind, on host: HostID? = nil) -> Bool {
    kernel.active.contains {
      let event = kernel.plan.events[$0].event
      return event.eventKind == .own(eventKind)
        && (host == nil || event.host ?? host?.index == host?.index)
    }
  }

  /// Returns the hosts that a planned event concerns.
  public func targets(of event: PlannedEvent<Feature.EventKind>) -> [HostID] {
    let kind = event.kind ?? event.form.host
    return kernel.hosts.map(\.id).filter { $0.kind == kind && event.host ?? $0.index == $0.index }
  }
}

// Defaults for the parts that most worlds share.
extension SimulatedWorld where Self: ~Copyable {
  /// The first server.
  public var server: HostID { kernel.host(.backend) }

  /// The feature's state of the first phone, which the checkers use.
  public var own: Feature.State { kernel.own }

  /// Returns a random seed for a process that starts on a host.
  public mutating func newSeed(_ host: HostID) -> UInt64 {
    kernel.hosts[host.slot].generator.next()
  }

  /// Closes all connections with code 1001.
  public mutating func drain(_ server: HostID, within time: Duration) {
    for line in kernel.lines where line.serverHolds && line.to == server {
      serverCloses(line.number, code: 1001, reason: "")
    }
    drained(server)
  }

  public func deadline(of host: HostID) -> Instant? { nil }
  public mutating func tick(_ host: HostID) {}
  mutating func reportAppState(_ phone: HostID, isFirst: Bool) {}
  mutating func look(_ phone: HostID) {}
  public mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {}
  mutating func makeDurable(_ change: Feature.ScheduledEvent, on host: HostID) -> Feature
    .ScheduledEvent?
  { nil }
  func refusedChange(_ change: Feature.ScheduledEvent, isFull: Bool) -> Feature.ScheduledEvent {
    change
  }
}

extension SimulatedWorld where Self: ~Copyable, Client: LinkModel {
  /// Returns whether the app is in the foreground and the user wants the link, according to the
  /// reports to the model.
  public func isWanted(_ phone: HostID) -> Bool {
    kernel.hosts[phone.slot].reported.lifecycle == .foreground
      && clients[phone.index].link.isWanted
  }
}

// Defaults for a world without exchanges.
extension SimulatedWorld
where Self: ~Copyable, Feature.Question == Nothing, Feature.Reply == Nothing {
  public mutating func requestArrived(_ id: TrafficID, _ question: Nothing, at server: HostID) {}
  public func refusal(_ status: Int) -> Nothing { Nothing() }
  public func bytes(of nothing: Nothing) -> Int { 0 }
  public mutating func answered(
    _ question: Nothing, _ result: Result<Nothing, LinkFailure>, to host: HostID
  ) {}
}

// Calm: no more faults occur, and everything must become complete.
extension SimulatedWorld where Self: ~Copyable {
  public var isComplete: Bool { true }
  public var complaint: String {
    kernel.checkers.views.map { $0.phoneState.status.description + Feature.remains($0.phoneState) }
      .joined(separator: "; ")
  }
  public mutating func tryAgain() {}
  public mutating func happenLast() {}
  public mutating func leave() {}

  public mutating func heal() {
    becomeWhole()
    finish()
  }

  /// Waits until everything is complete, then adds one last event and waits for that too.
  public mutating func becomeWhole() {
    var isDone = false
    // The limit may move if an attempt that was in progress when calm began is refused.
    while !isDone, let limit = kernel.checkers.wholeBy, now < limit, !kernel.isAborted {
      isDone = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isComplete }
      if !isDone { tryAgain() }
    }
    guard isDone else { return }  // A checker reports it.
    happenLast()
    var isShown = run(until: now.advanced(by: .seconds(120))) { $0.isComplete }
    // Traffic that was in transit when calm began may end a complete link. The link may then take
    // as long as the calm phase.
    if !isShown, let limit = kernel.checkers.wholeBy, now < limit, hasLostLink {
      isShown = run(until: limit) { $0.isComplete }
    }
    if !isShown { kernel.find(.unhealed, "the last message was not shown: \(complaint)") }
  }

  private var hasLostLink: Bool {
    kernel.checkers.views.contains { $0.phoneState.status.phase != .connected }
  }

  /// Makes the user stop using the app. Afterwards nothing may be outstanding.
  public mutating func finish() {
    leave()
    run(until: now.advanced(by: .seconds(60)))
  }
}

// The plan: the start and end of its events, and the effects of the kernel's event kinds.
extension SimulatedWorld where Self: ~Copyable {
  mutating func begin(_ index: Int) {
    let event = kernel.plan.events[index].event
    kernel.counts.events[event.name, default: 0] += 1
    if let span = lasting(event) {
      kernel.active.append(index)
      kernel.add(.ends(index), after: span)
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    note(.began(ObservedEvent(event)))
    cut(before)
    switch event.eventKind {
    case .common(let eventKind): begin(eventKind, event, index)
    case .own(let eventKind): begin(eventKind, event, index)
    }
    reportState()
  }

  /// Ends a planned event, and restores what it has changed.
  public mutating func end(_ index: Int) {
    guard let position = kernel.active.firstIndex(of: index) else { return }
    kernel.active.remove(at: position)
    for host in kernel.hosts.indices {
      kernel.hosts[host].suspending.removeAll { $0 == index }
      kernel.hosts[host].dozing.removeAll { $0 == index }
      // The calm phase does not wait for a drain.
      if kernel.hosts[host].draining == index { stop(kernel.hosts[host].id, for: index) }
      kernel.hosts[host].downs.removeAll { $0 == index }
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    let event = kernel.plan.events[index].event
    note(.ended(ObservedEvent(event)))
    cut(before)
    end(event, index)
    for host in kernel.hosts where host.id.kind != .phone { start(host.id) }
    for phone in kernel.phones { resume(phone) }
    reportState()
    for phone in kernel.phones { launchIfPossible(phone) }
  }

  /// Returns how long a planned event lasts; `nil` if it is instantaneous. A handover may leave the
  /// phone without a network for a moment.
  private mutating func lasting(_ event: PlannedEvent<Feature.EventKind>) -> Duration? {
    guard event.eventKind == .common(.handover) else { return event.lasting }
    guard kernel.generator.next() % 2 == 0 else { return nil }
    return .milliseconds(200) + kernel.generator.duration(below: .seconds(3))
  }

  /// Derives the conditions of each host from the planned events in progress.
  mutating func recompute() {
    for host in kernel.hosts.indices {
      kernel.hosts[host].conditions = Conditions(kernel.networkConditions)
    }
    for index in kernel.active {
      let event = kernel.plan.events[index].event
      for host in targets(of: event) {
        switch event.eventKind {
        case .common(let eventKind): kernel.hosts[host.slot].conditions.add(eventKind, of: event)
        case .own: Self.impose(event, on: &kernel.hosts[host.slot].conditions)
        }
      }
    }
  }

  /// Ends the connections that a change of conditions breaks.
  private mutating func cut(_ before: [Conditions]) {
    for phone in kernel.phones {
      let (old, new) = (before[phone.slot], kernel.hosts[phone.slot].conditions)
      let isCut = new.isUnreachable && !old.isUnreachable
      let isCaught = new.portal != nil && old.portal == nil
      if isCut || isCaught { loseConnections(of: phone) }
      if old.isHole, !new.isHole {
        let until = kernel.hosts[phone.slot].network.holeUntil
        kernel.hosts[phone.slot].network.holeUntil = min(until, now)
      }
    }
  }

  private mutating func begin(
    _ eventKind: CommonEventKind, _ event: PlannedEvent<Feature.EventKind>, _ index: Int
  ) {
    for host in targets(of: event) { begin(eventKind, event, index, on: host) }
  }

  private mutating func begin(
    _ eventKind: CommonEventKind, _ event: PlannedEvent<Feature.EventKind>, _ index: Int,
    on host: HostID
  ) {
    switch eventKind {
    case .suspend:
      if event.span > .seconds(5) { kernel.add(.suspends(index, host), after: .seconds(5)) }
    case .sleep: sleep(host, index)
    case .kill: killSoon(host)
    case .wallClock, .serverClock: kernel.hosts[host.slot].wallOffset += event.time
    case .reset: resetAll(of: host)
    case .flap:
      for line in kernel.lines where line.from == host { reset(line, after: kernel.delay()) }
    case .halfOpen: loseConnections(of: host)
    case .blackHole: swallow(host, for: event.span)
    case .handover:
      kernel.hosts[host.slot].network.path += 1
      loseConnections(of: host)
    case .mappingExpired: expireMappings(of: host)
    case .crash: stop(host, for: index)
    case .deploy: deploy(host, index)
    case .close: closeSockets(of: host, event.number)
    case .background, .dialsFail, .unreachable, .captivePortal, .narrow, .waver, .restStatus,
      .upgradeStatus, .busy, .slowStore, .storeFull, .storeLocked, .storeSlow:
      return  // The conditions cover these.
    }
  }

  private mutating func sleep(_ host: HostID, _ index: Int) {
    if kernel.hosts[host.slot].generator.next() % 2 == 0 {
      kernel.hosts[host.slot].dozing.append(index)
      kernel.add(.suspends(index, host), after: .milliseconds(500))
    } else {
      suspend(host, for: index)
    }
  }

  private mutating func swallow(_ host: HostID, for span: Duration) {
    let until = max(kernel.hosts[host.slot].network.holeUntil, now.advanced(by: span))
    kernel.hosts[host.slot].network.holeUntil = until
    // TCP survives a short hole. It retransmits the lost bytes afterwards.
    if span > .seconds(20) {
      for index in kernel.lines.indices where kernel.lines[index].from == host { kill(index) }
    }
    loseRequests(of: host)
  }

  /// Drops the NAT mappings of connections that have been idle for a minute, as routers do.
  private mutating func expireMappings(of host: HostID) {
    for index in kernel.lines.indices
    where kernel.lines[index].from == host
      && kernel.lines[index].lastUsed.duration(to: now) > .seconds(60)
    {
      kill(index)
    }
    if kernel.hosts[host.slot].network.lastRequest.duration(to: now) > .seconds(60) {
      kernel.hosts[host.slot].network.poolIsDead = true
    }
  }

  private mutating func resetAll(of host: HostID) {
    let wait = kernel.delay()
    for line in kernel.lines where line.from == host { reset(line, after: wait) }
    for exchange in kernel.exchanges
    where carrier(of: exchange.from) == host && !exchange.isAbandoned {
      cut(exchange)
    }
  }

  private mutating func deploy(_ server: HostID, _ index: Int) {
    if kernel.hosts[server.slot].isRunning {
      kernel.hosts[server.slot].draining = index
      drain(server, within: .seconds(10))
    } else {
      kernel.hosts[server.slot].downs.append(index)
    }
  }

  private mutating func closeSockets(of server: HostID, _ number: Int) {
    let code = UInt16(clamping: number)
    for line in kernel.lines where line.to == server && line.serverHolds {
      send(.failed(.closed(code: code, reason: "")), bytes: 60, over: line.number)
      kernel.add(.hungUp(line.number, code: code), after: kernel.delay())
    }
  }

  // Calm.

  /// Ends all faults, and starts the calm phase.
  mutating func calm() {
    for host in kernel.hosts.indices { kernel.hosts[host].pendingKill = nil }
    for index in kernel.active { end(index) }
    kernel.networkConditions.loss = 0
    kernel.networkConditions.slow = 0
    kernel.networkConditions.twice = 0
    kernel.networkConditions.delay = .milliseconds(25)
    kernel.networkConditions.jitter = .milliseconds(25)
    kernel.networkConditions.bandwidth = 0
    for phone in kernel.phones {
      let until = kernel.hosts[phone.slot].network.holeUntil
      kernel.hosts[phone.slot].network.holeUntil = min(until, now)
      kernel.hosts[phone.slot].network.poolIsDead = false
    }
    prepareCalm()
    recompute()
    for host in kernel.ids where kernel.hosts[host.slot].process == .dead {
      if host.kind == .phone { launch(host) } else { start(host) }
    }
    note(.calm)
    reportState()
    becomeCalm()
  }
}
