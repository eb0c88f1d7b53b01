public import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkStorage
import LinkWire

/// The checkers of a relay's own promises: they know what each assistant asked and may know.
public struct RelayCheckers: FeatureCheckers {
  /// The feature that they check.
  public typealias Feature = RelayFeature

  private var found = Findings()
  private var open: [RequestID: (at: Instant, facts: RelayCallFacts)] = [:]
  private var left: Set<RequestID> = []
  /// What each token lets its holder ask.
  private var grants: [String: Grant] = [:]
  /// Logins whose outcome was never told: the backend may have let an assistant in all the same.
  private var untold: [(phone: Int, at: Instant)] = []
  /// When the pairings of a phone last may have ended.
  private var unpairedAt: [Int: Instant] = [:]
  /// How far the backend's wall clock may be wrong.
  private var clockError = Duration.zero
  /// The attempts on which the backend told a phone its code, in this run of the phone.
  private var greeted: [Int: Set<AttemptID>] = [:]
  /// The attempt that was found to run too early.
  private var reported: [Int: AttemptID] = [:]
  /// What each phone promises alone, in this run of it.
  private var phones: [Int: RelayPhoneChecker] = [:]
  private var dues = RelayDues()
  private var lines = RelayLines()
  private var door = RelayDoor()

  private struct Grant {
    var phone: Int
    /// Its login arrived; the token counts from some time between this and `since`.
    var askedAt: Instant
    var since: Instant
    /// Its holder wants to end it; nothing may be asked with it once that is confirmed.
    var isEnding = false
    var isOver = false
  }

  /// The most that an answer may take on its way in and out of the backend, beside the deadline;
  /// ours: the longest call of a store in plans, and one second.
  private static let slack = Duration.seconds(5)
  /// How far the end of a token may be from what a clock shows; ours.
  private static let clockSlack = Duration.seconds(10)

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: RelayModel.Input?, isLate: Bool, _ effects: [RelayModel.Effect],
    _ standing: Standing<RelayFeature>
  ) {
    checkRunning(standing)
    switch standing.own.state {
    // A phone that ended by itself owes nothing.
    case .idle, .error, .stopping: dues.trouble(standing.own.phone, at: standing.now)
    case .starting, .running, .reconnecting: break
    }
    phones[standing.own.phone, default: RelayPhoneChecker()]
      .stepped(input, effects, standing, &found)
  }

  public mutating func met(
    _ seen: Observation<RelayFeature>, _ standing: Standing<RelayFeature>
  ) {
    switch seen {
    case .fact(let fact): see(fact, standing)
    case .began(let act):
      if act.verb == .common(.serverClock) { clockError += act.time.magnitude }
      dues.began(act, standing.now)
    case .ended(let act): dues.ended(act, standing.now)
    case .launched(let host, _):
      greeted[host.index] = []
      phones[host.index] = nil
    case .told, .ticked, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .calm:
      return
    }
  }

  private mutating func see(_ fact: RelayFact, _ standing: Standing<RelayFeature>) {
    let now = standing.now
    switch fact {
    case .asked(let ask, let facts): asked(ask, facts, standing)
    case .told(let ask, let outcome): told(ask, outcome, standing)
    case .left(let ask): leave(ask, now)
    case .filed(let ask, let kept): checkFiled(ask, kept, now)
    case .backendEnded: endBackend(now)
    case .greeted(let phone, let attempt, _): greeted[phone, default: []].insert(attempt)
    case .unpaired(let phone):
      unpairedAt[phone] = now
      lines.unpaired(phone)
    case .kept(let questions, let wall):
      let limit = wall.advanced(by: .zero - .seconds(1) - clockError)
      for kept in questions where kept.deadline < limit && !isOpen(kept) {
        found.add(.kept, at: now, "question \(kept.id) is kept after its deadline")
      }
    case .leaked: found.add(.leaked, at: now, "a secret stands in the backend's log")
    case .joined(let phone, let line): lines.joined(phone, over: line, now, &found)
    case .parted(let phone, let line): lines.parted(phone, over: line, now)
    case .sent(let phone, let id, let number, let line):
      lines.sent(phone, id, number, over: line, now, &found)
    case .leased(let phone, let leased):
      lines.leased(phone, leased.questions, for: leased.expiresIn, now, &found)
      dues.hold(phone, until: lines.leased(phone), now)
    case .registered(let phone): lines.registered(phone, now)
    case .pushed(let phone): lines.pushed(phone, now)
    case .pushFailed(let phone): lines.pushFailed(phone, now)
    case .backendStarted, .woken, .slept: return
    }
  }

  private mutating func asked(
    _ ask: RequestID, _ facts: RelayCallFacts, _ standing: Standing<RelayFeature>
  ) {
    open[ask] = (standing.now, facts)
    if facts.isLogout, let token = facts.token { grants[token]?.isEnding = true }
    guard facts.question != nil else { return }
    lines.asked(ask, facts, isPaired: isPaired(facts), standing.now)
    dues.asked(ask, facts, standing)
  }

  private mutating func leave(_ ask: RequestID, _ now: Instant) {
    left.insert(ask)
    dues.forget(ask)
    guard let (since, facts) = open.removeValue(forKey: ask) else { return }
    checkTime(ask, since, now)
    noteUntold(facts, now)
    lines.ended(ask, of: facts.phone, now, &found)
    dues.hold(facts.phone, until: lines.leased(facts.phone), now)
  }

  private mutating func noteUntold(_ facts: RelayCallFacts, _ now: Instant) {
    if facts.pair?.isGuess == false { untold.append((facts.phone, now)) }
  }

  /// Waiting assistants hear that the connection broke.
  private mutating func endBackend(_ now: Instant) {
    for (ask, call) in open.sorted(by: { $0.key < $1.key }) {
      checkTime(ask, call.at, now)
      noteUntold(call.facts, now)
      dues.forget(ask)
    }
    open = [:]
    lines.backendEnded()
    for phone in 0..<RelayFeature.phones { dues.hold(phone, until: nil, now) }
    door.backendEnded()
  }

  /// Whether an assistant waits for a question: asked again after a restart it has a later
  /// deadline, which the store may have failed to keep.
  private func isOpen(_ kept: StoredQuestion) -> Bool {
    open.values.contains { call in
      call.facts.question == kept.question.number
        && call.facts.token.map { TokenHash.of($0) == kept.asker } ?? false
    }
  }

  /// A question is kept as that of the assistant that asks it.
  private mutating func checkFiled(_ ask: RequestID, _ kept: StoredQuestion, _ now: Instant) {
    guard let facts = open[ask]?.facts, facts.question == kept.question.number,
      let token = facts.token, TokenHash.of(token) != kept.asker
    else { return }
    found.add(.wrongAnswer, at: now, "\(ask) is kept as a question of another assistant")
  }

  /// A phone runs only over a socket on which the backend told it a code.
  private mutating func checkRunning(_ standing: Standing<RelayFeature>) {
    let phone = standing.own.phone
    guard standing.isAwake, standing.status.phase == .connected,
      let attempt = standing.currentAttempt, reported[phone] != attempt,
      !(greeted[phone]?.contains(attempt) ?? false)
    else { return }
    reported[phone] = attempt
    found.add(
      .falselyRunning, at: standing.now, "phone \(phone) runs, and the backend told it no code")
  }

  private mutating func told(
    _ ask: RequestID, _ outcome: RelayOutcome, _ standing: Standing<RelayFeature>
  ) {
    let now = standing.now
    guard !left.contains(ask) else {
      return found.add(.afterLeaving, at: now, "\(ask) was told an outcome after it had left")
    }
    guard let (since, facts) = open.removeValue(forKey: ask) else {
      return found.add(.doubled, at: now, "\(ask) was told a second outcome")
    }
    checkTime(ask, since, now)
    lines.ended(ask, of: facts.phone, now, &found)
    dues.hold(facts.phone, until: lines.leased(facts.phone), now)
    dues.told(ask, outcome, isEntitled: isEntitled(facts, standing) && isPaired(facts), now, &found)
    door.told(facts, outcome, now, &found)
    switch outcome {
    case .loggedIn(let grant):
      grants[grant.accessToken] = Grant(phone: facts.phone, askedAt: since, since: now)
    case .loggedOut: if let token = facts.token { grants[token]?.isOver = true }
    case .data(let object): check(object, facts, since: since, standing)
    case .refused(let reason): check(reason, facts, standing)
    }
    let isFit =
      switch outcome {
      case .loggedIn, .loggedOut: facts.question == nil
      case .data: facts.question != nil
      case .refused: true
      }
    if !isFit { found.add(.wrongAnswer, at: now, "\(ask) asked no such thing") }
  }

  /// A call has its outcome within the limit, whatever ended it.
  private mutating func checkTime(_ ask: RequestID, _ since: Instant, _ now: Instant) {
    let time = since.duration(to: now)
    guard time > Self.limit else { return }
    found.add(.unanswered, at: now, "\(ask) had no outcome for \(Words.length(time))")
  }

  private static var limit: Duration { RelayServerPolicy().callLimit + slack }

  private mutating func check(
    _ object: HealthObject, _ facts: RelayCallFacts, since: Instant,
    _ standing: Standing<RelayFeature>
  ) {
    guard object.succeeded, let number = facts.question else { return }
    guard let grant = facts.token.flatMap({ grants[$0] }), !grant.isOver else {
      return found.add(
        .wrongAnswer, at: standing.now, "data went to an assistant that is not signed in")
    }
    if grant.since.duration(to: since) > life(standing) + Self.clockSlack + clockError {
      found.add(.wrongAnswer, at: standing.now, "data went to an assistant whose token had expired")
    }
    if newer(than: grant, where: { !$0.isEnding }) >= RelayServerPolicy().tokensPerPhone {
      found.add(.wrongAnswer, at: standing.now, "data went to one assistant too many")
    }
    let bytes = standing.own.numbers.answerBytes
    if object != .answer(of: grant.phone, to: number, bytes: bytes) {
      found.add(
        .wrongAnswer, at: standing.now,
        "question \(number) to phone \(grant.phone) got another's answer")
    }
  }

  /// How long the tokens of a run are good.
  private func life(_ standing: Standing<RelayFeature>) -> Duration {
    standing.own.numbers.tokenLife
  }

  /// How many accesses to the same phone were given out later.
  private func newer(than grant: Grant, where isMeant: (Grant) -> Bool = { _ in true }) -> Int {
    grants.values.count { $0.phone == grant.phone && $0.since > grant.since && isMeant($0) }
  }

  /// Whether an assistant is signed in for certain, and has not begun to end that.
  private func isEntitled(
    _ facts: RelayCallFacts, _ standing: Standing<RelayFeature>
  ) -> Bool {
    guard let grant = facts.token.flatMap({ grants[$0] }), !grant.isEnding, !grant.isOver else {
      return false
    }
    let life = life(standing) - Self.clockSlack - clockError
    // A login under way signs another assistant out before it is told.
    let logins =
      open.values.count { $0.facts.pair != nil && $0.facts.phone == grant.phone }
      + untold.count { $0.phone == grant.phone && $0.at > grant.since }
    return grant.askedAt.duration(to: standing.now) < life
      && newer(than: grant) + logins < RelayServerPolicy().tokensPerPhone
  }

  /// Whether the phone has not ended its pairings since the assistant began to log in.
  private func isPaired(_ facts: RelayCallFacts) -> Bool {
    guard let grant = facts.token.flatMap({ grants[$0] }) else { return false }
    return unpairedAt[grant.phone].map { $0 < grant.askedAt } ?? true
  }

  private mutating func check(
    _ reason: RelayRefusal, _ facts: RelayCallFacts, _ standing: Standing<RelayFeature>
  ) {
    guard facts.question != nil, let grant = facts.token.flatMap({ grants[$0] }) else { return }
    if reason == .cancelled, !grant.isEnding {
      found.add(.dishonest, at: standing.now, "a question is cancelled that was not taken back")
    }
    guard isEntitled(facts, standing) else { return }
    let now = standing.now
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

  public mutating func conclude(_ standing: Standing<RelayFeature>) {
    for (ask, call) in open.sorted(by: { $0.key < $1.key }) {
      checkTime(ask, call.at, standing.now)
    }
  }
}

extension Duration {
  fileprivate var magnitude: Duration { max(self, .zero - self) }
}
