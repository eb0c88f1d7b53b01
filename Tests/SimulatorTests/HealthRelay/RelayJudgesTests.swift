import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// A story of one phone and its assistant, written by hand, before the relay's own checkers.
private struct RelayScript {
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
    asker: Int = 0
  ) {
    var facts = RelayCallFacts(asker: asker)
    facts.pair = RelayGivenPair(text: pair + (pair == "own" ? token : ""), isGuess: isGuess)
    see(.asked(AskID(ask), facts), at: second)
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

/// Data are due while phone, line and assistant are sound.
struct RelayDuesTests {
  private var script = RelayScript()
  private let away = RelayRefusal.phoneAway(since: .zero, .mayReturn)

  @Test(arguments: [(true, [Finding.Kind.withheld]), (false, [Finding.Kind]())])
  mutating func `a refusal is found where data were due, and only there`(
    isSound: Bool, found: [Finding.Kind]
  ) {
    script.ask(2, 1, at: 100, isSound: isSound)
    script.refuse(2, away, at: 101)
    #expect(script.found == found)
  }

  @Test mutating func `an error of a sound phone is found`() {
    script.ask(2, 1, at: 100)
    script.see(.told(AskID(2), .data(.failure("no"))), at: 101)
    #expect(script.found == [.withheld])
  }

  @Test(arguments: [(5.0, [Finding.Kind]()), (5.001, [Finding.Kind.withheld])])
  mutating func `data come within the time that a question takes`(
    second: Double, found: [Finding.Kind]
  ) {
    script.ask(2, 1, at: 100)
    script.answer(2, 1, at: 100 + second)
    #expect(script.found == found)
  }

  @Test(arguments: [(10.0, [Finding.Kind]()), (10.001, [Finding.Kind.withheld])])
  mutating func `a question that waits for another may take twice as long`(
    second: Double, found: [Finding.Kind]
  ) {
    script.ask(2, 1, at: 100)
    script.ask(3, 2, at: 100)
    script.answer(2, 1, at: 105)
    script.answer(3, 2, at: 100 + second)
    #expect(script.found == found)
  }

  @Test mutating func `a trouble within the time, or a minute before, excuses`() {
    let trouble = Act<RelayVerb>(.narrow, 500, for: .seconds(10))
    script.ask(2, 1, at: 100)
    script.meet(.began(trouble), at: 101)
    script.refuse(2, away, at: 102)
    script.ask(3, 2, at: 103)
    script.refuse(3, away, at: 104)
    script.meet(.ended(trouble), at: 111)
    script.ask(4, 3, at: 171)
    script.refuse(4, away, at: 172)
    #expect(script.found == [])
    script.ask(5, 4, at: 171.001)
    script.refuse(5, away, at: 172)
    #expect(script.found == [.withheld])
  }

  @Test mutating func `what befalls the other phone, or is done by people, excuses nothing`() {
    script.meet(.began(Act(.reset, on: 1)), at: 99)
    script.meet(.began(Act(.guesses, 3)), at: 99)
    script.meet(.began(Act(.asks, by: .seconds(1), on: 0)), at: 99)
    script.ask(2, 1, at: 100)
    script.refuse(2, away, at: 101)
    #expect(script.found == [.withheld])
  }

  @Test mutating func `an assistant that logs out is owed nothing`() {
    script.ask(2, 1, at: 100)
    var logout = RelayCallFacts(asker: 0, token: "t")
    logout.isLogout = true
    script.see(.asked(AskID(3), logout), at: 101)
    script.refuse(2, .cancelled, at: 101)
    #expect(script.found == [])
  }

  @Test mutating func `a question that nobody took back is not cancelled`() {
    script.ask(2, 1, at: 100, isSound: false)
    script.refuse(2, .cancelled, at: 101)
    #expect(script.found == [.dishonest])
  }
}

/// Questions are asked in order, and once.
struct RelayLinesTests {
  private var script = RelayScript()

  /// Two questions wait for a phone that is here.
  init() {
    script.see(.joined(phone: 0, over: 7), at: 1)
    script.ask(2, 1, at: 2, isSound: false)
    script.ask(3, 2, at: 2, isSound: false)
  }

  @Test mutating func `one after the other is in order`() {
    script.send("q1", 1, at: 2)
    script.answer(2, 1, at: 3)
    script.send("q2", 2, at: 3)
    script.answer(3, 2, at: 4)
    #expect(script.found == [])
  }

  @Test mutating func `the second one first is found`() {
    script.send("q2", 2, at: 2)
    #expect(script.found == [.reordered])
  }

  @Test mutating func `two at once are found`() {
    script.send("q1", 1, at: 2)
    script.send("q2", 2, at: 2)
    #expect(script.found == [.reordered, .reordered])
  }

  @Test mutating func `what an assistant asks again after a restart may keep its old place`() {
    script.see(.backendEnded, at: 3)
    script.see(.joined(phone: 0, over: 8), at: 4)
    script.ask(4, 9, at: 5, isSound: false)
    script.ask(5, 1, at: 6, isSound: false)
    script.send("q1", 1, over: 8, at: 6)
    #expect(script.found == [])
  }

  @Test mutating func `a question is repeated on another connection only`() {
    script.send("q1", 1, at: 2)
    script.see(.parted(phone: 0, over: 7), at: 3)
    script.see(.joined(phone: 0, over: 8), at: 4)
    script.send("q1", 1, over: 8, at: 4)
    #expect(script.found == [])
    script.send("q1", 1, over: 8, at: 5)
    #expect(script.found == [.needless])
  }

  @Test mutating func `a question that has its answer is not asked again`() {
    script.send("q1", 1, at: 2)
    script.answer(2, 1, at: 3)
    script.send("q1", 1, at: 3)
    #expect(script.found == [.needless])
  }

  @Test mutating func `two assistants that ask the same are two questions, and not three`() {
    script.ask(4, 1, at: 2, isSound: false)
    script.send("q1", 1, at: 2)
    script.answer(2, 1, at: 3)
    script.send("q2", 2, at: 3)
    script.answer(3, 2, at: 3)
    script.send("q3", 1, at: 3)
    script.answer(4, 1, at: 3)
    #expect(script.found == [])
    script.send("q4", 1, at: 4)
    #expect(script.found == [.needless])
  }

  @Test mutating func `a lease is the first of the line, and holds`() {
    script.see(.parted(phone: 0, over: 7), at: 3)
    script.lease([("q1", 1)], at: 4)
    script.lease([("q1", 1), ("q2", 2)], at: 5)
    script.see(.joined(phone: 0, over: 8), at: 6)
    #expect(script.found == [])
    script.send("q1", 1, over: 8, at: 29.999)
    #expect(script.found == [.needless])
  }

  @Test mutating func `a lease that is over is asked again`() {
    script.see(.parted(phone: 0, over: 7), at: 3)
    script.lease([("q1", 1), ("q2", 2)], at: 5)
    script.see(.joined(phone: 0, over: 8), at: 6)
    script.send("q1", 1, over: 8, at: 30)
    #expect(script.found == [])
  }

  @Test mutating func `a lease out of order, a second one and one for nobody are found`() {
    script.see(.parted(phone: 0, over: 7), at: 3)
    script.lease([("q2", 2)], at: 4)
    script.lease([("q2", 2)], "m", at: 5)
    script.lease([("q9", 9)], at: 5)
    #expect(script.found == [.reordered, .needless, .reordered, .needless])
  }

  @Test mutating func `a question that is kept for another assistant is found`() {
    guard let id = RelayRequestID("q1") else { return }
    for (token, found) in [("t", []), ("u", [Finding.Kind.wrongAnswer])] {
      let kept = KeptQuestion(
        id: id, phone: PhoneID(UUID128(high: 1, low: 1)), asker: .of(token),
        question: .numbered(1), deadline: Timestamp(nanoseconds: 0))
      script.see(.filed(AskID(2), kept), at: 2)
      #expect(script.found == found)
    }
  }
}

/// A phone that a push can wake is woken for what waits.
struct RelayWakingTests {
  private var script = RelayScript()

  /// A phone with a push address and a question under way that goes at 10 s.
  init() {
    script.see(.joined(phone: 0, over: 7), at: 1)
    script.see(.registered(phone: 0), at: 2)
    script.ask(2, 1, at: 3, isSound: false)
    script.send("q1", 1, at: 3)
    script.see(.parted(phone: 0, over: 7), at: 10)
  }

  private mutating func end(at second: Double) {
    script.refuse(2, .timedOut(after: .seconds(45)), at: second)
  }

  @Test(arguments: [(11.0, [Finding.Kind]()), (11.001, [Finding.Kind.unwoken])])
  mutating func `one that goes with a question under way is woken within a second`(
    second: Double, found: [Finding.Kind]
  ) {
    end(at: second)
    #expect(script.found == found)
  }

  @Test mutating func `one that was woken is not woken again`() {
    script.see(.pushed(phone: 0), at: 10)
    end(at: 48)
    #expect(script.found == [])
  }

  @Test(arguments: [(31.0, [Finding.Kind]()), (31.001, [Finding.Kind.unwoken])])
  mutating func `a push that failed is repeated after 20 s`(
    second: Double, found: [Finding.Kind]
  ) {
    script.ask(3, 2, at: 10, isSound: false)
    script.see(.pushFailed(phone: 0), at: 10)
    end(at: second)
    #expect(script.found == found)
  }

  @Test mutating func `one that comes back, pulls, or has no address need not be woken`() {
    script.see(.joined(phone: 0, over: 8), at: 10.5)
    end(at: 40)
    #expect(script.found == [])
    script = RelayWakingTests().script
    script.lease([("q1", 1)], at: 10.5)
    end(at: 40)
    #expect(script.found == [])
    script = RelayWakingTests().script
    script.see(.unpaired(phone: 0), at: 10.5)
    end(at: 40)
    #expect(script.found == [])
  }

  @Test(arguments: [(5, [Finding.Kind.unwoken]), (6, [Finding.Kind]())])
  mutating func `six pushes in 18 minutes are enough`(count: Int, found: [Finding.Kind]) {
    script = RelayScript()
    script.see(.registered(phone: 0), at: 1)
    for number in 0..<count { script.see(.pushed(phone: 0), at: 2 + 21 * Double(number)) }
    script.ask(2, 1, at: 200, isSound: false)
    end(at: 240)
    #expect(script.found == found)
  }
}

/// Logins and tokens.
struct RelayDoorTests {
  private var script = RelayScript()

  private mutating func guess(_ ask: UInt64, _ outcome: RelayOutcome, at second: Double) {
    var facts = RelayCallFacts(asker: RelayFeature.askers)
    facts.pair = RelayGivenPair(text: "x \(ask)", isGuess: true)
    script.see(.asked(AskID(ask), facts), at: second)
    script.see(.told(AskID(ask), outcome), at: second)
  }

  @Test mutating func `a guess lets nobody in`() {
    script.signIn("x", as: 2, at: 1, pair: "word code", isGuess: true)
    #expect(script.found == [.trespass])
  }

  @Test mutating func `a pair lets one assistant in, once`() {
    script.signIn("x", as: 2, at: 1, pair: "word code")
    #expect(script.found == [])
    script.signIn("y", as: 3, at: 2, pair: "word code")
    #expect(script.found == [.trespass])
  }

  @Test mutating func `a sixth wrong pair within ten minutes is not compared`() {
    for ask in UInt64(2)...6 { guess(ask, .refused(.wrongPair), at: Double(ask)) }
    #expect(script.found == [])
    guess(7, .refused(.lockedOut(retryAfter: .seconds(9))), at: 7)
    #expect(script.found == [])
    guess(8, .refused(.wrongPair), at: 8)
    #expect(script.found == [.trespass])
  }

  @Test
  mutating func `wrong pairs of ten minutes ago count no more, nor do those before a restart`() {
    for ask in UInt64(2)...6 { guess(ask, .refused(.wrongPair), at: 0) }
    guess(7, .refused(.wrongPair), at: 600)
    script.see(.backendEnded, at: 601)
    guess(8, .refused(.wrongPair), at: 602)
    #expect(script.found == [])
  }

  @Test mutating func `an address is locked out for its own wrong pairs alone`() {
    for ask in UInt64(2)...6 { guess(ask, .refused(.wrongPair), at: 1) }
    var facts = RelayCallFacts(asker: 1)
    facts.pair = RelayGivenPair(text: "word code")
    script.see(.asked(AskID(9), facts), at: 2)
    script.refuse(9, .lockedOut(retryAfter: .seconds(9)), at: 2)
    #expect(script.found == [.dishonest])
  }

  @Test(arguments: [(7_210.0, [Finding.Kind]()), (7_210.001, [Finding.Kind.wrongAnswer])])
  mutating func `no data go to a token that has expired`(second: Double, found: [Finding.Kind]) {
    script.ask(2, 1, at: second, isSound: false)
    script.answer(2, 1, at: second)
    #expect(script.found == found)
  }

  @Test(arguments: [(7, [Finding.Kind]()), (8, [Finding.Kind.wrongAnswer])])
  mutating func `no data go to an assistant one too many`(others: Int, found: [Finding.Kind]) {
    for number in 0..<others {
      script.signIn("n\(number)", as: UInt64(10 + number), at: 1 + Double(number))
    }
    script.ask(2, 1, at: 50, isSound: false)
    script.answer(2, 1, at: 50)
    #expect(script.found == found)
  }
}
