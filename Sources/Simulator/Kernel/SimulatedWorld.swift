import LinkCore

/// A world of one feature: the kernel, the models on its phones, and the real rules of its servers.
///
/// The requirements are what the kernel reports; the extensions are what it offers. A world is
/// played by `play()`: servers boot, `prepare()` fills them, phones are launched, the plan happens,
/// then calm begins and `heal()` waits until everything is whole.
protocol SimulatedWorld: ~Copyable {
  associatedtype Feature: SimulatedFeature
  associatedtype Client: LinkClient
  where Client.Input == Feature.Model.Input, Client.Effect == Feature.Model.Effect

  var kernel: Kernel<Feature> { get set }
  /// The models by the number of their phone.
  var clients: [Client] { get set }

  // Processes.
  /// A process begins: make its model or its rules anew.
  mutating func boot(_ host: HostID)
  /// A process ended, killed or crashed.
  mutating func ended(_ host: HostID)
  /// A server is told to close its connections within a time; it must call `stop` when it has.
  mutating func drain(_ server: HostID, within time: Duration)
  /// The deadline of what the world keeps for a host beside a phone's model.
  func deadline(of host: HostID) -> Instant?
  /// That deadline has come.
  mutating func tick(_ host: HostID)

  // The app on a phone.
  /// Tells the model what is so now beside lifecycle and reachability, and was not when it was told
  /// last; in a new run of the process, everything.
  mutating func tellApp(_ phone: HostID, isFirst: Bool)
  /// Whether the user wants the link, as far as the model was told.
  func isWanted(_ phone: HostID) -> Bool
  /// The model took an input, or let time pass, and asked for this: compare it with what it must.
  mutating func stepped(
    _ input: Feature.Input?, _ effects: [Feature.Effect], at time: Instant, of phone: HostID)
  /// Notes how the model stands in the phone's `Standing.own`.
  mutating func look(_ phone: HostID)
  mutating func perform(_ effect: Feature.Effect, of phone: HostID)

  // Defects of the feature's own.
  mutating func altered(_ input: Feature.Input, of phone: HostID) -> [Feature.Input]
  mutating func altered(_ effect: Feature.Effect, of phone: HostID) -> [Feature.Effect]

  // Lines.
  /// An upgrade request is at a server: accept or refuse it, now or later.
  mutating func upgradeArrived(_ line: TrafficID, _ hello: Feature.Hello, at server: HostID)
  /// Bytes of a phone are at a server; `nil` for a ping or a pong.
  mutating func arrived(_ packet: Feature.Packet?, on line: TrafficID, at server: HostID)
  /// A server learns that a connection ended.
  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID)
  /// What a phone's model is told when the packet that opened a line arrives.
  func opened(_ attempt: AttemptID, _ packet: Feature.Packet) -> Feature.Input
  /// What a phone's model is told of a packet.
  mutating func received(_ attempt: AttemptID, _ packet: Feature.Packet) -> Feature.Input

  // Exchanges.
  /// A request is at a server: answer it, now or later.
  mutating func requestArrived(_ id: TrafficID, _ question: Feature.Question, at server: HostID)
  /// The answer of a server that answers everything with a status.
  func refusal(_ status: Int) -> Feature.Reply
  /// The bytes of a request and of an answer, for narrow ways.
  func bytes(of question: Feature.Question) -> Int
  func bytes(of reply: Feature.Reply) -> Int
  /// Whether an answer may come twice.
  func mayComeTwice(_ question: Feature.Question) -> Bool
  /// The request to repeat with newer credentials after an answer; `nil` for none.
  func repeated(
    _ question: Feature.Question, after reply: Feature.Reply, of host: HostID
  ) -> Feature.Question?
  /// An exchange is over.
  mutating func answered(
    _ question: Feature.Question, _ result: Result<Feature.Reply, LinkFailure>, to host: HostID)

  // Cues.
  /// A cue has come.
  mutating func take(_ cue: Feature.Cue, on host: HostID?)
  /// Makes a change durable; returns what the process is told a moment later.
  mutating func makeDurable(_ change: Feature.Cue, on host: HostID) -> Feature.Cue?
  /// Whether changes that are being written when a process ends may become durable.
  func keepsLastWrites(_ host: HostID) -> Bool
  /// What the process is told of a change that the disk refused.
  func refusedChange(_ change: Feature.Cue, isFull: Bool) -> Feature.Cue
  /// A write ended in the middle, by the end of the process or of the room on the disk.
  mutating func tear(_ change: Feature.Cue, on host: HostID)

  // The plan.
  /// Adds what an act of the feature's own means for the hosts that it concerns, while it lasts.
  static func impose(_ act: Act<Feature.Verb>, on conditions: inout Conditions)
  mutating func begin(_ verb: Feature.Verb, _ act: Act<Feature.Verb>, _ index: Int)
  mutating func end(_ act: Act<Feature.Verb>, _ index: Int)
  /// Fills the servers before the run begins.
  mutating func prepare()
  /// All trouble ends now: set right what only the world knows.
  mutating func prepareCalm()
  /// All trouble has ended: let users look at their phones.
  mutating func becomeCalm()
  /// Waits until everything is whole.
  mutating func heal()
  /// Whether the user has everything and nothing is left to be sent.
  var isComplete: Bool { get }
  /// How things stand, for a finding.
  var complaint: String { get }
  /// What a user does who sees after a while that something failed.
  mutating func tryAgain()
  /// One last thing happens, which must come through as well.
  mutating func happenLast()
  /// The user leaves.
  mutating func leave()
}

extension SimulatedWorld where Self: ~Copyable {
  typealias Seen = Observation<Feature>

  mutating func ended(_ host: HostID) {}
  mutating func stepped(
    _ input: Feature.Input?, _ effects: [Feature.Effect], at time: Instant, of phone: HostID
  ) {}
  mutating func altered(_ input: Feature.Input, of phone: HostID) -> [Feature.Input] { [input] }
  mutating func altered(_ effect: Feature.Effect, of phone: HostID) -> [Feature.Effect] {
    [effect]
  }
  func mayComeTwice(_ question: Feature.Question) -> Bool { true }
  func repeated(
    _ question: Feature.Question, after reply: Feature.Reply, of host: HostID
  ) -> Feature.Question? { nil }
  static func impose(_ act: Act<Feature.Verb>, on conditions: inout Conditions) {}
  mutating func end(_ act: Act<Feature.Verb>, _ index: Int) {}
  mutating func prepare() {}
  mutating func prepareCalm() {}
  func keepsLastWrites(_ host: HostID) -> Bool { true }
  mutating func tear(_ change: Feature.Cue, on host: HostID) {}

  var now: Instant { kernel.now }
}

// The run.
extension SimulatedWorld where Self: ~Copyable {
  /// Plays the plan and the calm after it.
  mutating func play() -> RunOutcome<Feature> {
    playPlan()
    kernel.counts.runs = 1
    return kernel.outcome()
  }

  private mutating func playPlan() {
    for host in kernel.hosts where host.id.kind != .phone { start(host.id) }
    prepare()
    for index in kernel.plan.acts.indices {
      kernel.queue.add(.begins(index), at: Instant.zero.advanced(by: kernel.plan.acts[index].at))
    }
    for phone in kernel.phones { launch(phone) }
    run(until: Instant.zero.advanced(by: kernel.plan.length))
    calm()
    heal()
    kernel.counts.simulated = Instant.zero.duration(to: now)
    for phone in kernel.phones.indices { kernel.bench.views[phone].standing.now = now }
    kernel.bench.conclude()
  }

  /// Lets the world go on to `end`, or until `isDone` says so after something happened.
  ///
  /// - Returns: Whether it was done.
  @discardableResult
  mutating func run(until end: Instant, _ isDone: (borrowing Self) -> Bool = { _ in false })
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

  /// The earliest deadline; of equal ones that of a server, which comes later among the hosts.
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
      if run == kernel.hosts[host.place].run, kernel.hosts[host.place].doom != nil { die(host) }
    case .upgradeArrives(let number): upgradeArrives(number)
    case .up(let number, let packet, let ping): arriveUp(packet, ping: ping, over: number)
    case .hungUp(let number, let code): serverLoses(number, code: code)
    case .down(let number, let down): arriveDown(down, over: number)
    case .breaks(let number, let failure): breaks(number, failure)
    case .echoes(let host, let run, let attempt, let failure):
      if run == kernel.hosts[host.place].run {
        inform(host, of: .lost(attempt, failure))
      }
    case .requestArrives(let number): requestArrives(number)
    case .answerArrives(let arrival, let isCopy): arrive(arrival, isCopy: isCopy)
    case .requestExpires(let number): expire(number)
    case .durable(let host, let number): becomeDurable(number, on: host)
    case .answers(let host, let run, let cue):
      if run == kernel.hosts[host.place].run { answer(cue, to: host) }
    case .cue(let host, let run, let cue):
      if let host, run != kernel.hosts[host.place].run || kernel.hosts[host.place].process == .dead
      {
        return
      }
      take(cue, on: host)
    }
  }

  // What is told.

  /// Notes something that happened, with how things stand right after it.
  ///
  /// - Parameter phone: The phone that it is about; `nil` for the whole world.
  mutating func note(_ seen: Seen, of phone: HostID? = nil) {
    if let phone {
      kernel.stand(phone, isWanted: isWanted(phone))
    } else {
      for phone in kernel.phones { kernel.stand(phone, isWanted: isWanted(phone)) }
    }
    kernel.note(seen, of: phone)
  }

  /// Notes a fact of the feature.
  mutating func note(_ fact: Feature.Fact) { note(.fact(fact)) }
}

// The model on a phone: what reaches it, and what leaves it.
extension SimulatedWorld where Self: ~Copyable {
  /// Tells a model of an event that any link can have, if its process runs.
  mutating func inform(_ phone: HostID, of event: LinkEvent) {
    guard let input = Feature.Model.input(event, at: wall(phone)) else { return }
    give(input, to: phone)
  }

  /// Gives a model an input, if its process runs.
  mutating func give(_ input: Feature.Input, to phone: HostID) {
    guard kernel.hosts[phone.place].isRunning else { return }
    // What it stood at after its last step.
    let current = kernel.bench.views[phone.index].standing.currentAttempt
    let queued = kernel.bench.views[phone.index].standing.queuedAttempt
    let isLate =
      Feature.Model.role(of: input).attempt.map { $0 != current && $0 != queued } ?? false
    guard kernel.setup.defect != nil else { return step(input, isLate: isLate, of: phone) }
    let status = kernel.bench.views[phone.index].standing.status
    let passed = kernel.seams[phone.index].input(input, current: current, status: status)
    guard let passed else { return }
    for real in altered(passed, of: phone) {
      guard kernel.hosts[phone.place].isRunning else { return }
      step(real, isLate: isLate, of: phone)
    }
  }

  private mutating func step(_ input: Feature.Input, isLate: Bool, of phone: HostID) {
    let time = time(phone)
    let asked = clients[phone.index].handle(input, at: time)
    stepped(input, asked, at: time, of: phone)
    let effects = leaving(asked, phone)
    examine(phone)
    carryOut(effects, of: phone, after: input, isLate: isLate)
  }

  mutating func tickModel(_ phone: HostID) {
    let time = time(phone)
    let asked = clients[phone.index].tick(at: time)
    stepped(nil, asked, at: time, of: phone)
    let effects = leaving(asked, phone)
    examine(phone)
    carryOut(effects, of: phone, after: nil, isLate: false)
  }

  /// Reports what the model's last step broke.
  private mutating func examine(_ phone: HostID) {
    let depth = kernel.depthOfCheck()
    kernel.report(clients[phone.index].brokenInvariants(depth))
  }

  /// What of the model's effects really leaves it.
  private mutating func leaving(
    _ effects: [Feature.Effect], _ phone: HostID
  ) -> [Feature.Effect] {
    guard kernel.setup.defect != nil else { return effects }
    return effects.flatMap { altered($0, of: phone) }
  }

  /// Carries effects out, in order, then notes the step, so that checkers see what it set going.
  ///
  /// A process that is doomed to die between two effects does.
  private mutating func carryOut(
    _ effects: [Feature.Effect], of phone: HostID, after input: Feature.Input?, isLate: Bool
  ) {
    kernel.counts.steps += 1
    lookAt(phone)
    let (spared, dies) = spared(effects, of: phone)
    for effect in spared { perform(effect, of: phone) }
    kernel.stand(phone, isWanted: isWanted(phone))
    kernel.noteStep(phone, input, isLate: isLate, effects)
    if dies { die(phone) }
  }

  /// Notes how the model stands.
  mutating func lookAt(_ phone: HostID) {
    let slept = kernel.hosts[phone.place].slept
    let glance = clients[phone.index].glance()
    kernel.bench.views[phone.index].standing.status = glance.status
    kernel.bench.views[phone.index].standing.deadline =
      slept == .zero ? glance.deadline : glance.deadline.map { $0.advanced(by: slept) }
    kernel.bench.views[phone.index].standing.currentAttempt = glance.current
    kernel.bench.views[phone.index].standing.queuedAttempt = glance.queued
    look(phone)
  }
}

// What a world asks of its kernel.
extension SimulatedWorld where Self: ~Copyable {
  // Clocks.

  /// What the wall clock of a host shows. A phone's runs a little wrong.
  func wall(_ host: HostID) -> Timestamp {
    let rate = host.kind == .phone ? kernel.weather.wallDrift : 0
    let drift = rate == 0 ? 0 : Int64(Double(now.nanoseconds) * rate)
    return Timestamp(
      nanoseconds: Kernel<Feature>.wallBase.nanoseconds + now.nanoseconds + drift
    ).advanced(by: kernel.hosts[host.place].wallOffset)
  }

  /// The time that a model is told: it may stand still while its process is suspended.
  func time(_ host: HostID) -> Instant {
    now.advanced(by: .zero - kernel.hosts[host.place].slept)
  }

  // Traffic.

  /// The host whose way to the network another one uses: a phone's system uses that of its phone.
  func carrier(of host: HostID) -> HostID {
    host.kind == .system ? kernel.phones[host.index] : host
  }

  /// Whether nothing passes between a host and the network now.
  func isHole(_ host: HostID) -> Bool {
    let host = carrier(of: host)
    return kernel.hosts[host.place].conditions.isHole
      || now < kernel.hosts[host.place].network.holeUntil
  }

  func line(_ number: TrafficID) -> Int? { kernel.lines.firstIndex { $0.number == number } }

  func line(of host: HostID, _ attempt: AttemptID) -> Int? {
    kernel.lines.firstIndex {
      $0.attempt == attempt && $0.run == kernel.hosts[host.place].run && $0.from == host
    }
  }

  func exchange(_ number: TrafficID) -> Int? { kernel.exchanges.firstIndex { $0.number == number } }

  // Acts.

  /// Whether an act of a verb is under way.
  func isUnderWay(_ verb: Feature.Verb, on host: HostID? = nil) -> Bool {
    kernel.active.contains {
      let act = kernel.plan.acts[$0].act
      return act.verb == .own(verb) && (host == nil || act.host ?? host?.index == host?.index)
    }
  }

  /// The hosts that an act concerns.
  func targets(of act: Act<Feature.Verb>) -> [HostID] {
    let kind = act.kind ?? act.form.host
    return kernel.hosts.map(\.id).filter { $0.kind == kind && act.host ?? $0.index == $0.index }
  }
}

// What a world has in common with most others, unless it says otherwise.
extension SimulatedWorld where Self: ~Copyable {
  /// The first server.
  var server: HostID { kernel.host(.backend) }

  /// What the checkers see of the first phone.
  var own: Feature.State { kernel.own }

  /// The start of chance for a process that begins on a host.
  mutating func newSeed(_ host: HostID) -> UInt64 { kernel.hosts[host.place].chance.next() }

  /// Closes all connections with 1001.
  mutating func drain(_ server: HostID, within time: Duration) {
    for line in kernel.lines where line.serverHolds && line.to == server {
      serverCloses(line.number, code: 1001, reason: "")
    }
    drained(server)
  }

  func deadline(of host: HostID) -> Instant? { nil }
  mutating func tick(_ host: HostID) {}
  mutating func tellApp(_ phone: HostID, isFirst: Bool) {}
  mutating func look(_ phone: HostID) {}
  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {}
  mutating func makeDurable(_ change: Feature.Cue, on host: HostID) -> Feature.Cue? { nil }
  func refusedChange(_ change: Feature.Cue, isFull: Bool) -> Feature.Cue { change }
}

extension SimulatedWorld where Self: ~Copyable, Client: LinkModel {
  /// The user looks at the app and wants the link, as far as the model was told.
  func isWanted(_ phone: HostID) -> Bool {
    kernel.hosts[phone.place].told.lifecycle == .foreground
      && clients[phone.index].link.isWanted
  }
}

// A world without exchanges.
extension SimulatedWorld
where Self: ~Copyable, Feature.Question == Nothing, Feature.Reply == Nothing {
  mutating func requestArrived(_ id: TrafficID, _ question: Nothing, at server: HostID) {}
  func refusal(_ status: Int) -> Nothing { Nothing() }
  func bytes(of nothing: Nothing) -> Int { 0 }
  mutating func answered(
    _ question: Nothing, _ result: Result<Nothing, LinkFailure>, to host: HostID
  ) {}
}

// Calm: nothing goes wrong any more, and everything must become whole.
extension SimulatedWorld where Self: ~Copyable {
  var isComplete: Bool { true }
  var complaint: String {
    kernel.bench.views.map { $0.standing.status.words + Feature.remains($0.standing) }
      .joined(separator: "; ")
  }
  mutating func tryAgain() {}
  mutating func happenLast() {}
  mutating func leave() {}

  mutating func heal() {
    becomeWhole()
    finish()
  }

  /// Waits until everything is whole, and again after one last thing has happened.
  mutating func becomeWhole() {
    var isDone = false
    // The refusal of a try that was under way when calm came may move the limit.
    while !isDone, let limit = kernel.bench.wholeBy, now < limit, !kernel.isAborted {
      isDone = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isComplete }
      if !isDone { tryAgain() }
    }
    guard isDone else { return }  // a checker says so
    happenLast()
    var isShown = run(until: now.advanced(by: .seconds(120))) { $0.isComplete }
    // What was on its way when calm came may end a link that was whole: it has the time of calm.
    if !isShown, let limit = kernel.bench.wholeBy, now < limit, hasLostLink {
      isShown = run(until: limit) { $0.isComplete }
    }
    if !isShown { kernel.find(.unhealed, "the last message was not shown: \(complaint)") }
  }

  private var hasLostLink: Bool {
    kernel.bench.views.contains { $0.standing.status.phase != .connected }
  }

  /// The user leaves; nothing may be left to wait for.
  mutating func finish() {
    leave()
    run(until: now.advanced(by: .seconds(60)))
  }
}

// The plan: what begins, what ends, and what each verb of the kernel does.
extension SimulatedWorld where Self: ~Copyable {
  mutating func begin(_ index: Int) {
    let act = kernel.plan.acts[index].act
    kernel.counts.acts[act.name, default: 0] += 1
    if let span = lasting(act) {
      kernel.active.append(index)
      kernel.add(.ends(index), after: span)
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    note(.began(act))
    cut(before)
    switch act.verb {
    case .common(let verb): begin(verb, act, index)
    case .own(let verb): begin(verb, act, index)
    }
    tellAll()
  }

  mutating func end(_ index: Int) {
    guard let place = kernel.active.firstIndex(of: index) else { return }
    kernel.active.remove(at: place)
    for host in kernel.hosts.indices {
      kernel.hosts[host].suspending.removeAll { $0 == index }
      kernel.hosts[host].dozing.removeAll { $0 == index }
      // Calm does not wait for a drain.
      if kernel.hosts[host].draining == index { stop(kernel.hosts[host].id, for: index) }
      kernel.hosts[host].downs.removeAll { $0 == index }
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    let act = kernel.plan.acts[index].act
    note(.ended(act))
    cut(before)
    end(act, index)
    for host in kernel.hosts where host.id.kind != .phone { start(host.id) }
    for phone in kernel.phones { resume(phone) }
    tellAll()
    for phone in kernel.phones { launchIfPossible(phone) }
  }

  /// How long an act lasts in this run; a handover may leave a moment without any way.
  private mutating func lasting(_ act: Act<Feature.Verb>) -> Duration? {
    guard act.verb == .common(.handover) else { return act.lasting }
    guard kernel.chance.next() % 2 == 0 else { return nil }
    return .milliseconds(200) + kernel.chance.duration(below: .seconds(3))
  }

  /// Projects the acts under way onto the conditions of each host.
  mutating func recompute() {
    for host in kernel.hosts.indices {
      kernel.hosts[host].conditions = Conditions(kernel.weather)
    }
    for index in kernel.active {
      let act = kernel.plan.acts[index].act
      for host in targets(of: act) {
        switch act.verb {
        case .common(let verb): kernel.hosts[host.place].conditions.add(verb, of: act)
        case .own: Self.impose(act, on: &kernel.hosts[host.place].conditions)
        }
      }
    }
  }

  /// What a change of conditions does to connections.
  private mutating func cut(_ before: [Conditions]) {
    for phone in kernel.phones {
      let (old, new) = (before[phone.place], kernel.hosts[phone.place].conditions)
      let isCut = new.isUnreachable && !old.isUnreachable
      let isCaught = new.portal != nil && old.portal == nil
      if isCut || isCaught { loseConnections(of: phone) }
      if old.isHole, !new.isHole {
        let until = kernel.hosts[phone.place].network.holeUntil
        kernel.hosts[phone.place].network.holeUntil = min(until, now)
      }
    }
  }

  private mutating func begin(_ verb: CommonVerb, _ act: Act<Feature.Verb>, _ index: Int) {
    for host in targets(of: act) { begin(verb, act, index, on: host) }
  }

  private mutating func begin(
    _ verb: CommonVerb, _ act: Act<Feature.Verb>, _ index: Int, on host: HostID
  ) {
    switch verb {
    case .suspend:
      if act.span > .seconds(5) { kernel.add(.suspends(index, host), after: .seconds(5)) }
    case .sleep: sleep(host, index)
    case .kill: doom(host)
    case .wallClock, .serverClock: kernel.hosts[host.place].wallOffset += act.time
    case .reset: resetAll(of: host)
    case .flap:
      for line in kernel.lines where line.from == host { reset(line, after: kernel.delay()) }
    case .halfOpen: loseConnections(of: host)
    case .blackHole: swallow(host, for: act.span)
    case .handover:
      kernel.hosts[host.place].network.path += 1
      loseConnections(of: host)
    case .mappingExpired: expireMappings(of: host)
    case .crash: stop(host, for: index)
    case .deploy: deploy(host, index)
    case .close: closeSockets(of: host, act.number)
    case .background, .dialsFail, .unreachable, .captivePortal, .narrow, .waver, .restStatus,
      .upgradeStatus, .busy, .slowStore, .storeFull, .storeLocked, .storeSlow:
      return  // conditions say it all
    }
  }

  private mutating func sleep(_ host: HostID, _ index: Int) {
    if kernel.hosts[host.place].chance.next() % 2 == 0 {
      kernel.hosts[host.place].dozing.append(index)
      kernel.add(.suspends(index, host), after: .milliseconds(500))
    } else {
      suspend(host, for: index)
    }
  }

  private mutating func swallow(_ host: HostID, for span: Duration) {
    let until = max(kernel.hosts[host.place].network.holeUntil, now.advanced(by: span))
    kernel.hosts[host.place].network.holeUntil = until
    // TCP outlives a short hole; what was sent is sent again behind it.
    if span > .seconds(20) {
      for index in kernel.lines.indices where kernel.lines[index].from == host { kill(index) }
    }
    loseRequests(of: host)
  }

  /// Routers forget what was idle for a minute.
  private mutating func expireMappings(of host: HostID) {
    for index in kernel.lines.indices
    where kernel.lines[index].from == host
      && kernel.lines[index].lastUsed.duration(to: now) > .seconds(60)
    {
      kill(index)
    }
    if kernel.hosts[host.place].network.lastRequest.duration(to: now) > .seconds(60) {
      kernel.hosts[host.place].network.poolIsDead = true
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
    if kernel.hosts[server.place].isRunning {
      kernel.hosts[server.place].draining = index
      drain(server, within: .seconds(10))
    } else {
      kernel.hosts[server.place].downs.append(index)
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

  /// All trouble ends.
  mutating func calm() {
    for host in kernel.hosts.indices { kernel.hosts[host].doom = nil }
    for index in kernel.active { end(index) }
    kernel.weather.loss = 0
    kernel.weather.slow = 0
    kernel.weather.twice = 0
    kernel.weather.delay = .milliseconds(25)
    kernel.weather.jitter = .milliseconds(25)
    kernel.weather.bandwidth = 0
    for phone in kernel.phones {
      let until = kernel.hosts[phone.place].network.holeUntil
      kernel.hosts[phone.place].network.holeUntil = min(until, now)
      kernel.hosts[phone.place].network.poolIsDead = false
    }
    prepareCalm()
    recompute()
    for host in kernel.ids where kernel.hosts[host.place].process == .dead {
      if host.kind == .phone { launch(host) } else { start(host) }
    }
    note(.calm)
    tellAll()
    becomeCalm()
  }
}
