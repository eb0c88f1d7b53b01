public import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// The checkers of a relay's own promises: they know what each assistant asked and may know.
public struct RelayCheckers: FeatureCheckers {
  /// The feature that they check.
  public typealias Feature = RelayFeature

  private var found = Findings()
  private var open: [AskID: (at: Instant, facts: RelayCallFacts)] = [:]
  private var left: Set<AskID> = []
  /// What each token lets its holder ask.
  private var grants: [String: Grant] = [:]
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

  private struct Grant {
    var phone: Int
    var since: Instant
    /// Its holder wants to end it; nothing may be asked with it once that is confirmed.
    var isEnding = false
    var isOver = false
  }

  /// The most that an answer may take on its way in and out of the backend, beside the deadline;
  /// ours: the longest call of a store in plans, and one second.
  private static let slack = Duration.seconds(5)

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: RelayModel.Input?, isLate: Bool, _ effects: [RelayModel.Effect],
    _ standing: Standing<RelayFeature>
  ) {
    checkRunning(standing)
    phones[standing.own.phone, default: RelayPhoneChecker()]
      .stepped(input, effects, standing, &found)
  }

  public mutating func met(
    _ seen: Observation<RelayFeature>, _ standing: Standing<RelayFeature>
  ) {
    switch seen {
    case .fact(let fact): see(fact, standing)
    case .began(let act): if act.verb == .common(.serverClock) { clockError += act.time.magnitude }
    case .launched(let host, _):
      greeted[host.index] = []
      phones[host.index] = nil
    case .told, .ticked, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .ended,
      .calm:
      return
    }
  }

  private mutating func see(_ fact: RelayFact, _ standing: Standing<RelayFeature>) {
    switch fact {
    case .asked(let ask, let facts):
      open[ask] = (standing.now, facts)
      if facts.isLogout, let token = facts.token { grants[token]?.isEnding = true }
    case .told(let ask, let outcome): told(ask, outcome, standing)
    case .left(let ask):
      if let (since, _) = open.removeValue(forKey: ask) { checkTime(ask, since, standing.now) }
      left.insert(ask)
    // Waiting assistants hear that the connection broke.
    case .backendEnded:
      for (ask, call) in open.sorted(by: { $0.key < $1.key }) {
        checkTime(ask, call.at, standing.now)
      }
      open = [:]
    case .greeted(let phone, let attempt, _): greeted[phone, default: []].insert(attempt)
    case .unpaired(let phone): unpairedAt[phone] = standing.now
    case .kept(let questions, let wall):
      let limit = wall.advanced(by: .zero - .seconds(1) - clockError)
      for kept in questions where kept.deadline < limit {
        found.add(.kept, at: standing.now, "question \(kept.id) is kept after its deadline")
      }
    case .leaked: found.add(.leaked, at: standing.now, "a secret stands in the backend's log")
    case .backendStarted, .pushed, .woken, .slept: return
    }
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
    _ ask: AskID, _ outcome: RelayOutcome, _ standing: Standing<RelayFeature>
  ) {
    let now = standing.now
    guard !left.contains(ask) else {
      return found.add(.afterLeaving, at: now, "\(ask) was told an outcome after it had left")
    }
    guard let (since, facts) = open.removeValue(forKey: ask) else {
      return found.add(.doubled, at: now, "\(ask) was told a second outcome")
    }
    checkTime(ask, since, now)
    switch outcome {
    case .loggedIn(let grant): grants[grant.accessToken] = Grant(phone: facts.phone, since: now)
    case .loggedOut: if let token = facts.token { grants[token]?.isOver = true }
    case .data(let object): check(object, facts, standing)
    case .refused(let reason): check(reason, facts, now)
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
  private mutating func checkTime(_ ask: AskID, _ since: Instant, _ now: Instant) {
    let time = since.duration(to: now)
    guard time > Self.limit else { return }
    found.add(.unanswered, at: now, "\(ask) had no outcome for \(Words.length(time))")
  }

  private static var limit: Duration { RelayServerPolicy().callLimit + slack }

  private mutating func check(
    _ object: HealthObject, _ facts: RelayCallFacts, _ standing: Standing<RelayFeature>
  ) {
    guard object.succeeded, let number = facts.question else { return }
    guard let grant = facts.token.flatMap({ grants[$0] }), !grant.isOver else {
      return found.add(
        .wrongAnswer, at: standing.now, "data went to an assistant that is not signed in")
    }
    let bytes = standing.own.numbers.answerBytes
    if object != .answer(of: grant.phone, to: number, bytes: bytes) {
      found.add(
        .wrongAnswer, at: standing.now,
        "question \(number) to phone \(grant.phone) got another's answer")
    }
  }

  private mutating func check(_ reason: RelayRefusal, _ facts: RelayCallFacts, _ now: Instant) {
    let life = RelayServerPolicy().tokenLife - .seconds(10) - clockError
    guard facts.question != nil, let grant = facts.token.flatMap({ grants[$0] }), !grant.isEnding,
      grant.since.duration(to: now) < life
    else { return }
    switch reason {
    case .notSignedIn, .tokenExpired, .signedOut:
      // One token more than a phone may have ends its oldest.
      let newer = grants.values.count { $0.phone == grant.phone && $0.since > grant.since }
      guard newer < RelayServerPolicy().tokensPerPhone else { return }
      found.add(.dishonest, at: now, "\(reason) to an assistant that is signed in")
    case .phoneReplaced, .phoneAway(_, .pairAgain):
      if unpairedAt[grant.phone].map({ $0 < grant.since }) ?? true {
        found.add(.dishonest, at: now, "phone \(grant.phone) kept its pairing: \(reason)")
      }
    case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting, .malformed,
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
