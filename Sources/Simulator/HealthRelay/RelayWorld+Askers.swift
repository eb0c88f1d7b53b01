import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Assistants: they sign in with what a phone shows, ask, grow impatient, and sign in again.
extension RelayWorld {
  struct Asker {
    let index: Int
    /// Their bearer token.
    var token: String?
    /// Tokens that they gave up without logging out, the oldest first.
    var former: [String] = []
    /// How often they give up their token after a login, and pair again.
    var again = 0
    /// The pair of their last login.
    var pair: HealthRelay.RelayPair?
    /// Their calls that wait.
    var open: [AskID] = []
    /// A sign-in is due, if one is needed.
    var isDue = false
    /// Calm has come, and it had no data since then.
    var isWaiting = false

    /// The phone that shows them its pair; the last two share one.
    var phone: Int { min(index, RelayFeature.phones - 1) }
  }

  mutating func signInSoon(_ index: Int, after wait: Duration) {
    guard !askers[index].isDue else { return }
    askers[index].isDue = true
    kernel.later(.signsIn, on: kernel.host(.client, index), after: wait)
  }

  mutating func signIn(_ host: HostID) {
    askers[host.index].isDue = false
    let asker = askers[host.index]
    guard asker.token == nil, asker.open.isEmpty else { return }
    guard let pair = phones[asker.phone].pair, kernel.hosts[asker.phone].isRunning,
      asker.again == 0 || pair != asker.pair
    else { return signInSoon(host.index, after: .seconds(20)) }
    logIn(host.index, with: pair)
  }

  mutating func logIn(_ index: Int, with pair: HealthRelay.RelayPair) {
    askers[index].pair = pair
    let what = RelayAsk.login(word: pair.word.text, code: pair.code.text)
    call(index, what, token: askers[index].token, patience: .seconds(60))
  }

  mutating func ask(_ index: Int, patience: Duration) {
    guard askers[index].open.isEmpty else { return }
    askAnew(index, token: askers[index].token, patience: patience)
  }

  /// Asks what nobody asked before.
  mutating func askAnew(_ index: Int, token: String?, patience: Duration) {
    lastQuestion += 1
    lastQuestions[askers[index].phone] = lastQuestion
    kernel.counts[.questions] += 1
    call(index, .question(.numbered(lastQuestion)), token: token, patience: patience)
  }

  mutating func logOut(_ index: Int) {
    guard askers[index].open.isEmpty, let token = askers[index].token else { return }
    call(index, .logout, token: token, patience: .seconds(60))
  }

  mutating func call(_ index: Int, _ what: RelayAsk, token: String?, patience: Duration) {
    lastAsk += 1
    askers[index].open.append(AskID(lastAsk))
    ask(
      .ask(AskID(lastAsk), what, token: token), from: kernel.host(.client, index),
      to: server, patience: patience)
  }

  /// An assistant waits no longer.
  mutating func leave(_ index: Int) {
    let asks = askers[index].open
    guard !asks.isEmpty else { return }
    askers[index].open = []
    abandonRequests(of: kernel.host(.client, index))
    for ask in asks { kernel.later(.abandons(ask), after: kernel.delay()) }
    signInSoon(index, after: .seconds(5))
  }

  // At the backend.

  mutating func asked(_ ask: AskID, _ what: RelayAsk, token: String?, _ traffic: TrafficID) {
    guard let place = exchange(traffic) else { return }
    let host = kernel.exchanges[place].from
    // An assistant that left before its question arrived never asked.
    guard askers[host.index].open.contains(ask) else { return }
    backend.asks[ask] = traffic
    take(ask, what, of: facts(what, of: host.index, token: token))
  }

  private func facts(_ what: RelayAsk, of index: Int, token: String?) -> RelayCallFacts {
    var facts = RelayCallFacts(asker: index, token: token)
    switch what {
    case .question(let question):
      facts.question = question.number
      facts.isSound = isSound(kernel.phones[facts.phone])
    case .login(let word, let code, _): facts.pair = RelayGivenPair(text: "\(word) \(code)")
    case .logout: facts.isLogout = true
    }
    return facts
  }

  /// Gives a call to the backend.
  mutating func take(_ ask: AskID, _ what: RelayAsk, of facts: RelayCallFacts) {
    note(.asked(ask, facts))
    if facts.isLogout, let token = facts.token { phones[facts.phone].tokens[token] = nil }
    backend.taking = facts.question == nil ? nil : ask
    feed(
      .ask(
        ask, what, bearer: facts.token.map { TokenHash.of($0) }, from: facts.address,
        wall: wall(server)))
    backend.taking = nil
  }

  /// Whether nothing stands between the backend and a phone, and nothing is delayed between them.
  private func isSound(_ phone: HostID) -> Bool {
    let (host, server) = (kernel.hosts[phone.place], kernel.hosts[server.place])
    guard host.isRunning, host.doom == nil, server.doom == nil, server.draining == nil,
      clients[phone.index].link.status.phase == .connected,
      let attempt = clients[phone.index].link.currentAttempt,
      let index = line(of: phone, attempt)
    else { return false }
    let line = kernel.lines[index]
    let times = [line.downFree, line.upFree, host.network.downFree, host.network.upFree]
    return line.isOpen && line.phoneHolds && line.serverHolds && !line.isDead
      && times.allSatisfy { $0 <= now.advanced(by: .seconds(1)) }
  }

  /// The backend says an outcome.
  mutating func tell(_ ask: AskID, _ outcome: RelayOutcome) {
    note(.told(ask, outcome))
    guard let traffic = backend.asks.removeValue(forKey: ask) else { return }
    if case .loggedIn(let grant) = outcome, let place = exchange(traffic) {
      let phone = askers[kernel.exchanges[place].from.index].phone
      phones[phone].tokens[grant.accessToken] = now.advanced(by: kernel.plan.numbers.tokenLife)
    }
    answer(traffic, .told(outcome))
  }

  /// The backend hears that an assistant has gone.
  mutating func abandon(_ ask: AskID) {
    guard backend.asks.removeValue(forKey: ask) != nil else { return }
    note(.left(ask))
    feed(.abandoned(ask))
  }

  // Back at the assistant.

  mutating func heard(
    _ ask: AskID, token: String?, _ result: Result<RelayFeature.Reply, LinkFailure>, _ index: Int
  ) {
    guard let place = askers[index].open.firstIndex(of: ask) else { return }
    askers[index].open.remove(at: place)
    var wait = Duration.seconds(5)
    switch result {
    case .failure(.timeout): kernel.later(.abandons(ask), after: kernel.delay())
    case .failure, .success(.status), .success(.pulled): break
    case .success(.told(let outcome)):
      take(outcome, token: token, index)
      wait += kernel.chance.duration(below: .seconds(20))
    }
    signInSoon(index, after: wait)
  }

  private mutating func take(_ outcome: RelayOutcome, token: String?, _ index: Int) {
    // What becomes of a former token says nothing about the present one.
    let isPresent = token == askers[index].token
    switch outcome {
    case .loggedIn(let grant):
      askers[index].token = grant.accessToken
      pairAgain(index)
    case .loggedOut: if isPresent { askers[index].token = nil }
    case .data(let object):
      kernel.counts[.answered] += 1
      if object.succeeded { askers[index].isWaiting = false }
    case .refused(let reason):
      kernel.counts[.refused] += 1
      switch reason {
      case .notSignedIn, .tokenExpired, .signedOut, .phoneReplaced, .phoneAway(_, .pairAgain):
        if isPresent { askers[index].token = nil }
      case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting,
        .malformed, .answerTooLarge, .storeFailed, .stopping:
        return
      }
    }
  }

  // Calm.

  mutating func becomeCalm() {
    for index in askers.indices { askers[index].again = 0 }
    for phone in kernel.phones {
      phones[phone.index].told.isOn = true
      start(phone)
    }
  }

  /// Every assistant has data, and every phone runs.
  private var isWhole: Bool {
    askers.allSatisfy { !$0.isWaiting } && clients.allSatisfy { $0.status.state == .running }
  }

  /// Every assistant gets an answer with data; then users stop their relays.
  mutating func heal() {
    for index in askers.indices {
      askers[index].isWaiting = true
      signInSoon(index, after: .seconds(5))
    }
    // An address that gave wrong pairs is locked out for 15 minutes.
    for _ in 0..<50 where !isWhole && !kernel.isAborted {
      for asker in askers where asker.isWaiting && asker.token != nil {
        ask(asker.index, patience: .seconds(60))
      }
      // What was on its way when calm began may still have ended a link.
      for phone in kernel.phones { startAgain(phone) }
      run(until: now.advanced(by: .seconds(30))) { $0.isWhole }
    }
    for asker in askers where asker.isWaiting {
      let state = clients[asker.phone].status.state
      kernel.find(
        .unhealed,
        "assistant \(asker.index) got no data of phone \(asker.phone), which shows \(state)")
    }
    for phone in kernel.phones { leaveForGood(phone) }
    run(until: now.advanced(by: .seconds(60)))
  }
}
