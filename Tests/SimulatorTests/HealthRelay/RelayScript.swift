import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// A story of one phone and its assistant, written by hand, before the relay's own checkers.
struct RelayScript {
  private var checkers = RelayCheckers()
  private var standing = Standing<RelayFeature>(
    policy: .healthRelayService, status: LinkStatus(phase: .connected), own: RelayState())

  /// The assistant is signed in; a question takes 5 s at a phone that is free.
  init() {
    standing.own.turn = .seconds(5)
    standing.own.state = .running
    signIn("t", as: 1, at: 0)
  }

  var found: [Finding.Kind] { checkers.findings.map(\.kind) }

  mutating func see(_ fact: RelayFact, at second: Double) {
    meet(.fact(fact), at: second)
  }

  mutating func meet(_ seen: Observation<RelayFeature>, at second: Double) {
    standing.now = .second(second)
    checkers.met(seen, standing)
  }

  mutating func signIn(
    _ token: String, as ask: UInt64, at second: Double, pair: String = "own", isGuess: Bool = false,
    asker: Int = 0, meanwhile: RelayFact? = nil
  ) {
    var facts = RelayCallFacts(asker: asker)
    facts.pair = RelayGivenPair(text: pair + (pair == "own" ? token : ""), isGuess: isGuess)
    see(.asked(AskID(ask), facts), at: second)
    if let meanwhile { see(meanwhile, at: second) }
    let grant = RelayGrant(accessToken: token, expiresIn: .seconds(7_200), user: "u")
    see(.told(AskID(ask), .loggedIn(grant)), at: second)
  }

  mutating func ask(
    _ ask: UInt64, _ question: Int, at second: Double, isSound: Bool = true, token: String = "t"
  ) {
    var facts = RelayCallFacts(asker: 0, token: token, question: question)
    facts.isSound = isSound
    see(.asked(AskID(ask), facts), at: second)
  }

  mutating func answer(_ ask: UInt64, _ question: Int, at second: Double) {
    let object = HealthObject.answer(of: 0, to: question, bytes: 0)
    see(.told(AskID(ask), .data(object)), at: second)
  }

  mutating func refuse(_ ask: UInt64, _ reason: RelayRefusal, at second: Double) {
    see(.told(AskID(ask), .refused(reason)), at: second)
  }

  mutating func send(_ id: String, _ question: Int, over line: UInt64 = 7, at second: Double) {
    guard let id = RelayRequestID(id) else { return }
    see(.sent(phone: 0, id, question: question, over: line), at: second)
  }

  mutating func lease(_ ids: [(String, Int)], _ name: String = "l", at second: Double) {
    let questions = ids.compactMap { id, number in
      RelayRequestID(id).map {
        LeasedQuestion(id: $0, question: .numbered(number), lease: name)
      }
    }
    let leased = LeasedQuestions(questions: questions, expiresIn: .seconds(25))
    see(.leased(phone: 0, leased), at: second)
  }
}
