import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

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

  /// The first question is leased from 101 to 126, and a second one is asked at 110.
  private mutating func lease() {
    script.ask(2, 1, at: 100, isSound: false)
    script.lease([("q1", 1)], at: 101)
    script.ask(3, 2, at: 110)
  }

  @Test(arguments: [
    (127.0, 136.0, [Finding.Kind]()), (127, 136.001, [.withheld]),
    (112, 122, []), (112, 122.001, [.withheld]),
  ])
  mutating func `a question waits for the lease of another one, and no longer`(
    first: Double, second: Double, found: [Finding.Kind]
  ) {
    lease()
    script.answer(2, 1, at: first)
    script.answer(3, 2, at: second)
    #expect(script.found == found)
  }

  @Test(arguments: [(1, [Finding.Kind.withheld]), (2, [])])
  mutating func `it has data in its time unless leases leave none`(
    leases: Int, found: [Finding.Kind]
  ) {
    lease()
    if leases > 1 { script.lease([("q1", 1)], "m", at: 126) }
    script.refuse(3, .timedOut(after: .seconds(45)), at: 155)
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

  /// How a login ended whose outcome its assistant was not told.
  enum Untold: CaseIterable { case none, backendEnded, left, guessed }

  @Test(arguments: [
    (Untold.none, [Finding.Kind.dishonest]), (.backendEnded, []), (.left, []),
    (.guessed, [.dishonest]),
  ])
  mutating func `a login whose outcome was lost may have signed the first of eight assistants out`(
    untold: Untold, found: [Finding.Kind]
  ) {
    for login in UInt64(2)...8 { script.signIn("t\(login)", as: login, at: Double(login)) }
    if untold != .none {
      var facts = RelayCallFacts(asker: 0)
      facts.pair = RelayGivenPair(text: "own t9", isGuess: untold == .guessed)
      script.see(.asked(AskID(9), facts), at: 9)
      script.see(untold == .left ? .left(AskID(9)) : .backendEnded, at: 10)
    }
    script.ask(30, 1, at: 100, isSound: false)
    script.refuse(30, .signedOut(.byAnother(limit: 8)), at: 101)
    #expect(script.found == found)
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

  @Test mutating func `so may what had its answer, which a slow store may not have noted`() {
    script.send("q1", 1, at: 2)
    script.answer(2, 1, at: 3)
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

  @Test mutating func `what was asked of the phone that it was before is another line`() {
    script.see(.unpaired(phone: 0), at: 3)
    script.signIn("n", as: 8, at: 4)
    script.ask(9, 4, at: 5, isSound: false, token: "n")
    script.send("q4", 4, at: 5)
    #expect(script.found == [])
  }

  @Test(arguments: [(nil, [Finding.Kind.reordered]), (RelayFact.unpaired(phone: 0), [])])
  mutating func `a login during which the phone becomes another one may be for the former`(
    meanwhile: RelayFact?, found: [Finding.Kind]
  ) {
    script.see(.unpaired(phone: 0), at: 2)
    script.signIn("n", as: 8, at: 3, meanwhile: meanwhile)
    script.ask(9, 4, at: 5, isSound: false, token: "n")
    script.signIn("o", as: 10, at: 6)
    script.ask(11, 5, at: 7, isSound: false, token: "o")
    script.send("q5", 5, at: 7)
    #expect(script.found == found)
  }

  @Test mutating func `a question is kept beyond its deadline only while an assistant waits`() {
    guard let id = RelayRequestID("q1") else { return }
    let kept = KeptQuestion(
      id: id, phone: PhoneID(UUID128(high: 1, low: 1)), asker: .of("t"), question: .numbered(1),
      deadline: Timestamp(nanoseconds: 0))
    let wall = kept.deadline.advanced(by: .seconds(2))
    script.see(.kept([kept], wall: wall), at: 20)
    #expect(script.found == [])
    script.answer(2, 1, at: 21)
    script.see(.kept([kept], wall: wall), at: 22)
    #expect(script.found == [.kept])
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
