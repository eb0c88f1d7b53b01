import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// A deliberate defect of a relay.
public enum RelayDefect: String, DeliberateDefect {
  /// Tells each outcome twice.
  case answersTwice
  /// Gives an answer to the assistant that asked last.
  case answersNewest
  /// Lets assistants wait for as long as it takes.
  case forgetsDeadline
  /// Says nothing when a phone is away.
  case staysSilent
  /// Does not notice that an assistant has gone.
  case ignoresLeaving
  /// Leaves questions in the store that were dealt with.
  case keepsQuestions
  /// Begins anew without what was kept.
  case forgetsPairings
  /// Counts as connected as soon as the socket is open.
  case connectedOnOpen
  /// The phone forgets what shows the backend that it is the same.
  case forgetsResume
  /// The phone answers with what it read for the question before.
  case answersLast
  /// The phone does not let go of answers that are given.
  case holdsAnswers
  /// The phone repeats what came with its code in a notice.
  case showsSecrets
  case noLiveness
  case countResetOnOpen
  case noStability
  case takesLateEvents
  case timersStopAsleep
  // A relay has no standby to lose, and no wait that a spread alone makes.

  /// There is one kind of server.
  public typealias Server = OneServer

  public var kinds: [Finding.Kind] {
    switch self {
    case .answersTwice: [.doubled]
    case .answersNewest, .answersLast: [.wrongAnswer]
    case .forgetsDeadline, .staysSilent: [.unanswered]
    case .ignoresLeaving: [.afterLeaving]
    case .keepsQuestions: [.kept]
    case .forgetsPairings, .forgetsResume: [.dishonest]
    case .connectedOnOpen: [.falselyRunning]
    case .holdsAnswers: [.unbounded]
    case .showsSecrets: [.leaked]
    case .noLiveness, .countResetOnOpen, .noStability, .takesLateEvents, .timersStopAsleep:
      link?.kinds ?? []
    }
  }
}

/// The seam between the rules and their world: clean, or as a defect of the relay would have it.
///
/// A defect is never made inside the phone or the backend; it changes what they are told, what they
/// ask for, or their numbers.
struct RelaySeam {
  let defect: RelayDefect?
  private var newest: AskID?
  private var last: HealthQuestion?

  init(_ defect: RelayDefect?) {
    self.defect = defect
  }

  func policy(_ policy: RelayServerPolicy) -> RelayServerPolicy {
    var changed = policy
    if defect == .forgetsDeadline { changed.callLimit = .seconds(600) }
    return changed
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
    if case .answer(let ask, let outcome) = effect { return answers(ask, outcome) }
    guard defect == .keepsQuestions, case .store(let token, let changes) = effect else {
      return [effect]
    }
    return [
      .store(
        token, changes.filter { if case .endQuestion = $0 { false } else { true } })
    ]
  }

  private func answers(_ ask: AskID, _ outcome: RelayOutcome) -> [RelayServer.Effect] {
    let effect = RelayServer.Effect.answer(ask, outcome)
    if defect == .answersTwice { return [effect, effect] }
    if defect == .answersNewest, case .data = outcome { return [.answer(newest ?? ask, outcome)] }
    guard defect == .staysSilent, case .refused(let reason) = outcome else { return [effect] }
    if case .phoneAway = reason { return [] }
    if case .timedOut = reason { return [] }
    return [effect]
  }

  func toPhone(_ input: RelayModel.Input) -> [RelayModel.Input] {
    if defect == .connectedOnOpen, case .opened(let attempt) = input {
      let pair = HealthRelay.RelayPair(code: Secret(""), word: Secret(""))
      return [input, .message(attempt, .paired(RelayModel.Welcome(pair: pair)))]
    }
    guard defect == .forgetsResume, case .message(let attempt, .paired(var welcome)) = input else {
      return [input]
    }
    welcome.resume = nil
    welcome.isResumed = false
    return [.message(attempt, .paired(welcome))]
  }

  func fromPhone(_ effect: RelayModel.Effect) -> [RelayModel.Effect] {
    if defect == .holdsAnswers, case .discard = effect { return [] }
    guard defect == .showsSecrets, case .update(.pair(let pair)) = effect else { return [effect] }
    return [effect, .update(.problem(.malformed(pair.word.text), withheld: 0))]
  }

  /// The question that a phone really reads for.
  mutating func read(_ question: HealthQuestion) -> HealthQuestion {
    defer { last = question }
    return defect == .answersLast ? last ?? question : question
  }
}
