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
    /// What they wait for, one thing at a time.
    var open: AskID?
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
    guard asker.token == nil, asker.open == nil else { return }
    guard let pair = phones[asker.phone].pair, kernel.hosts[asker.phone].isRunning else {
      return signInSoon(host.index, after: .seconds(20))
    }
    call(host.index, .login(word: pair.word.text, code: pair.code.text), patience: .seconds(60))
  }

  mutating func ask(_ index: Int, patience: Duration) {
    guard askers[index].open == nil else { return }
    lastQuestion += 1
    kernel.counts[.questions] += 1
    call(index, .question(.numbered(lastQuestion)), patience: patience)
  }

  mutating func logOut(_ index: Int) {
    guard askers[index].open == nil, askers[index].token != nil else { return }
    call(index, .logout, patience: .seconds(60))
  }

  private mutating func call(_ index: Int, _ what: RelayAsk, patience: Duration) {
    lastAsk += 1
    askers[index].open = AskID(lastAsk)
    ask(
      .ask(AskID(lastAsk), what, token: askers[index].token), from: kernel.host(.client, index),
      to: server, patience: patience)
  }

  /// An assistant waits no longer.
  mutating func leave(_ index: Int) {
    guard let ask = askers[index].open else { return }
    askers[index].open = nil
    abandonRequests(of: kernel.host(.client, index))
    kernel.later(.abandons(ask), after: kernel.delay())
    signInSoon(index, after: .seconds(5))
  }

  // At the backend.

  mutating func asked(_ ask: AskID, _ what: RelayAsk, token: String?, _ traffic: TrafficID) {
    guard let place = exchange(traffic) else { return }
    let host = kernel.exchanges[place].from
    // An assistant that left before its question arrived never asked.
    guard askers[host.index].open == ask else { return }
    backend.asks[ask] = traffic
    var facts = RelayCallFacts(asker: host.index, token: token)
    if case .question(let question) = what { facts.question = question.number }
    facts.isLogout = what == .logout
    note(.asked(ask, facts))
    feed(
      .ask(
        ask, what, bearer: token.map { TokenHash.of($0) }, from: "asker-\(host.index)",
        wall: wall(server)))
  }

  /// The backend says an outcome.
  mutating func tell(_ ask: AskID, _ outcome: RelayOutcome) {
    note(.told(ask, outcome))
    guard let traffic = backend.asks.removeValue(forKey: ask) else { return }
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
    _ ask: AskID, _ result: Result<RelayFeature.Reply, LinkFailure>, _ index: Int
  ) {
    guard askers[index].open == ask else { return }
    askers[index].open = nil
    var wait = Duration.seconds(5)
    switch result {
    case .failure(.timeout): kernel.later(.abandons(ask), after: kernel.delay())
    case .failure, .success(.status), .success(.pulled): break
    case .success(.told(let outcome)):
      take(outcome, index)
      wait += kernel.chance.duration(below: .seconds(20))
    }
    signInSoon(index, after: wait)
  }

  private mutating func take(_ outcome: RelayOutcome, _ index: Int) {
    switch outcome {
    case .loggedIn(let grant): askers[index].token = grant.accessToken
    case .loggedOut: askers[index].token = nil
    case .data(let object):
      kernel.counts[.answered] += 1
      if object.succeeded { askers[index].isWaiting = false }
    case .refused(let reason):
      kernel.counts[.refused] += 1
      switch reason {
      case .notSignedIn, .tokenExpired, .signedOut, .phoneReplaced, .phoneAway(_, .pairAgain):
        askers[index].token = nil
      case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting,
        .malformed, .answerTooLarge, .storeFailed, .stopping:
        return
      }
    }
  }

  // Calm.

  mutating func becomeCalm() {
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
