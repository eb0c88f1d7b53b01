import HealthRelay
import LinkCore
import LinkServerCore
import LinkWire

/// A deliberate defect of the relay: each must be caught.
public enum RelayBreak: String, Sendable, Hashable, Codable, CaseIterable {
  /// Tells each outcome twice.
  case answersTwice
  /// Gives an answer to whoever asked last.
  case answersNewest
  /// Lets askers wait for as long as it takes.
  case forgetsDeadline
  /// Says nothing when a phone is away.
  case staysSilent
  /// Does not notice that an asker has gone.
  case ignoresLeaving
  /// Leaves questions in the store that were dealt with.
  case keepsQuestions
  /// Begins anew without what was kept.
  case forgetsPairings
  /// Counts as connected as soon as the socket is open.
  case connectedOnOpen
  /// Never asks a silent connection for a sign of life.
  case noLiveness
  /// The phone forgets what shows the backend that it is the same.
  case forgetsResume
  /// The phone answers with what it read for the question before.
  case answersLast

  /// What it is caught as; one of these is enough.
  public var kinds: [RelayFinding.Kind] {
    switch self {
    case .answersTwice: [.doubled]
    case .answersNewest, .answersLast: [.wrongAnswer]
    case .forgetsDeadline, .staysSilent: [.unanswered]
    case .ignoresLeaving: [.afterLeaving]
    case .keepsQuestions: [.kept]
    case .forgetsPairings, .forgetsResume: [.dishonest]
    case .connectedOnOpen, .noLiveness: [.falselyRunning]
    }
  }

  /// It is caught within so many seeds.
  public var seeds: Int { 20 }

  /// The first run from a seed on that shows it, and is clean without it.
  public func proof(from first: UInt64) -> RelayRun? {
    for seed in first..<(first + UInt64(seeds)) {
      let plan = RelayPlan.drawn(seed: seed)
      let run = RelayRun.play(plan, self)
      guard run.findings.contains(where: { kinds.contains($0.kind) }) else { continue }
      if RelayRun.play(plan).findings.isEmpty { return run }
    }
    return nil
  }
}

/// What stands between the rules and their world in one run: clean, or as a defect would have it.
///
/// A defect is never made inside the phone or the backend; it changes what they are told, what they
/// ask for, or their numbers.
struct RelaySeam {
  let defect: RelayBreak?
  private var newest: AskID?
  private var last: RelayQuestion?

  init(_ defect: RelayBreak?) {
    self.defect = defect
  }

  func policy(_ policy: RelayServerPolicy) -> RelayServerPolicy {
    var changed = policy
    if defect == .forgetsDeadline { changed.callLimit = .seconds(600) }
    return changed
  }

  func policy(_ policy: LinkPolicy) -> LinkPolicy {
    defect == .noLiveness ? policy.withoutPings : policy
  }

  func restored(_ kept: RelayKept) -> RelayKept {
    defect == .forgetsPairings ? RelayKept() : kept
  }

  mutating func toBackend(_ input: RelayServer.Input) -> [RelayServer.Input] {
    if case .ask(let ask, .question, _, _, _) = input { newest = ask }
    if case .abandoned = input, defect == .ignoresLeaving { return [] }
    return [input]
  }

  func fromBackend(_ effect: RelayServer.Effect) -> [RelayServer.Effect] {
    switch (effect, defect) {
    case (.answer, .answersTwice): [effect, effect]
    case (.answer(let ask, .data(let object)), .answersNewest):
      [.answer(newest ?? ask, .data(object))]
    case (.answer(_, .refused(.phoneAway)), .staysSilent): []
    case (.answer(_, .refused(.timedOut)), .staysSilent): []
    case (.store(let token, let changes), .keepsQuestions):
      [
        .store(
          token, changes.filter { if case .endQuestion = $0 { false } else { true } })
      ]
    case _: [effect]
    }
  }

  func toPhone(_ input: RelayModel.Input) -> [RelayModel.Input] {
    switch (input, defect) {
    case (.opened(let attempt), .connectedOnOpen):
      let pair = HealthRelay.RelayPair(code: Secret(""), word: Secret(""))
      return [input, .message(attempt, .paired(RelayModel.Welcome(pair: pair)))]
    case (.message(let attempt, .paired(var welcome)), .forgetsResume):
      welcome.resume = nil
      welcome.isResumed = false
      return [.message(attempt, .paired(welcome))]
    case _: return [input]
    }
  }

  /// The question that a phone really reads for.
  mutating func read(_ question: RelayQuestion) -> RelayQuestion {
    defer { last = question }
    return defect == .answersLast ? last ?? question : question
  }
}
