import HealthRelay
import LinkCore
import LinkServerCore
import LinkWire

/// Phones, a backend with its store, and assistants.
struct RelayWorld: SimulatedWorld, ~Copyable {
  typealias Feature = RelayFeature

  var kernel: Kernel<RelayFeature>
  var clients: [RelayModel]
  var seam: RelaySeam
  var phones: [Phone]
  var askers: [Asker]
  var backend: Backend
  let server: HostID
  var lastQuestion = 0
  /// The question that each phone was asked last.
  var lastQuestions: [Int: Int] = [:]
  var lastAsk: UInt64 = 0
  var lastGuess = 0
  /// Secrets are numbered; those of phones and assistants differ.
  var lastSecret = 0

  init(
    _ plan: WorldPlan<RelayFeature>, _ setup: RunSetup<RelayFeature>,
    watch: RunWatch<RelayFeature>?
  ) {
    kernel = Kernel(plan, setup, watch: watch)
    server = kernel.host(.backend)
    let seam = RelaySeam(setup.defect)
    self.seam = seam
    var rules = RelayServerPolicy()
    rules.tokenLife = plan.numbers.tokenLife
    backend = Backend(policy: seam.policy(rules))
    askers = (0..<RelayFeature.askers).map { Asker(index: $0) }
    let (policy, numbers) = (kernel.policy, plan.numbers)
    let turn = plan.turn
    phones = kernel.phones.map { Phone($0.index, numbers, policy) }
    clients = phones.map { RelayModel(settings: $0.settings, seed: 0) }
    kernel.bench.views = clients.indices.map { index in
      var state = RelayState()
      state.phone = index
      state.numbers = numbers
      state.turn = turn
      state.hasNotification = phones[index].settings.hasNotification
      let meant = Phone.settings(of: index, numbers, setup.policy).policy
      return PhoneView(
        Standing(policy: meant, status: clients[index].link.status, own: state))
    }
  }

  // Processes.

  mutating func boot(_ host: HostID) {
    switch host.kind {
    case .phone: bootPhone(host)
    case .backend: bootBackend()
    case .client: signInSoon(host.index, after: .seconds(5 + Int64(host.index)))
    case .peripheral, .system: return
    }
  }

  mutating func ended(_ host: HostID) {
    if host == server { endBackend() } else { endPhone(host) }
  }

  mutating func drain(_ server: HostID, within time: Duration) { feed(.drain(within: time)) }

  func deadline(of host: HostID) -> Instant? {
    switch host.kind {
    case .phone:
      kernel.hosts[host.place].process == .dead ? nil : phones[host.index].pull?.deadline
    case .backend: kernel.hosts[host.place].isRunning ? backend.rules.deadline : nil
    case .client, .peripheral, .system: nil
    }
  }

  mutating func tick(_ host: HostID) {
    if host == server {
      let effects = backend.rules.tick(at: now)
      kernel.examine(&backend.rules)
      perform(effects)
    } else {
      let now = now
      let effects = phones[host.index].pull?.tick(at: now) ?? []
      examinePull(host)
      carryOutPull(host, effects)
    }
  }

  // Defects.

  mutating func altered(_ input: RelayModel.Input, of phone: HostID) -> [RelayModel.Input] {
    seam.toPhone(input)
  }

  mutating func altered(_ effect: RelayModel.Effect, of phone: HostID) -> [RelayModel.Effect] {
    seam.fromPhone(effect)
  }

  // Cues.

  mutating func take(_ cue: RelayFeature.Cue, on host: HostID?) {
    switch cue {
    case .input(let input): if let host { give(input, to: host) }
    case .read(let work, let id, let question, let inParts):
      if let host { finishReading(host, work, id, question, inParts: inParts) }
    case .pullRead(let pull, let step, let leased):
      if let host { finishPullReading(host, pull, step, leased) }
    case .wakes(let phone): wake(kernel.phones[phone])
    case .looksAtPhone: if let host { startAgain(host) }
    case .signsIn: if let host { signIn(host) }
    case .abandons(let ask): abandon(ask)
    case .minted(let minted): feed(.minted(minted))
    case .pushed(let id, let address, let outcome): pushed(id, to: address, outcome)
    case .stored(let token, let failure): feed(.stored(token, failure: failure))
    case .changes: return  // becomes durable instead
    case .looks: look()
    }
  }

  /// Looks at what no event shows.
  private mutating func look() {
    // A change that failed is written again after a time.
    let isSettled = backend.failedAt.map { $0.duration(to: now) > .seconds(20) } ?? true
    let server = kernel.hosts[server.place]
    if server.isRunning, server.writing.isEmpty, server.calls == 0, isSettled,
      !backend.kept.questions.isEmpty
    {
      note(.kept(backend.kept.questions, wall: wall(self.server)))
    }
    // A phone that is away for longer than the grace may have to be paired again; a backend that
    // restarts takes the time from its wall clock.
    let jumps = kernel.plan.acts.filter { $0.act.verb == .common(.serverClock) }.map(\.act.time)
    let slack = jumps.reduce(.seconds(20)) { $0 + max($1, .zero - $1) }
    for index in phones.indices {
      let isAway = phones[index].lastHere.duration(to: now) > backend.policy.grace - slack
      let end = phones[index].hasPush ? phones[index].tokens.values.max() : nil
      if isAway, end.map({ now.duration(to: $0) < slack }) ?? true { unpair(index) }
    }
    kernel.later(.looks, after: .seconds(10))
  }

  // Acts.

  mutating func begin(_ verb: RelayVerb, _ act: Act<RelayVerb>, _ index: Int) {
    switch verb {
    case .asks: for host in targets(of: act) { ask(host.index, patience: act.time) }
    case .leaves: for host in targets(of: act) { leave(host.index) }
    case .logsOut: for host in targets(of: act) { logOut(host.index) }
    case .asksMore, .repeats, .logsOutAtOnce, .triesOldPair, .pairsAgain:
      for host in targets(of: act) { beginOddity(verb, act, host.index) }
    case .guesses: for _ in 0..<act.number { guess() }
    case .unsent:
      for host in targets(of: act) {
        guard let attempt = clients[host.index].link.currentAttempt else { continue }
        give(.unsent(attempt), to: host)
      }
    case .strangeMessage: sendStrange(act.word)
    case .stop, .slowReading: return  // looked up when they matter
    }
  }

  mutating func prepare() { kernel.later(.looks, after: .seconds(10)) }

  /// The next secret of a kind, as text that stands nowhere by chance.
  mutating func newSecret(_ kind: String) -> String {
    lastSecret += 1
    return "\(kind)-\(1_000_000 + lastSecret)-k7Qz"
  }

  /// Makes a text a secret that no phone may show.
  mutating func hide(_ secret: String) {
    for phone in kernel.bench.views.indices {
      kernel.bench.views[phone].standing.secrets.insert(secret)
    }
  }
}
