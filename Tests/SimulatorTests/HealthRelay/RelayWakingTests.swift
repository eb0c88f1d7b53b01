import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

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
