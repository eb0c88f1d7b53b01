import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastWorldKernel

/// A world with phones, a backend with its store, and assistants.
struct RelayWorld: SimulatedWorld, ~Copyable {
  typealias Feature = RelayFeature

  var kernel: Kernel<RelayFeature>
  var clients: [RelayModel]
  var seam: RelaySeam
  var phones: [Phone]
  var assistants: [Assistant]
  var backend: Backend
  let server: HostID
  var lastQuestion = 0
  /// The number of the last question that each phone received.
  var lastQuestions: [Int: Int] = [:]
  var lastCall: UInt64 = 0
  var lastGuess = 0
  /// The number of the last secret. Phones and assistants have different secrets.
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
    assistants = (0..<RelayFeature.assistants).map { Assistant(index: $0) }
    let (policy, numbers) = (kernel.policy, plan.numbers)
    let turn = plan.turn
    phones = kernel.phones.map { Phone($0.index, numbers, policy) }
    clients = phones.map { RelayModel(settings: $0.settings, seed: 0) }
    kernel.checkers.views = clients.indices.map { index in
      var state = RelayState()
      state.phone = index
      (state.tokenLife, state.answerBytes) = (numbers.tokenLife, numbers.answerBytes)
      state.turn = turn
      state.hasNotification = phones[index].settings.hasNotification
      let meant = Phone.settings(of: index, numbers, setup.policy).policy
      return PhoneView(
        PhoneState(policy: meant, status: clients[index].link.status, own: state))
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
      kernel.hosts[host.slot].process == .dead ? nil : phones[host.index].pull?.deadline
    case .backend: kernel.hosts[host.slot].isRunning ? backend.rules.deadline : nil
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

  // Scheduled events.

  mutating func take(_ scheduled: RelayFeature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .input(let input): if let host { give(input, to: host) }
    case .read(let work, let id, let question, let inParts):
      if let host { finishReading(host, work, id, question, inParts: inParts) }
    case .pullRead(let pull, let step, let leased):
      if let host { finishPullReading(host, pull, step, leased) }
    case .wakes(let phone): wake(kernel.phones[phone])
    case .looksAtPhone: if let host { startAgain(host) }
    case .signsIn: if let host { signIn(host) }
    case .abandons(let callID): abandon(callID)
    case .tokenDrawn(let tokenDrawn): feed(.tokenDrawn(tokenDrawn))
    case .pushed(let id, let address, let outcome): pushed(id, to: address, outcome)
    case .stored(let token, let failure): feed(.stored(token, failure: failure))
    case .changes: return  // `makeDurable` handles these.
    case .looks: look()
    }
  }

  /// Checks the parts of the state that no event reveals.
  private mutating func look() {
    // A change that the store refused is written again after some time.
    let isStable = backend.failedAt.map { $0.duration(to: now) > .seconds(20) } ?? true
    let server = kernel.hosts[server.slot]
    if server.isRunning, server.writing.isEmpty, server.calls == 0, isStable,
      !backend.durable.questions.isEmpty
    {
      note(.stored(backend.durable.questions, wall: wall(self.server)))
    }
    // A phone that is away for longer than the grace period may have to pair again. After a
    // restart, the backend measures the time with its wall clock.
    let jumps = kernel.plan.events.filter { $0.event.eventKind == .common(.serverClock) }.map(
      \.event.time)
    let slack = jumps.reduce(.seconds(20)) { $0 + max($1, .zero - $1) }
    for index in phones.indices {
      let isAway = phones[index].lastHere.duration(to: now) > backend.policy.grace - slack
      let end = phones[index].hasPush ? phones[index].tokens.values.max() : nil
      if isAway, end.map({ now.duration(to: $0) < slack }) ?? true { unpair(index) }
    }
    kernel.later(.looks, after: .seconds(10))
  }

  // Planned events.

  mutating func begin(
    _ eventKind: RelayEventKind, _ event: PlannedEvent<RelayEventKind>, _ index: Int
  ) {
    switch eventKind {
    case .asks: for host in targets(of: event) { ask(host.index, timeLimit: event.time) }
    case .leaves: for host in targets(of: event) { leave(host.index) }
    case .logsOut: for host in targets(of: event) { logOut(host.index) }
    case .asksMore, .repeats, .logsOutAtOnce, .triesOldPair, .pairsAgain:
      for host in targets(of: event) { beginOddity(eventKind, event, host.index) }
    case .guesses: for _ in 0..<event.number { guess() }
    case .unsent:
      for host in targets(of: event) {
        guard let attempt = clients[host.index].link.currentAttempt else { continue }
        give(.unsent(attempt), to: host)
      }
    case .strangeMessage: sendStrange(event.choice)
    case .stop, .slowReading: return  // These are looked up where they have an effect.
    }
  }

  mutating func prepare() { kernel.later(.looks, after: .seconds(10)) }

  /// Returns the next secret of a kind: a text that does not occur by chance.
  mutating func newSecret(_ kind: String) -> String {
    lastSecret += 1
    return "\(kind)-\(1_000_000 + lastSecret)-k7Qz"
  }

  /// Registers a text as a secret that no phone may show.
  mutating func hide(_ secret: String) {
    for phone in kernel.checkers.views.indices {
      kernel.checkers.views[phone].phoneState.secrets.insert(secret)
    }
  }
}

// The phones: their users, their health data, and their effect handlers.
extension RelayWorld {
  /// A phone, its user, and the memory of its app.
  struct Phone {
    let index: Int
    /// The settings of the phone's model.
    let settings: RelaySettings
    /// Whether the phone has no device ID. No backend recognizes such a phone.
    let isPlain: Bool
    var reported = Reported()
    /// Whether a rule of the policy has ended the relay. Only the user can start it again.
    var isOver = false
    /// The time of the backend's last message, or of the user's last start if that was later.
    var lastMessage = Instant.zero
    /// Whether the next code that the phone receives belongs to a new phone.
    var isStranger = true
    /// The answers that were read and have not been discarded.
    var answers: [WorkID: [PhoneMessage]] = [:]
    /// The pair that is shown to the user, who can pass it to an assistant.
    var pair: HoldfastHealthRelay.RelayPair?
    /// The token with which the phone resumes.
    var resume: String?
    /// Whether the backend has confirmed the phone's push address. Its pairings then last as long
    /// as a token.
    var hasPush = false
    /// The times at which the tokens of the phone's assistants expire.
    var tokens: [String: Instant] = [:]
    var pull: PullModel?
    /// The number of the current pull.
    var pullRun = 0
    var pullAnswers: [StepID: [PhoneMessage]] = [:]
    /// The time at which the backend last received bytes from the phone. Pairings survive an
    /// absence up to the grace period.
    var lastHere = Instant.zero

    /// The state that was reported to the model in this run.
    struct Reported {
      var isOn = false
      var isInFront = true
    }

    init(_ index: Int, _ numbers: RelayNumbers, _ policy: LinkPolicy) {
      self.index = index
      isPlain = numbers.plain >> index & 1 == 1
      settings = Self.settings(of: index, numbers, policy)
    }

    static func settings(
      of index: Int, _ numbers: RelayNumbers, _ policy: LinkPolicy
    ) -> RelaySettings {
      let isService = numbers.services >> index & 1 == 1
      return RelaySettings(
        policy: isService ? policy : policy.withoutService, hasNotification: isService)
    }

    var device: UUID128? { isPlain ? nil : UUID128(high: 0xD, low: UInt64(index)) }

    /// Whether the relay ends when the app enters the background.
    var leavesInBackground: Bool {
      if case .leave = settings.policy.gate.background { true } else { false }
    }
  }

  /// The maximum size of each message in a multipart answer, in bytes.
  private static var frame: Int { 2_000 }

  // The process.

  mutating func bootPhone(_ host: HostID) {
    phones[host.index].reported = Phone.Reported()
    let seed = kernel.hosts[host.slot].generator.next()
    clients[host.index] = RelayModel(settings: phones[host.index].settings, seed: seed)
  }

  /// Discards a phone's memory, including its token. When the phone is launched again, it is a new
  /// phone.
  mutating func endPhone(_ host: HostID) {
    let index = host.index
    phones[index].answers = [:]
    phones[index].pair = nil
    phones[index].resume = nil
    phones[index].pull = nil
    unpair(index)
  }

  /// Records that the pairings of a phone may have ended.
  mutating func unpair(_ index: Int) {
    note(.unpaired(phone: index))
    phones[index].isStranger = true
    phones[index].hasPush = false
    phones[index].tokens = [:]
  }

  mutating func look(_ host: HostID) {
    kernel.checkers.views[host.index].phoneState.own.held = phones[host.index].answers.count
    kernel.checkers.views[host.index].phoneState.own.look(clients[host.index])
    if let resume = clients[host.index].resume { phones[host.index].resume = resume.text }
  }

  // The user.

  mutating func reportAppState(_ host: HostID, isFirst: Bool) {
    let isInFront = lifecycle(of: host) == .foreground
    if isInFront, !phones[host.index].reported.isInFront {
      kernel.later(.looksAtPhone, on: host, after: .seconds(3))
    }
    phones[host.index].reported.isInFront = isInFront
    let isOn = !isUnderWay(.stop, on: host)
    guard phones[host.index].reported.isOn != isOn else { return }
    phones[host.index].reported.isOn = isOn
    if isOn { start(host) } else { stop(host) }
  }

  mutating func start(_ host: HostID) {
    phones[host.index].isOver = isInBackground(host) && phones[host.index].leavesInBackground
    // A second start has no effect.
    switch clients[host.index].status.state {
    case .idle, .error, .stopping: phones[host.index].lastMessage = now
    case .starting, .running, .reconnecting: break
    }
    give(.start, to: host)
  }

  private mutating func stop(_ host: HostID) {
    unpair(host.index)
    phones[host.index].resume = nil
    give(.stop, to: host)
  }

  /// Makes the user stop the relay permanently.
  mutating func leaveForGood(_ host: HostID) {
    phones[host.index].reported.isOn = false
    stop(host)
  }

  /// Makes the user start a stopped relay, if the app is in the foreground.
  mutating func startAgain(_ host: HostID) {
    guard phones[host.index].reported.isOn, !isInBackground(host) else { return }
    guard kernel.hosts[host.slot].isRunning else {
      return kernel.later(.looksAtPhone, on: host, after: .seconds(20))
    }
    switch clients[host.index].status.state {
    case .idle, .error: start(host)
    case .starting, .running, .reconnecting, .stopping: return
    }
  }

  /// Returns whether the model has been notified that the app is in the background.
  private func isInBackground(_ host: HostID) -> Bool {
    kernel.hosts[host.slot].reported.lifecycle == .background
  }

  func isWanted(_ host: HostID) -> Bool {
    phones[host.index].reported.isOn && !phones[host.index].isOver
  }

  // Effects.

  mutating func perform(_ effect: RelayModel.Effect, of host: HostID) {
    switch effect {
    case .open(let attempt, let resume):
      dial(host, attempt, to: server, hello: RelayFeature.Hello(resume: resume?.text))
    case .close(let attempt, let reason):
      hangUp(host, attempt, code: reason.closeCode)
      kernel.answerLater(.input(.closed(attempt)), to: host, after: kernel.roundTrip())
    case .ping(let attempt, let id): send(host, attempt, ping: id)
    case .read(let work, let id, let question, let inParts):
      let read = seam.read(question)
      kernel.answerLater(
        .read(work, id, read, inParts: inParts), to: host, after: readingTime(host))
    case .send(let attempt, let work, let part):
      let messages = phones[host.index].answers[work] ?? []
      if messages.indices.contains(part) { send(messages[part], on: attempt, of: host) }
    case .discard(let work): phones[host.index].answers[work] = nil
    case .fail(let work, let id, let kind, let reason):
      phones[host.index].answers[work] = [.answer(kind, id, .failure(reason))]
    case .refuse(let attempt, let id, let kind, let reason):
      var message = PhoneMessage.failure(id, reason: reason)
      if let id, let kind { message = .answer(kind, id, .failure(reason)) }
      send(message, on: attempt, of: host)
    case .notify, .unnotify: return
    case .update(let update): show(update, of: host)
    }
    kernel.checkers.views[host.index].phoneState.own.held = phones[host.index].answers.count
    kernel.checkers.views[host.index].phoneState.own.look(clients[host.index])
  }

  private mutating func send(
    _ message: PhoneMessage, on attempt: AttemptID, of host: HostID
  ) {
    send(host, attempt, .up(message), bytes: message.bytes.count)
  }

  private mutating func show(_ update: RelayUpdate, of host: HostID) {
    switch update {
    case .status(let status):
      switch status.state {
      case .running:
        registerPush(host)
        givePull(host, .cancel)
      case .idle, .error:
        phones[host.index].pair = nil
        phones[host.index].isOver = mayEnd(host)
        let wait = kernel.hosts[host.slot].generator.duration(below: .seconds(60))
        kernel.later(.looksAtPhone, on: host, after: .seconds(20) + wait)
      case .starting, .reconnecting, .stopping: return
      }
    case .pair(let pair): phones[host.index].pair = pair
    case .assistant, .ended, .problem: return
    }
  }

  /// Returns whether a rule of the policy currently permits a relay to end without the user.
  private func mayEnd(_ host: HostID) -> Bool {
    let phone = phones[host.index]
    if isInBackground(host), phone.leavesInBackground { return true }
    guard let idle = phone.settings.policy.liveness.idle else { return false }
    return phone.lastMessage.duration(to: now) >= idle.after
  }

  // Health data.

  mutating func readingTime(_ host: HostID) -> Duration {
    if isUnderWay(.slowReading, on: host) {
      return .seconds(1) + kernel.hosts[host.slot].generator.duration(below: .seconds(60))
    }
    if kernel.hosts[host.slot].conditions.disk == .slow { return diskDelay(host) }
    return kernel.hosts[host.slot].generator.duration(below: kernel.plan.numbers.reading)
  }

  mutating func finishReading(
    _ host: HostID, _ work: WorkID, _ id: RelayRequestID, _ question: HealthQuestion, inParts: Bool
  ) {
    let messages = read(host, id, question, inParts: inParts)
    phones[host.index].answers[work] = messages
    let content: RelayModel.Prepared.Content =
      isLocked(host)
      ? .unreadable(reason: "the device is locked") : .points(1, isTruncated: false)
    give(.prepared(work, .init(parts: messages.count, content: content)), to: host)
  }

  /// Returns a phone's answer to a question as a list of messages.
  func read(
    _ host: HostID, _ id: RelayRequestID, _ question: HealthQuestion, inParts: Bool
  ) -> [PhoneMessage] {
    let bytes = kernel.plan.numbers.answerBytes
    let object =
      isLocked(host)
      ? HealthObject.failure("the device is locked")
      : .answer(of: host.index, to: question.number, bytes: bytes)
    return PhoneMessage.frames(
      answering: question.kind, id, object, atMost: inParts ? Self.frame : .max)
  }

  private func isLocked(_ host: HostID) -> Bool {
    kernel.hosts[host.slot].conditions.disk == .locked
  }
}

// A phone without a socket. A push wakes it; it fetches its questions, answers them, and sleeps
// again.
extension RelayWorld {
  /// Handles the arrival of a push.
  mutating func wake(_ host: HostID) {
    let phone = phones[host.index]
    let isConnected =
      kernel.hosts[host.slot].isRunning && clients[host.index].status.state == .running
    let conditions = kernel.hosts[host.slot].conditions
    guard !isConnected, phone.pull == nil, phone.resume != nil,
      kernel.hosts[host.slot].process != .dead, !conditions.isUnreachable,
      conditions.portal == nil
    else { return }
    kernel.counts[.pulls] += 1
    note(.woken(phone: host.index))
    var pull = PullModel()
    let effects = pull.handle(.begin, at: now)
    phones[host.index].pull = pull
    phones[host.index].pullRun += 1
    phones[host.index].pullAnswers = [:]
    examinePull(host)
    carryOutPull(host, effects)
  }

  /// Registers the phone's push address with the backend once the relay is running.
  mutating func registerPush(_ host: HostID) {
    guard kernel.plan.numbers.push == 1, phones[host.index].resume != nil else { return }
    request(host, .push(.hook("\(host.index)")), step: nil, within: .seconds(8))
  }

  mutating func givePull(_ host: HostID, _ input: PullModel.Input) {
    let now = now
    let effects = phones[host.index].pull?.handle(input, at: now) ?? []
    examinePull(host)
    carryOutPull(host, effects)
  }

  /// Reports the invariants that the last step of a pull broke.
  mutating func examinePull(_ host: HostID) {
    let depth = kernel.depthOfCheck()
    kernel.report(phones[host.index].pull?.brokenInvariants(depth) ?? [])
  }

  mutating func carryOutPull(_ host: HostID, _ effects: [PullModel.Effect]) {
    for effect in effects {
      switch effect {
      case .lease(let step, let max, let time):
        request(host, .lease(LeaseRequest(max: max)), step: step, within: time)
      case .read(let step, let leased):
        let scheduled = RelayFeature.ScheduledEvent.pullRead(
          pull: phones[host.index].pullRun, step, leased)
        kernel.later(scheduled, on: host, after: readingTime(host))
      case .discard(let step): phones[host.index].pullAnswers[step] = nil
      case .post(let step, let work, let part, let lease, let time):
        let messages = phones[host.index].pullAnswers[work] ?? []
        guard messages.indices.contains(part) else { continue }
        let result = LeasedResult(lease: lease, message: messages[part])
        request(host, .result(result), step: step, within: time)
      case .refuse(let step, let result, let time):
        request(host, .result(result), step: step, within: time)
      case .finish(let report):
        note(.slept(phone: host.index, report))
        phones[host.index].pull = nil
      }
    }
  }

  private mutating func request(
    _ host: HostID, _ pull: RelayPull, step: StepID?, within time: Duration
  ) {
    let phone = phones[host.index]
    ask(
      .pull(pull, resume: phone.resume, pull: phone.pullRun, step), from: host, to: server,
      timeLimit: time)
  }

  /// Handles the result of a pull's request.
  mutating func pulled(
    _ pull: Int, _ step: StepID?, _ result: Result<RelayFeature.Reply, LinkFailure>,
    to host: HostID
  ) {
    guard let step, pull == phones[host.index].pullRun else { return }
    let input: PullModel.Input =
      switch result {
      case .failure(let failure): .failed(step, failure)
      case .success(.pulled(.leased(let questions))): .leased(step, questions)
      case .success(.pulled(.taken)), .success(.pulled(.registered)): .posted(step)
      case .success(.pulled(.refused(let reason))): .failed(step, Self.failure(reason.status))
      case .success(.status(let status)): .failed(step, Self.failure(status))
      case .success(.outcome), .success(.pulled(.assistants)), .success(.pulled(.synced)):
        .failed(step, .protocolError(detail: "no answer to a pull"))
      }
    givePull(host, input)
  }

  private static func failure(_ status: Int) -> LinkFailure {
    .http(status: status, retryAfter: nil, detail: "refused")
  }

  mutating func finishPullReading(
    _ host: HostID, _ pull: Int, _ step: StepID, _ leased: LeasedQuestion
  ) {
    guard pull == phones[host.index].pullRun, phones[host.index].pull != nil else { return }
    let messages = read(host, leased.id, leased.question, inParts: true)
    phones[host.index].pullAnswers[step] = messages
    givePull(host, .prepared(step, parts: messages.count))
  }
}

// Actions of assistants and strangers that correct clients perform rarely or never.
extension RelayWorld {
  mutating func beginOddity(
    _ eventKind: RelayEventKind, _ event: PlannedEvent<RelayEventKind>, _ index: Int
  ) {
    switch eventKind {
    case .asksMore: askMore(index, timeLimit: event.time)
    case .repeats: askAgain(index, timeLimit: event.time)
    case .logsOutAtOnce:
      guard let token = assistants[index].token else { return }
      call(index, .logout, token: token, timeLimit: .seconds(60))
    case .triesOldPair:
      guard assistants[index].open.isEmpty, let pair = assistants[index].pair else { return }
      logIn(index, with: pair)
    case .pairsAgain:
      assistants[index].again += event.number
      guard assistants[index].open.isEmpty else { return }
      pairAgain(index)
      signInSoon(index, after: .seconds(5))
    case .asks, .leaves, .logsOut, .stop, .slowReading, .unsent, .strangeMessage, .guesses: return
    }
  }

  /// The maximum number of calls for which an assistant waits.
  private static var mostCalls: Int { 4 }

  private mutating func askMore(_ index: Int, timeLimit: Duration) {
    guard assistants[index].open.count < Self.mostCalls else { return }
    askAnew(index, token: assistants[index].token, timeLimit: timeLimit)
  }

  private mutating func askAgain(_ index: Int, timeLimit: Duration) {
    guard assistants[index].open.count < Self.mostCalls,
      let question = lastQuestions[assistants[index].phone]
    else { return }
    kernel.counts[.questions] += 1
    call(
      index, .question(.numbered(question)), token: assistants[index].token, timeLimit: timeLimit)
  }

  /// Discards the assistant's token if it must pair again. After the last time, the assistant asks
  /// a question with its first token.
  mutating func pairAgain(_ index: Int) {
    guard let token = assistants[index].token else { return }
    if assistants[index].again > 0 {
      assistants[index].again -= 1
      assistants[index].former.append(token)
      assistants[index].token = nil
    } else if let first = assistants[index].former.first {
      assistants[index].former = []
      askAnew(index, token: first, timeLimit: .seconds(60))
    }
  }

  /// Makes a stranger log in with a phone's word and an invalid code, from one of four addresses.
  mutating func guess() {
    guard kernel.hosts[server.slot].isRunning else { return }
    lastGuess += 1
    lastCall += 1
    let word = phones[lastGuess % phones.count].pair?.word.text ?? "anchor"
    let code = "x\(lastGuess)"
    var facts = RelayCallFacts(assistant: RelayFeature.assistants + lastGuess % 4)
    facts.pair = RelayGivenPair(text: "\(word) \(code)", isGuess: true)
    take(RequestID(lastCall), .login(word: word, code: code), of: facts)
  }
}

extension WorldPlan<RelayFeature> {
  /// The maximum time that a question takes with an idle phone: the read, and each message in both
  /// directions.
  var turn: Duration {
    // With loss, a message is delayed by up to 3.2 s.
    let way =
      networkConditions.delay + networkConditions.jitter
      + (networkConditions.loss > 0 ? .milliseconds(3_200) : .zero)
    let parts = numbers.answerBytes / 1_900 + 2
    let bytes = Int64(numbers.answerBytes + 4_000) * 2
    let time =
      networkConditions.bandwidth > 0
      ? Duration.nanoseconds(bytes * 1_000_000_000 / networkConditions.bandwidth) : .zero
    return numbers.reading + way * (2 * parts) + time + .seconds(1)
  }
}
