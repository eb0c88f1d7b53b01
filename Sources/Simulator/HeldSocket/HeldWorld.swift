import HeldSocket
import LinkCore

/// One phone, its user, and a server of a protocol that is none of ours.
struct HeldWorld: SimulatedWorld, ~Copyable {
  typealias Feature = HeldFeature

  var kernel: Kernel<HeldFeature>
  var clients: [SocketModel]
  private let phoneID: HostID
  private let server: HostID
  /// The lines whose phone has resumed.
  private var listeners: [TrafficID] = []
  private var said = 0

  init(
    _ plan: WorldPlan<HeldFeature>, _ setup: RunSetup<HeldFeature>, watch: RunWatch<HeldFeature>?
  ) {
    kernel = Kernel(plan, setup, hosts: [.phone, .backend], watch: watch)
    phoneID = kernel.host(.phone)
    server = kernel.host(.backend)
    clients = [SocketModel(Self.settings(kernel.policy, at: 0), seed: 0)]
    kernel.bench.views = [
      PhoneView(Standing(policy: setup.policy, status: clients[0].status, own: HeldState()))
    ]
  }

  private static func settings(_ policy: LinkPolicy, at position: Int) -> SocketSettings {
    var settings = SocketSettings(policy: policy)
    settings.awaitsConfirmation = true
    settings.position = Secret("\(position)")
    return settings
  }

  private var state: HeldState {
    get { kernel.bench.views[0].standing.own }
    set { kernel.bench.views[0].standing.own = newValue }
  }

  // Processes.

  mutating func boot(_ host: HostID) {
    listeners = []
    guard host == phoneID else { return }
    clients[0] = SocketModel(
      Self.settings(kernel.policy, at: state.shown), seed: kernel.hosts[host.place].chance.next())
  }

  mutating func drain(_ host: HostID, within time: Duration) {
    for line in kernel.lines where line.serverHolds {
      serverCloses(line.number, code: 1001, reason: "")
    }
    drained(host)
  }

  func deadline(of host: HostID) -> Instant? { nil }
  mutating func tick(_ host: HostID) {}

  // The app.

  mutating func tellApp(_ phone: HostID, isFirst: Bool) {
    if isFirst { give(.start, to: phone) }
  }

  func isWanted(_ phone: HostID) -> Bool {
    kernel.hosts[phone.place].told.lifecycle == .foreground && clients[0].link.isWanted
  }

  mutating func look(_ phone: HostID) {
    state.queued = clients[0].queue.entries.count
    state.handed = clients[0].queue.handed
  }

  mutating func perform(_ effect: SocketModel.Effect, of phone: HostID) {
    switch effect {
    case .open(let attempt): dial(phone, attempt, to: server, hello: HeldHello())
    case .close(let attempt, let code): hangUp(phone, attempt, code: code)
    case .greet(let attempt, _, _): send(phone, attempt, .hello)
    case .resume(let attempt, let position):
      send(phone, attempt, .after(Int(position.text) ?? 0))
    case .send(let attempt, let message):
      send(phone, attempt, .said(message.text.flatMap { Int($0) } ?? 0))
    case .ping(let attempt, let id): send(phone, attempt, ping: id)
    case .refreshCredentials: give(.credentials(.rejected), to: phone)
    case .update(.message(let message)):
      guard let number = message.text.flatMap({ Int($0) }) else { return }
      state.shown = number
      kernel.counts[.shown] += 1
    case .update, .ask, .store, .remove: return
    }
  }

  // Defects.

  mutating func altered(_ effect: SocketModel.Effect, of phone: HostID) -> [SocketModel.Effect] {
    switch (kernel.setup.defect, effect) {
    case (.noGreeting, .greet): return []
    case (.greetsLate, .greet(let attempt, _, _)):
      return [.resume(attempt, after: Secret("\(state.shown)")), effect]
    case (.forgetsPosition, .resume(let attempt, _)):
      return [.resume(attempt, after: Secret("0"))]
    case (.dropsMessages, .update(.message(let message))):
      let number = message.text.flatMap { Int($0) } ?? 1
      return number % 7 == 0 ? [] : [effect]
    case (.sendsTwice, .send): return [effect, effect]
    case (_, _): return [effect]
    }
  }

  // Lines.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: HeldHello, at server: HostID) {
    accept(line, .opened)
  }

  mutating func arrived(
    _ packet: HeldFeature.Packet?, on line: TrafficID, at server: HostID
  ) {
    guard let packet else { return }
    note(.heard(line, packet))
    switch packet {
    case .hello: send(.packet(.welcome), bytes: 60, over: line)
    case .after(let position):
      listeners.append(line)
      for number in (position + 1)..<max(position + 1, state.fed + 1) {
        send(.packet(.numbered(number)), bytes: 100, over: line)
      }
    case .said: kernel.counts[.said] += 1
    case .opened, .welcome, .numbered: return  // a phone says none of them
    }
  }

  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {
    listeners.removeAll { $0 == line }
  }

  func opened(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input {
    .socket(attempt, .opened(subprotocol: nil))
  }

  func received(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input {
    var marks = SocketMarks()
    guard case .numbered(let number) = packet else {
      marks.confirms = packet == .welcome
      return .socket(attempt, .message(.text("welcome"), marks))
    }
    marks.position = Secret("\(number)")
    return .socket(attempt, .message(.text("\(number)"), marks))
  }

  // There are no exchanges and no disks in this world.

  mutating func requestArrived(_ id: TrafficID, _ question: Int, at server: HostID) {}
  func refusal(_ status: Int) -> Int { status }
  func bytes(of question: Int) -> Int { question }
  mutating func answered(
    _ question: Int, _ result: Result<Int, LinkFailure>, to host: HostID
  ) {}
  mutating func makeDurable(_ change: HeldFeature.Cue, on host: HostID) -> HeldFeature.Cue? { nil }
  func refusedChange(_ change: HeldFeature.Cue, isFull: Bool) -> HeldFeature.Cue { change }

  // The plan.

  mutating func take(_ cue: HeldFeature.Cue, on host: HostID?) {
    switch cue {
    case .feeds(let left): feed(left)
    }
  }

  mutating func begin(_ verb: HeldVerb, _ act: Act<HeldVerb>, _ index: Int) {
    switch verb {
    case .feed: feed(act.number)
    case .say:
      said += 1
      give(.send(.text("\(said)")), to: phoneID)
    }
  }

  private mutating func feed(_ count: Int) {
    guard count > 0 else { return }
    state.fed += 1
    kernel.counts[.fed] += 1
    for line in listeners { send(.packet(.numbered(state.fed)), bytes: 100, over: line) }
    kernel.later(.feeds(left: count - 1), after: .milliseconds(200))
  }

  // Calm.

  mutating func becomeCalm() { give(.start, to: phoneID) }

  mutating func heal() {
    let limit = now.advanced(by: kernel.setup.policy.calmLimit)
    var isWhole = false
    while !isWhole, now < limit, !kernel.isAborted {
      isWhole = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isWhole }
      // What was on its way when calm began may still have ended the link.
      if !isWhole { give(.start, to: phoneID) }
    }
    guard isWhole else { return }  // a checker says so
    feed(1)
    if !run(until: now.advanced(by: .seconds(120)), { $0.isWhole }) {
      kernel.find(.unhealed, "the last message was not shown: \(clients[0].link.status.words)")
    }
    give(.stop, to: phoneID)
    run(until: now.advanced(by: .seconds(60)))
  }

  private var isWhole: Bool {
    clients[0].isConnected && state.shown == state.fed
  }
}
