import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
public import HoldfastLinkChecks
import HoldfastRelayData
import HoldfastRelayServer
public import HoldfastWorldKernel

/// A deliberate defect of a relay.
public enum RelayDefect: String, DeliberateDefect {
  /// The backend sends each outcome twice.
  case answersTwice
  /// The backend sends each answer to the assistant that asked most recently.
  case answersNewest
  /// Assistants wait indefinitely.
  case forgetsDeadline
  /// The backend does not report that a phone is away.
  case staysSilent
  /// The backend ignores the departure of assistants.
  case ignoresLeaving
  /// Finished questions remain in the store.
  case keepsQuestions
  /// The backend restarts without its stored state.
  case forgetsPairings
  /// A phone is considered connected as soon as its socket opens.
  case connectedOnOpen
  /// The phone discards its resume token, so that the backend does not recognize the phone.
  case forgetsResume
  /// The phone answers with the data that it read for the previous question.
  case answersLast
  /// The phone does not discard answers after they are sent.
  case holdsAnswers
  /// The phone repeats the word of its pair in a notice.
  case showsSecrets
  /// The backend reports that the phone is away instead of sending its data.
  case refusesHealthy
  /// Of two questions, the backend sends the second one to the phone first.
  case asksNewestFirst
  /// The backend sends the phone each question twice.
  case asksTwice
  /// The backend sends no push.
  case wakesNone
  /// The backend stores each question with another assistant.
  case mixesUpAskers
  /// The backend accepts any pair as the one that a phone shows.
  case admitsAnyPair
  /// Strangers may guess pairs indefinitely.
  case neverLocksOut
  /// Tokens are valid for too long.
  case ignoresExpiry
  /// Any number of assistants may ask one phone.
  case admitsNinth
  case noLiveness
  case countResetOnOpen
  case noStability
  case takesLateEvents
  case timersStopAsleep
  // A relay has no standby that it could lose, and no wait that consists only of jitter.

  /// The servers of this world. There is only one.
  public typealias Server = OneServer

  public var kinds: [Finding.Kind] {
    switch self {
    case .answersTwice: [.doubled]
    case .answersNewest, .answersLast: [.wrongAnswer]
    case .forgetsDeadline, .staysSilent: [.unanswered]
    case .ignoresLeaving: [.afterLeaving]
    case .keepsQuestions: [.kept]
    case .forgetsPairings, .forgetsResume: [.dishonest]
    case .refusesHealthy: [.withheld]
    case .asksNewestFirst: [.reordered]
    case .asksTwice: [.needless]
    case .wakesNone: [.unwoken]
    case .mixesUpAskers, .ignoresExpiry, .admitsNinth: [.wrongAnswer]
    case .admitsAnyPair, .neverLocksOut: [.trespass]
    case .connectedOnOpen: [.falselyRunning]
    case .holdsAnswers: [.unbounded]
    case .showsSecrets: [.leaked]
    case .noLiveness, .countResetOnOpen, .noStability, .takesLateEvents, .timersStopAsleep:
      link?.kinds ?? []
    }
  }

  public var seeds: Int {
    switch self {
    case .asksNewestFirst, .mixesUpAskers, .ignoresExpiry, .admitsNinth: 100
    case .answersTwice, .answersNewest, .forgetsDeadline, .staysSilent, .ignoresLeaving,
      .keepsQuestions, .forgetsPairings, .connectedOnOpen, .forgetsResume, .answersLast,
      .holdsAnswers, .showsSecrets, .refusesHealthy, .asksTwice, .wakesNone, .admitsAnyPair,
      .neverLocksOut, .noLiveness, .countResetOnOpen, .noStability, .takesLateEvents,
      .timersStopAsleep:
      20
    }
  }
}

/// The seam between the rules and their world, with or without a defect of the relay.
///
/// A defect is never inside the phone or the backend. The seam changes their inputs, their effects,
/// or their policy.
struct RelaySeam {
  let defect: RelayDefect?
  private var newest: RequestID?
  /// A question that the next question overtakes.
  private var held: RelayServer.Input?
  /// The pair that was most recently sent to a phone.
  private var shown: ConnectionCode?
  private var last: HealthQuestion?

  init(_ defect: RelayDefect?) {
    self.defect = defect
  }

  func policy(_ policy: RelayServerPolicy) -> RelayServerPolicy {
    var changed = policy
    if defect == .forgetsDeadline { changed.callLimit = .seconds(600) }
    if defect == .neverLocksOut {
      (changed.wrongPairs, changed.floodWrongPairs) = (100_000, 100_000)
    }
    if defect == .ignoresExpiry { changed.tokenLife = .seconds(100_000) }
    if defect == .admitsNinth { changed.tokensPerPhone = 1_000 }
    return changed
  }

  func restored(_ stored: StoredRelay) -> StoredRelay {
    defect == .forgetsPairings ? StoredRelay() : stored
  }

  mutating func toBackend(_ input: RelayServer.Input) -> [RelayServer.Input] {
    switch input {
    case .call(let callID, .question, _, _, _):
      newest = callID
      guard defect == .asksNewestFirst else { return [input] }
      defer { held = held == nil ? input : nil }
      return held.map { [input, $0] } ?? []
    case .call(let callID, .login, let bearer, let address, let wall):
      guard defect == .admitsAnyPair, let shown else { return [input] }
      let login = RelayCall.login(word: shown.word, code: shown.code)
      return [.call(callID, login, bearer: bearer, from: address, wall: wall)]
    case .abandoned: return defect == .ignoresLeaving ? [] : [input]
    case .restored, .phoneOpened, .received, .phoneSaid, .phoneUnreadable, .overflowed, .phoneGone,
      .call, .pull, .tokenDrawn, .stored, .pushed, .synced, .erased, .drain:
      return [input]
    }
  }

  mutating func fromBackend(_ effect: RelayServer.Effect) -> [RelayServer.Effect] {
    switch effect {
    case .answer(let callID, let outcome): return answers(callID, outcome)
    case .store(let token, let changes): return [.store(token, changes.compactMap(stored))]
    case .send(_, .connectionCode(let code)): shown = code
    case .send(_, .question): if defect == .asksTwice { return [effect, effect] }
    case .push: if defect == .wakesNone { return [] }
    case .accept, .refuse, .send, .ping, .close, .drop, .respond, .drawToken, .readSynced,
      .finished:
      break
    }
    return [effect]
  }

  /// Returns the change to pass to the store, or `nil` to store nothing.
  private func stored(_ change: RelayChange) -> RelayChange? {
    switch change {
    case .endQuestion: return defect == .keepsQuestions ? nil : change
    case .question(var question):
      if defect == .mixesUpAskers { question.caller = .of("another") }
      return .question(question)
    case .phone, .endPhone, .access, .endAccess, .session, .endSession: return change
    }
  }

  private func answers(_ callID: RequestID, _ outcome: RelayOutcome) -> [RelayServer.Effect] {
    let effect = RelayServer.Effect.answer(callID, outcome)
    if defect == .answersTwice { return [effect, effect] }
    if defect == .answersNewest, case .data = outcome {
      return [.answer(newest ?? callID, outcome)]
    }
    if defect == .refusesHealthy, case .data = outcome {
      return [.answer(callID, .refused(.phoneAway(since: .zero, .mayReturn)))]
    }
    guard defect == .staysSilent, case .refused(let reason) = outcome else { return [effect] }
    if case .phoneAway = reason { return [] }
    if case .timedOut = reason { return [] }
    return [effect]
  }

  func toPhone(_ input: RelayModel.Input) -> [RelayModel.Input] {
    if defect == .connectedOnOpen, case .opened(let attempt) = input {
      let pair = HoldfastHealthRelay.RelayPair(code: Secret(""), word: Secret(""))
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

  /// Returns the question for which a phone reads data.
  mutating func read(_ question: HealthQuestion) -> HealthQuestion {
    defer { last = question }
    return defect == .answersLast ? last ?? question : question
  }
}
