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
