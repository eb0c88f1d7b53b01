import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastWorldKernel

// The backend: the actual rules, with a store that is a plain value.
extension RelayWorld {
  struct Backend {
    let policy: RelayServerPolicy
    var rules: RelayServer
    /// The state that is stored on disk.
    var durable = StoredRelay()
    /// The time at which the last pending change will be written. Changes are written one after
    /// another.
    var storeFree = Instant.zero
    /// The time at which the store last refused a change.
    var failedAt: Instant?
    /// The exchanges of waiting assistants.
    var calls: [RequestID: TrafficID] = [:]
    /// The phones whose pulls await a response.
    var pulls: [TrafficID: Int] = [:]
    /// The call that is being handled, if it asks a question.
    var taking: RequestID?
    /// The sample of logged outcomes.
    var logged = LogSample()

    init(policy: RelayServerPolicy) {
      self.policy = policy
      rules = RelayServer(policy: policy, life: "a", at: .zero)
    }
  }

  mutating func bootBackend() {
    let run = kernel.hosts[server.slot].run
    backend.rules = RelayServer(policy: backend.policy, life: "life\(run)", at: now)
    backend.storeFree = now
    note(.backendStarted)
    feed(.restored(seam.restored(backend.durable), wall: wall(server)))
  }

  mutating func endBackend() {
    backend.calls = [:]
    backend.pulls = [:]
    note(.backendEnded)
    // The backend loses changes that the store refused until the end. It also cannot recognize a
    // phone without a device ID.
    let limit = backend.policy.storeRetry + .seconds(5)
    let isBehind = backend.failedAt.map { $0.duration(to: now) < limit } ?? false
    for phone in phones where phone.isPlain || isBehind { unpair(phone.index) }
  }

  mutating func feed(_ input: RelayServer.Input) {
    guard kernel.hosts[server.slot].isRunning else { return }
    for real in seam.toBackend(input) {
      let effects = backend.rules.handle(real, at: now)
      kernel.examine(&backend.rules)
      perform(effects)
    }
  }

  /// Carries out effects in order. A process with a pending kill may die between two effects.
  mutating func perform(_ effects: [RelayServer.Effect]) {
    let (spared, dies) = spared(effects, of: server)
    for effect in spared where kernel.hosts[server.slot].isRunning {
      for real in seam.fromBackend(effect) { perform(real) }
    }
    if dies { die(server) }
  }

  private mutating func perform(_ effect: RelayServer.Effect) {
    switch effect {
    case .accept(let id): accept(id.number, .opened)
    case .refuse(let id, let answer):
      refuse(
        id.number, status: answer.status, retryAfter: answer.retryAfter, detail: "refused")
    case .send(let id, let message): send(message, over: id.number)
    case .ping(let id): send(.ping, bytes: 60, over: id.number)
    case .close(let id, let closure):
      serverCloses(id.number, code: closure.code, reason: closure.reason)
    case .drop(let id):
      send(.failed(.reset), bytes: 60, over: id.number)
      kernel.add(.hungUp(id.number, code: 1006), after: .zero)
    case .answer(let callID, let outcome):
      // Describing an effect takes longer than sending an answer, and only grants contain secrets.
      if backend.logged.takesNext() || outcome.isGrant { checkLog("\(effect)") }
      deliver(callID, outcome)
    case .respond(let request, let reply): respond(request.number, reply)
    case .drawToken(let drawToken): draw(drawToken)
    case .store(let token, let changes): store(token, changes)
    case .push(let id, let address, _): push(id, address)
    case .readSynced: break  // No phone of this world names a user of health sync.
    case .finished: drained(server)
    }
  }

  private mutating func respond(_ pull: TrafficID, _ reply: RelayReply) {
    if let phone = backend.pulls.removeValue(forKey: pull) {
      switch reply {
      case .leased(let leased): if !leased.questions.isEmpty { note(.leased(phone: phone, leased)) }
      case .registered:
        phones[phone].hasPush = true
        note(.registered(phone: phone))
      case .taken, .refused, .assistants, .synced: break
      }
    }
    answer(pull, .pulled(reply))
  }

  /// Checks that a log line of the backend contains no secret.
  private mutating func checkLog(_ text: String) {
    if kernel.checkers.views[0].phoneState.secrets.appear(in: text) { note(.leaked(text)) }
  }

  private mutating func draw(_ drawToken: RelayServer.TokenRequest) {
    let secret = newSecret("token")
    // The pair consists of letters and digits that no text contains by chance.
    let pair = HoldfastRelayServer.RelayPair(code: "k\(lastSecret)q", word: "zq\(lastSecret)x")
    for text in [secret, pair.code, pair.word] { hide(text) }
    if case .phone(let id) = drawToken, let line = line(id.number) {
      let phone = kernel.lines[line].from.index
      if phones[phone].isStranger || phones[phone].isPlain { unpair(phone) }
    }
    let drawn = RelaySecret(text: secret, hash: .of(secret))
    let tokenDrawn: RelayServer.DrawnToken =
      switch drawToken {
      case .phone(let id):
        .phone(id, PhoneID(UUID128(high: 0xF, low: UInt64(lastSecret))), drawn, pair)
      case .pair(let id): .pair(id, pair)
      case .access(let callID), .grant(let callID): .access(callID, drawn)
      }
    kernel.later(.tokenDrawn(tokenDrawn), on: server, after: .zero)
  }

  private mutating func push(_ id: PhoneID, _ address: PushAddress) {
    guard case .hook(let text) = address, let phone = Int(text) else { return }
    kernel.counts[.pushes] += 1
    note(.pushed(phone: phone))
    let generator = kernel.generator.next()
    if generator % 8 > 0 {
      let wait = Duration.milliseconds(200) + kernel.generator.duration(below: .seconds(5))
      kernel.later(.wakes(phone: phone), after: wait)
    }
    let outcome: PushOutcome = generator % 8 == 1 ? .failed(cause: "no answer") : .delivered
    kernel.later(.pushed(id, to: address, outcome), on: server, after: kernel.roundTrip())
  }

  /// Handles the result from the push service.
  mutating func pushed(_ id: PhoneID, to address: PushAddress, _ outcome: PushOutcome) {
    if case .failed = outcome, case .hook(let text) = address, let phone = Int(text) {
      note(.pushFailed(phone: phone))
    }
    feed(.pushed(id, to: address, outcome))
  }

  // The store.

  private mutating func store(_ token: StoreToken, _ changes: [RelayChange]) {
    if let callID = backend.taking {
      for case .question(let question) in changes { note(.filed(callID, question)) }
    }
    let conditions = kernel.hosts[server.slot].conditions
    var delay = max(kernel.plan.numbers.storeDelay, conditions.storeDelay)
    switch conditions.disk {
    case .works: break
    case .slow: delay = max(delay, diskDelay(server))
    case .full, .locked: backend.failedAt = now
    }
    backend.storeFree = max(backend.storeFree, now).advanced(by: delay)
    write(.changes(token, changes), on: server, after: now.duration(to: backend.storeFree))
  }

  mutating func makeDurable(
    _ change: RelayFeature.ScheduledEvent, on host: HostID
  ) -> RelayFeature.ScheduledEvent? {
    guard case .changes(let token, let changes) = change else { return nil }
    for change in changes { backend.durable.apply(change) }
    return .stored(token, nil)
  }

  func refusedChange(_ change: RelayFeature.ScheduledEvent, isFull: Bool)
    -> RelayFeature.ScheduledEvent
  {
    guard case .changes(let token, _) = change else { return change }
    return .stored(
      token, isFull ? .full(detail: "no space left") : .locked(detail: "another process has it"))
  }

  // Lines.

  mutating func upgradeArrived(
    _ line: TrafficID, _ hello: RelayFeature.Hello, at server: HostID
  ) {
    guard let index = self.line(line) else { return }
    let phone = kernel.lines[index].from.index
    let arrival = RelayServer.Arrival(
      device: phones[phone].device, resume: hello.resume.map { TokenHash.of($0) },
      address: "phone-\(phone)")
    feed(.phoneOpened(ConnectionID(line), arrival, wall: wall(server)))
  }

  mutating func arrived(
    _ packet: RelayFeature.Packet?, on line: TrafficID, at server: HostID
  ) {
    guard let index = self.line(line) else { return }
    phones[kernel.lines[index].from.index].lastHere = now
    feed(.received(ConnectionID(line)))
    if case .up(let message) = packet { feed(.phoneSaid(ConnectionID(line), message)) }
  }

  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {
    if let index = self.line(line) {
      let phone = kernel.lines[index].from.index
      if phones[phone].isPlain { unpair(phone) }
      note(.parted(phone: phone, over: line))
    }
    feed(.phoneGone(ConnectionID(line), code: code, wall: wall(server)))
  }

  private mutating func send(_ message: BackendMessage, over number: TrafficID) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    if case .connectionCode(let code) = message {
      checkLog("\(message)")
      if line.run == kernel.hosts[line.from.slot].run {
        note(.greeted(phone: line.from.index, line.attempt, isResumed: code.resumed))
      }
      if !code.resumed { phones[line.from.index].isStranger = false }
      note(.joined(phone: line.from.index, over: number))
    }
    if case .question(let id, let question) = message {
      note(.sent(phone: line.from.index, id, question: question.number, over: number))
    }
    send(
      .packet(.down(RelayModel.Message(message), phone: line.from.index)),
      bytes: message.bytes.count, over: number)
  }

  mutating func sendStrange(_ kind: String) {
    for line in kernel.lines where line.serverHolds && line.isOpen {
      let text = kind == "malformed" ? #"{"type":"# : #"{"type":"news"}"#
      let down = RelayFeature.Packet.down(Self.read(text), phone: line.from.index)
      send(
        kind == "oversized" ? .oversized(bytes: 70_000) : .packet(down), bytes: 100,
        over: line.number)
    }
  }

  /// Returns a message as decoded by a phone's effect handler.
  private static func read(_ text: String) -> RelayModel.Message {
    do throws(RelayWireError) {
      return RelayModel.Message(try BackendMessage.read(Array(text.utf8)))
    } catch {
      return .malformed(error)
    }
  }

  func opened(_ attempt: AttemptID, _ packet: RelayFeature.Packet) -> RelayModel.Input {
    .opened(attempt)
  }

  mutating func received(
    _ attempt: AttemptID, _ packet: RelayFeature.Packet
  ) -> RelayModel.Input {
    guard case .down(let message, let phone) = packet else { return .opened(attempt) }
    if clients[phone].link.currentAttempt == attempt { phones[phone].lastMessage = now }
    return .message(attempt, message)
  }

  // Exchanges.

  mutating func requestArrived(
    _ id: TrafficID, _ question: RelayFeature.Question, at server: HostID
  ) {
    switch question {
    case .ask(let callID, let what, let token): callArrived(callID, what, token: token, id)
    case .pull(let pull, let resume, _, _):
      backend.pulls[id] = exchange(id).map { kernel.exchanges[$0].from.index }
      feed(
        .pull(
          RequestID(id), pull, bearer: resume.map { TokenHash.of($0) }, wall: wall(server)))
    }
  }

  mutating func answered(
    _ question: RelayFeature.Question, _ result: Result<RelayFeature.Reply, LinkFailure>,
    to host: HostID
  ) {
    switch question {
    case .ask(let callID, _, let token): callEnded(callID, token: token, result, host.index)
    case .pull(_, _, let pull, let step): pulled(pull, step, result, to: host)
    }
  }

  func refusal(_ status: Int) -> RelayFeature.Reply { .status(status) }

  func bytes(of question: RelayFeature.Question) -> Int {
    if case .pull(.result(let result), _, _, _) = question { result.bytes.count + 300 } else { 400 }
  }

  func bytes(of reply: RelayFeature.Reply) -> Int {
    if case .outcome(.data(let object)) = reply { object.bytes.count + 300 } else { 400 }
  }
}

extension RelayOutcome {
  fileprivate var isGrant: Bool { if case .loggedIn = self { true } else { false } }
}

// Assistants: they log in with a phone's pair, ask questions, give up waiting, and log in again.
extension RelayWorld {
  struct Assistant {
    let index: Int
    /// The bearer token.
    var token: String?
    /// The tokens that were discarded without logging out, oldest first.
    var former: [String] = []
    /// The number of further times that the assistant discards its token after a login and pairs
    /// again.
    var again = 0
    /// The pair of the last login.
    var pair: HoldfastHealthRelay.RelayPair?
    /// The calls that await an outcome.
    var open: [RequestID] = []
    /// Whether a login is scheduled in case it is needed.
    var isDue = false
    /// Whether the assistant has received no data since the start of the calm phase.
    var isWaiting = false

    /// The index of the phone whose pair the assistant uses. The last two assistants share a phone.
    var phone: Int { min(index, RelayFeature.phones - 1) }
  }

  mutating func signInSoon(_ index: Int, after wait: Duration) {
    guard !assistants[index].isDue else { return }
    assistants[index].isDue = true
    kernel.later(.signsIn, on: kernel.host(.client, index), after: wait)
  }

  mutating func signIn(_ host: HostID) {
    assistants[host.index].isDue = false
    let assistant = assistants[host.index]
    guard assistant.token == nil, assistant.open.isEmpty else { return }
    guard let pair = phones[assistant.phone].pair, kernel.hosts[assistant.phone].isRunning,
      assistant.again == 0 || pair != assistant.pair
    else { return signInSoon(host.index, after: .seconds(20)) }
    logIn(host.index, with: pair)
  }

  mutating func logIn(_ index: Int, with pair: HoldfastHealthRelay.RelayPair) {
    assistants[index].pair = pair
    let what = RelayCall.login(word: pair.word.text, code: pair.code.text)
    call(index, what, token: assistants[index].token, timeLimit: .seconds(60))
  }

  mutating func ask(_ index: Int, timeLimit: Duration) {
    guard assistants[index].open.isEmpty else { return }
    askAnew(index, token: assistants[index].token, timeLimit: timeLimit)
  }

  /// Asks a question that has not been asked before.
  mutating func askAnew(_ index: Int, token: String?, timeLimit: Duration) {
    lastQuestion += 1
    lastQuestions[assistants[index].phone] = lastQuestion
    kernel.counts[.questions] += 1
    call(index, .question(.numbered(lastQuestion)), token: token, timeLimit: timeLimit)
  }

  mutating func logOut(_ index: Int) {
    guard assistants[index].open.isEmpty, let token = assistants[index].token else { return }
    call(index, .logout, token: token, timeLimit: .seconds(60))
  }

  mutating func call(_ index: Int, _ what: RelayCall, token: String?, timeLimit: Duration) {
    lastCall += 1
    assistants[index].open.append(RequestID(lastCall))
    ask(
      .ask(RequestID(lastCall), what, token: token), from: kernel.host(.client, index),
      to: server, timeLimit: timeLimit)
  }

  /// Makes an assistant stop waiting for its calls.
  mutating func leave(_ index: Int) {
    let asks = assistants[index].open
    guard !asks.isEmpty else { return }
    assistants[index].open = []
    abandonRequests(of: kernel.host(.client, index))
    for callID in asks { kernel.later(.abandons(callID), after: kernel.delay()) }
    signInSoon(index, after: .seconds(5))
  }

  // Arrival at the backend.

  mutating func callArrived(
    _ callID: RequestID, _ what: RelayCall, token: String?, _ traffic: TrafficID
  ) {
    guard let index = exchange(traffic) else { return }
    let host = kernel.exchanges[index].from
    // A question has no effect if its assistant left before the question arrived.
    guard assistants[host.index].open.contains(callID) else { return }
    backend.calls[callID] = traffic
    take(callID, what, of: facts(what, of: host.index, token: token))
  }

  private func facts(_ what: RelayCall, of index: Int, token: String?) -> RelayCallFacts {
    var facts = RelayCallFacts(assistant: index, token: token)
    switch what {
    case .question(let question):
      facts.question = question.number
      facts.isSound = isSound(kernel.phones[facts.phone])
    case .login(let word, let code, _), .grant(let word, let code, _):
      facts.pair = RelayGivenPair(text: "\(word) \(code)")
    case .renew: break
    case .logout: facts.isLogout = true
    }
    return facts
  }

  /// Passes a call to the backend.
  mutating func take(_ callID: RequestID, _ what: RelayCall, of facts: RelayCallFacts) {
    note(.called(callID, facts))
    if facts.isLogout, let token = facts.token { phones[facts.phone].tokens[token] = nil }
    backend.taking = facts.question == nil ? nil : callID
    feed(
      .call(
        callID, what, bearer: facts.token.map { TokenHash.of($0) }, from: facts.address,
        wall: wall(server)))
    backend.taking = nil
  }

  /// Returns whether the backend and a phone are connected, with nothing delayed between them.
  private func isSound(_ phone: HostID) -> Bool {
    let (host, server) = (kernel.hosts[phone.slot], kernel.hosts[server.slot])
    guard host.isRunning, host.pendingKill == nil, server.pendingKill == nil,
      server.draining == nil,
      clients[phone.index].link.status.phase == .connected,
      let attempt = clients[phone.index].link.currentAttempt,
      let index = line(of: phone, attempt)
    else { return false }
    let line = kernel.lines[index]
    let times = [line.downFree, line.upFree, host.network.downFree, host.network.upFree]
    return line.isOpen && line.phoneHolds && line.serverHolds && !line.isDead
      && times.allSatisfy { $0 <= now.advanced(by: .seconds(1)) }
  }

  /// Sends an outcome from the backend.
  mutating func deliver(_ callID: RequestID, _ outcome: RelayOutcome) {
    note(.answered(callID, outcome))
    guard let traffic = backend.calls.removeValue(forKey: callID) else { return }
    if case .loggedIn(let grant) = outcome, let index = exchange(traffic) {
      let phone = assistants[kernel.exchanges[index].from.index].phone
      phones[phone].tokens[grant.accessToken] = now.advanced(by: kernel.plan.numbers.tokenLife)
    }
    answer(traffic, .outcome(outcome))
  }

  /// Reports to the backend that an assistant left.
  mutating func abandon(_ callID: RequestID) {
    guard backend.calls.removeValue(forKey: callID) != nil else { return }
    note(.left(callID))
    feed(.abandoned(callID))
  }

  // Return to the assistant.

  mutating func callEnded(
    _ callID: RequestID, token: String?, _ result: Result<RelayFeature.Reply, LinkFailure>,
    _ index: Int
  ) {
    guard let open = assistants[index].open.firstIndex(of: callID) else { return }
    assistants[index].open.remove(at: open)
    var wait = Duration.seconds(5)
    switch result {
    case .failure(.timeout): kernel.later(.abandons(callID), after: kernel.delay())
    case .failure, .success(.status), .success(.pulled): break
    case .success(.outcome(let outcome)):
      take(outcome, token: token, index)
      wait += kernel.generator.duration(below: .seconds(20))
    }
    signInSoon(index, after: wait)
  }

  private mutating func take(_ outcome: RelayOutcome, token: String?, _ index: Int) {
    // The outcome for a former token does not affect the current token.
    let isPresent = token == assistants[index].token
    switch outcome {
    case .loggedIn(let grant):
      assistants[index].token = grant.accessToken
      pairAgain(index)
    case .renewed: break
    case .loggedOut: if isPresent { assistants[index].token = nil }
    case .data(let object):
      kernel.counts[.answered] += 1
      if object.succeeded { assistants[index].isWaiting = false }
    case .refused(let reason):
      kernel.counts[.refused] += 1
      switch reason {
      case .notSignedIn, .tokenExpired, .signedOut, .phoneReplaced, .phoneAway(_, .pairAgain):
        if isPresent { assistants[index].token = nil }
      case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting,
        .malformed, .answerTooLarge, .storeFailed, .stopping:
        return
      }
    }
  }

  // Calm.

  mutating func becomeCalm() {
    for index in assistants.indices { assistants[index].again = 0 }
    for phone in kernel.phones {
      phones[phone.index].reported.isOn = true
      start(phone)
    }
  }

  /// Whether every assistant has data and every phone's relay is running.
  private var isWhole: Bool {
    assistants.allSatisfy { !$0.isWaiting } && clients.allSatisfy { $0.status.state == .running }
  }

  /// Waits until every assistant has received data. Then the users stop their relays.
  mutating func heal() {
    for index in assistants.indices {
      assistants[index].isWaiting = true
      signInSoon(index, after: .seconds(5))
    }
    // An address that sent wrong pairs is locked out for 15 minutes.
    for _ in 0..<50 where !isWhole && !kernel.isAborted {
      for assistant in assistants where assistant.isWaiting && assistant.token != nil {
        ask(assistant.index, timeLimit: .seconds(60))
      }
      // Traffic that was in transit when the calm phase began may have ended a link.
      for phone in kernel.phones { startAgain(phone) }
      run(until: now.advanced(by: .seconds(30))) { $0.isWhole }
    }
    for assistant in assistants where assistant.isWaiting {
      let state = clients[assistant.phone].status.state
      kernel.find(
        .unhealed,
        "assistant \(assistant.index) got no data of phone \(assistant.phone), which shows \(state)"
      )
    }
    for phone in kernel.phones { leaveForGood(phone) }
    run(until: now.advanced(by: .seconds(60)))
  }
}
