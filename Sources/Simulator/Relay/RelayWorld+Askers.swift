import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Assistants: they sign in with what a phone shows, ask, grow impatient, and sign in again.
extension RelayWorld {
  struct Asker {
    let index: Int
    /// Whose pair they are told.
    let phone: Int
    /// Their bearer token.
    var secret: Int?
    /// What they wait for, one thing at a time.
    var open: AskID?
    /// Calm has come, and it had no data since then.
    var isWaiting = false
  }

  mutating func signIn(_ index: Int) {
    let asker = askers[index]
    guard asker.secret == nil, asker.open == nil else { return }
    guard let pair = phones[asker.phone].pair, phones[asker.phone].process == .running else {
      return add(.signsIn(asker: index), after: .seconds(20))
    }
    ask(index, .login(word: pair.word.text, code: pair.code.text), patience: .seconds(60))
  }

  mutating func ask(_ index: Int, patience: Duration) {
    guard askers[index].open == nil else { return }
    lastQuestion += 1
    counts.questions += 1
    ask(index, .question(.numbered(lastQuestion)), patience: patience)
  }

  mutating func logOut(_ index: Int) {
    guard askers[index].open == nil, askers[index].secret != nil else { return }
    ask(index, .logout, patience: .seconds(60))
  }

  private mutating func ask(_ index: Int, _ what: RelayAsk, patience: Duration) {
    lastAsk += 1
    let ask = AskID(lastAsk)
    askers[index].open = ask
    add(.askArrives(ask, what, secret: askers[index].secret, asker: index), after: packet)
    add(.leaves(ask, asker: index), after: patience)
  }

  mutating func takeAsk(_ event: Event) {
    switch event {
    case .askArrives(let ask, let what, let secret, let asker):
      arrive(ask, what, secret: secret, asker: asker)
    case .told(let ask, let outcome, let asker): told(ask, outcome, asker)
    case .leaves(let ask, let asker):
      guard askers[asker].open == ask else { return }
      askers[asker].open = nil
      say("asker \(asker) leaves", 22)
      add(.abandonArrives(ask), after: packet)
      add(.signsIn(asker: asker), after: .seconds(5))
    case .abandonArrives(let ask):
      guard backend.asks.removeValue(forKey: ask) != nil else { return }
      judge.left(ask)
      feed(.abandoned(ask))
    case _: return
    }
  }

  private mutating func arrive(_ ask: AskID, _ what: RelayAsk, secret: Int?, asker: Int) {
    // Who left before the question arrived never asked.
    guard backend.isRunning, askers[asker].open == ask else {
      if askers[asker].open == ask {
        askers[asker].open = nil
        add(.signsIn(asker: asker), after: .seconds(5))
      }
      return
    }
    backend.asks[ask] = asker
    var number: Int?
    if case .question(let question) = what { number = question.number }
    if case .logout = what, let secret { judge.logsOut(secret) }
    say("asker \(asker) asks: \(number.map { "question \($0)" } ?? "to log in or out")", 20)
    judge.asked(ask, token: secret, number: number, at: now)
    feed(
      .ask(
        ask, what, bearer: secret.map { TokenHash.of($0) }, from: "asker-\(asker)", wall: wall))
  }

  /// The backend says an outcome.
  mutating func tell(_ ask: AskID, _ outcome: RelayOutcome) {
    judge.told(ask, outcome, at: now)
    guard let asker = backend.asks.removeValue(forKey: ask) else { return }
    switch outcome {
    case .loggedIn(let grant):
      if let secret = Int(grant.accessToken) {
        judge.granted(secret, phone: askers[asker].phone, at: now)
      }
    case .loggedOut: if let secret = askers[asker].secret { judge.loggedOut(secret) }
    case .data, .refused: break
    }
    add(.told(ask, outcome, asker: asker), after: packet)
  }

  private mutating func told(_ ask: AskID, _ outcome: RelayOutcome, _ index: Int) {
    guard askers[index].open == ask else { return }
    askers[index].open = nil
    say("asker \(index) is told: \(outcome)", 21)
    switch outcome {
    case .loggedIn(let grant): askers[index].secret = Int(grant.accessToken)
    case .loggedOut: askers[index].secret = nil
    case .data(let object):
      counts.answered += 1
      if object.succeeded { askers[index].isWaiting = false }
    case .refused(let reason):
      counts.refused += 1
      switch reason {
      case .notSignedIn, .tokenExpired, .phoneReplaced, .phoneAway(_, .pairAgain):
        askers[index].secret = nil
      case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting,
        .malformed, .answerTooLarge, .storeFailed, .stopping:
        break
      }
    }
    add(.signsIn(asker: index), after: .seconds(5) + chance.duration(below: .seconds(20)))
  }
}
