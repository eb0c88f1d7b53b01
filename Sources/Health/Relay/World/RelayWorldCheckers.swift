import HoldfastCore
import HoldfastHealth
public import HoldfastHealthRelay
public import HoldfastLinkChecks
public import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastWorldKernel

/// The checkers of a relay's guarantees that need to know what the backend and the assistants do.
/// They track the calls and the permissions of each assistant.
public struct RelayWorldCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = RelayFeature

  private var found = Findings()
  private var open: [RequestID: (at: Instant, facts: RelayCallFacts)] = [:]
  private var left: Set<RequestID> = []
  /// The permissions of each token.
  private var grants: [String: Grant] = [:]
  /// The logins whose outcome was never received. The backend may have admitted the assistant.
  private var unanswered: [(phone: Int, at: Instant)] = []
  /// For each phone, the last time at which its pairings may have ended.
  private var unpairedAt: [Int: Instant] = [:]
  /// The maximum error of the backend's wall clock.
  private var clockError = Duration.zero
  /// For each phone, the attempts on which the backend sent it a code in this run of the phone.
  private var greeted: [Int: Set<AttemptID>] = [:]
  /// For each phone, the attempt that was reported because the phone was shown as running too
  /// early.
  private var reported: [Int: AttemptID] = [:]
  private var dues = RelayDues()
  private var queues = RelayQueues()
  private var loginChecker = RelayLoginChecker()

  private struct Grant {
    var phone: Int
    /// The time at which the login arrived. The token becomes valid at some time between
    /// `requestedAt` and `since`.
    var requestedAt: Instant
    var since: Instant
    /// Whether the holder is ending the token. Once the end is confirmed, the token must not work.
    var isEnding = false
    var isOver = false
  }

  /// The maximum time, in addition to the deadline, that an answer may spend in transit to and from
  /// the backend. It is the longest store call in plans plus one second; the value is Holdfast's
  /// own.
  private static let slack = Duration.seconds(5)
  /// The maximum difference between a token's expiry and a clock's time. The value is Holdfast's
  /// own.
  private static let clockSlack = Duration.seconds(10)

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: RelayModel.Input?, isLate: Bool, _ effects: [RelayModel.Effect],
    _ phoneState: PhoneState<RelayFeature>
  ) {
    checkRunning(phoneState)
    switch phoneState.own.state {
    // A phone that ended its relay need not answer.
    case .idle, .error, .stopping: dues.trouble(phoneState.own.phone, at: phoneState.now)
    case .starting, .running, .reconnecting: break
    }
  }

  public mutating func handle(
    _ seen: Observation<RelayFeature>, _ phoneState: PhoneState<RelayFeature>
  ) {
    switch seen {
    case .fact(let fact): see(fact, phoneState)
    case .began(let event):
      if let jump = event.serverJump { clockError += jump.magnitude }
      dues.began(event, phoneState.now)
    case .ended(let event): dues.ended(event, phoneState.now)
    case .launched(let host, _): greeted[host.index] = []
    case .received, .ticked, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead,
      .server,
      .calm:
      return
    }
  }

  private mutating func see(_ fact: RelayFact, _ phoneState: PhoneState<RelayFeature>) {
    let now = phoneState.now
    switch fact {
    case .called(let callID, let facts): called(callID, facts, phoneState)
    case .answered(let callID, let outcome): answered(callID, outcome, phoneState)
    case .left(let callID): leave(callID, now)
    case .filed(let callID, let question): checkFiled(callID, question, now)
    case .backendEnded: endBackend(now)
    case .greeted(let phone, let attempt, _): greeted[phone, default: []].insert(attempt)
    case .unpaired(let phone):
      unpairedAt[phone] = now
      queues.unpaired(phone)
    case .stored(let questions, let wall):
      let limit = wall.advanced(by: .zero - .seconds(1) - clockError)
      for question in questions where question.deadline < limit && !isOpen(question) {
        found.add(.kept, at: now, "question \(question.id) is kept after its deadline")
      }
    case .leaked: found.add(.leaked, at: now, "a secret stands in the backend's log")
    case .joined(let phone, let line): queues.joined(phone, over: line, now, &found)
    case .parted(let phone, let line): queues.parted(phone, over: line, now)
    case .sent(let phone, let id, let number, let line):
      queues.sent(phone, id, number, over: line, now, &found)
    case .leased(let phone, let leased):
      queues.leased(phone, leased.questions, for: leased.expiresIn, now, &found)
      dues.hold(phone, until: queues.leased(phone), now)
    case .registered(let phone): queues.registered(phone, now)
    case .pushed(let phone): queues.pushed(phone, now)
    case .pushFailed(let phone): queues.pushFailed(phone, now)
    case .backendStarted, .woken, .slept: return
    }
  }

  private mutating func called(
    _ callID: RequestID, _ facts: RelayCallFacts, _ phoneState: PhoneState<RelayFeature>
  ) {
    open[callID] = (phoneState.now, facts)
    if facts.isLogout, let token = facts.token { grants[token]?.isEnding = true }
    guard facts.question != nil else { return }
    queues.called(callID, facts, isPaired: isPaired(facts), phoneState.now)
    dues.called(callID, facts, phoneState)
  }

  private mutating func leave(_ callID: RequestID, _ now: Instant) {
    left.insert(callID)
    dues.forget(callID)
    guard let (since, facts) = open.removeValue(forKey: callID) else { return }
    checkTime(callID, since, now)
    noteUnanswered(facts, now)
    queues.ended(callID, of: facts.phone, now, &found)
    dues.hold(facts.phone, until: queues.leased(facts.phone), now)
  }

  private mutating func noteUnanswered(_ facts: RelayCallFacts, _ now: Instant) {
    if facts.pair?.isGuess == false { unanswered.append((facts.phone, now)) }
  }

  /// Ends all calls, because waiting assistants lose their connection.
  private mutating func endBackend(_ now: Instant) {
    for (callID, call) in open.sorted(by: { $0.key < $1.key }) {
      checkTime(callID, call.at, now)
      noteUnanswered(call.facts, now)
      dues.forget(callID)
    }
    open = [:]
    queues.backendEnded()
    for phone in 0..<RelayFeature.phones { dues.hold(phone, until: nil, now) }
    loginChecker.backendEnded()
  }

  /// Returns whether an assistant is waiting for a question. A question that is asked again after a
  /// restart has a later deadline, which the store may have failed to write.
  private func isOpen(_ question: StoredQuestion) -> Bool {
    open.values.contains { call in
      call.facts.question == question.question.number
        && call.facts.token.map { TokenHash.of($0) == question.caller } ?? false
    }
  }

  /// Checks that a question is stored with the assistant that asked it.
  private mutating func checkFiled(_ callID: RequestID, _ question: StoredQuestion, _ now: Instant)
  {
    guard let facts = open[callID]?.facts, facts.question == question.question.number,
      let token = facts.token, TokenHash.of(token) != question.caller
    else { return }
    found.add(.wrongAnswer, at: now, "\(callID) is kept as a question of another assistant")
  }

  /// Checks that a phone is shown as running only over a socket on which the backend sent it a
  /// code.
  private mutating func checkRunning(_ phoneState: PhoneState<RelayFeature>) {
    let phone = phoneState.own.phone
    guard phoneState.isAwake, phoneState.status.phase == .connected,
      let attempt = phoneState.currentAttempt, reported[phone] != attempt,
      !(greeted[phone]?.contains(attempt) ?? false)
    else { return }
    reported[phone] = attempt
    found.add(
      .falselyRunning, at: phoneState.now, "phone \(phone) runs, and the backend told it no code")
  }

  private mutating func answered(
    _ callID: RequestID, _ outcome: RelayOutcome, _ phoneState: PhoneState<RelayFeature>
  ) {
    let now = phoneState.now
    guard !left.contains(callID) else {
      return found.add(.afterLeaving, at: now, "\(callID) was told an outcome after it had left")
    }
    guard let (since, facts) = open.removeValue(forKey: callID) else {
      return found.add(.doubled, at: now, "\(callID) was told a second outcome")
    }
    checkTime(callID, since, now)
    queues.ended(callID, of: facts.phone, now, &found)
    dues.hold(facts.phone, until: queues.leased(facts.phone), now)
    dues.answered(
      callID, outcome, isEntitled: isEntitled(facts, phoneState) && isPaired(facts), now, &found)
    loginChecker.answered(facts, outcome, now, &found)
    switch outcome {
    case .loggedIn(let grant):
      grants[grant.accessToken] = Grant(phone: facts.phone, requestedAt: since, since: now)
    case .renewed: break
    case .loggedOut: if let token = facts.token { grants[token]?.isOver = true }
    case .data(let object): check(object, facts, since: since, phoneState)
    case .refused(let reason): check(reason, facts, phoneState)
    }
    let isFit =
      switch outcome {
      case .loggedIn, .renewed, .loggedOut: facts.question == nil
      case .data: facts.question != nil
      case .refused: true
      }
    if !isFit {
      found.add(.wrongAnswer, at: now, "\(callID) received the outcome of another kind of call")
    }
  }

  /// Checks that a call received its outcome within the limit, whatever the outcome is.
  private mutating func checkTime(_ callID: RequestID, _ since: Instant, _ now: Instant) {
    let time = since.duration(to: now)
    guard time > Self.limit else { return }
    found.add(.unanswered, at: now, "\(callID) had no outcome for \(TraceText.length(time))")
  }

  private static var limit: Duration { RelayServerPolicy().callLimit + slack }

  private mutating func check(
    _ object: HealthObject, _ facts: RelayCallFacts, since: Instant,
    _ phoneState: PhoneState<RelayFeature>
  ) {
    guard object.succeeded, let number = facts.question else { return }
    guard let grant = facts.token.flatMap({ grants[$0] }), !grant.isOver else {
      return found.add(
        .wrongAnswer, at: phoneState.now, "data went to an assistant that is not signed in")
    }
    if grant.since.duration(to: since) > life(phoneState) + Self.clockSlack + clockError {
      found.add(
        .wrongAnswer, at: phoneState.now, "data went to an assistant whose token had expired")
    }
    if newer(than: grant, where: { !$0.isEnding }) >= RelayServerPolicy().tokensPerPhone {
      found.add(.wrongAnswer, at: phoneState.now, "data went to one assistant too many")
    }
    let bytes = phoneState.own.answerBytes
    if object != .answer(of: grant.phone, to: number, bytes: bytes) {
      found.add(
        .wrongAnswer, at: phoneState.now,
        "question \(number) to phone \(grant.phone) got another's answer")
    }
  }

  /// Returns the lifetime of the tokens in a run.
  private func life(_ phoneState: PhoneState<RelayFeature>) -> Duration {
    phoneState.own.tokenLife
  }

  /// Returns the number of later grants for the same phone that meet a condition.
  private func newer(than grant: Grant, where isMeant: (Grant) -> Bool = { _ in true }) -> Int {
    grants.values.count { $0.phone == grant.phone && $0.since > grant.since && isMeant($0) }
  }

  /// Returns whether an assistant is certainly signed in and is not logging out.
  private func isEntitled(
    _ facts: RelayCallFacts, _ phoneState: PhoneState<RelayFeature>
  ) -> Bool {
    guard let grant = facts.token.flatMap({ grants[$0] }), !grant.isEnding, !grant.isOver else {
      return false
    }
    let life = life(phoneState) - Self.clockSlack - clockError
    // A login in progress signs out another assistant before the outcome of the login is received.
    let logins =
      open.values.count { $0.facts.pair != nil && $0.facts.phone == grant.phone }
      + unanswered.count { $0.phone == grant.phone && $0.at > grant.since }
    return grant.requestedAt.duration(to: phoneState.now) < life
      && newer(than: grant) + logins < RelayServerPolicy().tokensPerPhone
  }

  /// Returns whether the phone has kept its pairings since the assistant's login began.
  private func isPaired(_ facts: RelayCallFacts) -> Bool {
    guard let grant = facts.token.flatMap({ grants[$0] }) else { return false }
    return unpairedAt[grant.phone].map { $0 < grant.requestedAt } ?? true
  }

  private mutating func check(
    _ reason: RelayRefusal, _ facts: RelayCallFacts, _ phoneState: PhoneState<RelayFeature>
  ) {
    guard facts.question != nil, let grant = facts.token.flatMap({ grants[$0] }) else { return }
    if reason == .cancelled, !grant.isEnding {
      found.add(.dishonest, at: phoneState.now, "a question is cancelled that was not taken back")
    }
    guard isEntitled(facts, phoneState) else { return }
    let now = phoneState.now
    switch reason {
    case .notSignedIn, .tokenExpired, .signedOut:
      found.add(.dishonest, at: now, "\(reason) to an assistant that is signed in")
    case .phoneReplaced, .phoneAway(_, .pairAgain):
      if isPaired(facts) {
        found.add(.dishonest, at: now, "phone \(grant.phone) kept its pairing: \(reason)")
      }
    case .cancelled, .wrongPair, .lockedOut, .phoneAway, .timedOut, .tooManyWaiting, .malformed,
      .answerTooLarge, .storeFailed, .stopping:
      return
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<RelayFeature>) {
    for (callID, call) in open.sorted(by: { $0.key < $1.key }) {
      checkTime(callID, call.at, phoneState.now)
    }
  }
}

extension Duration {
  fileprivate var magnitude: Duration { max(self, .zero - self) }
}
