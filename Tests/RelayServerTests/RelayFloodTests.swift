import HoldfastCore
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests that a flood of wrong pairs locks out the attacker and nobody else.
struct RelayFloodTests {
  private static let wrong = RelayCall.login(word: "a", code: "1")

  @Test(arguments: [1, 15, 1_000])
  func `25 honest logins during a flood of wrong pairs all succeed`(perSecond: Int) {
    var relay = Relayed()
    var generator = RandomSource(seed: UInt64(perSecond))
    for phone in 1...25 { relay.phone(UInt64(phone)) }
    var refused = 0
    for honest in 1...25 {
      for _ in 0..<(perSecond * (perSecond > 15 ? 1 : 20)) {
        relay.pass(.milliseconds(1_000) / perSecond)
        let thief = "t\(Int.random(in: 0..<10_000, using: &generator))"
        if case .answer(_, .refused(.lockedOut)) = relay.ask(Self.wrong, from: thief).1.first {
          refused += 1
        }
      }
      let pair = RelayStage.pair(UInt64(honest))
      let (id, effects) = relay.ask(
        .login(word: pair.word, code: pair.code), from: "h\(honest)")
      #expect(effects.contains(.drawToken(.access(id))))
    }
    if perSecond > 15 { #expect(refused > 0) }
  }

  @Test func `during a flood, a caller may mistype once, and a second wrong pair locks it out`() {
    var relay = Relayed.withPhone {
      $0.wrongBurst = 3
      $0.floodWrongPairs = 2
    }
    relay.phone(2)
    let right = RelayCall.login(word: "anchor", code: "000001")
    for number in 1...3 { _ = relay.ask(Self.wrong, from: "t\(number)") }
    for name in ["ann", "bob", "bob"] { _ = relay.ask(Self.wrong, from: name) }
    let (id, effects) = relay.ask(right, from: "bob")
    #expect(effects == [.answer(id, .refused(.lockedOut(retryAfter: .seconds(900))))])
    let (next, allowed) = relay.ask(right, from: "ann")
    #expect(allowed.contains(.drawToken(.access(next))))
  }

  @Test func `after a flood five wrong pairs are allowed again`() {
    var relay = Relayed { $0.wrongBurst = 2 }
    for number in 1...3 { _ = relay.ask(Self.wrong, from: "t\(number)") }
    relay.pass(.milliseconds(500))
    for _ in 1...4 {
      let (id, effects) = relay.ask(Self.wrong, from: "ann")
      #expect(effects == [.answer(id, .refused(.wrongPair))])
      relay.pass(.milliseconds(100))
    }
  }

  @Test(arguments: [(599_999, false), (600_000, true)])
  func `a wrong pair counts for less than ten minutes`(milliseconds: Int, isAllowed: Bool) {
    var relay = Relayed.withPhone()
    _ = relay.ask(Self.wrong, from: "ann")
    relay.pass(.milliseconds(milliseconds))
    for _ in 1...4 { _ = relay.ask(Self.wrong, from: "ann") }
    let (id, effects) = relay.ask(Self.wrong, from: "ann")
    let refusal: RelayRefusal = isAllowed ? .wrongPair : .lockedOut(retryAfter: .seconds(900))
    #expect(effects == [.answer(id, .refused(refusal))])
  }

  @Test func `the addresses of one IPv6 network are locked out together`() {
    var relay = Relayed { $0.wrongPairsOfNetwork = 3 }
    let addresses = ["0001", "0002", "0003", "0004"].map { "20010db80001" + $0 }
    for address in addresses[..<3] { _ = relay.ask(Self.wrong, from: address) }
    let (id, effects) = relay.ask(Self.wrong, from: addresses[3])
    #expect(effects == [.answer(id, .refused(.lockedOut(retryAfter: .seconds(900))))])
    for other in ["20010db800020004", "7f000001", "20010db80001"] {
      let (id, effects) = relay.ask(Self.wrong, from: other)
      #expect(effects == [.answer(id, .refused(.wrongPair))])
    }
  }

  @Test func `addresses beyond the tracked ones share one wrong pair every 100 ms`() {
    var relay = Relayed.withPhone { $0.maxWatchedAddresses = 1 }
    for name in ["1", "2"] {
      let (id, effects) = relay.ask(Self.wrong, from: name)
      #expect(effects == [.answer(id, .refused(.wrongPair))])
    }
    relay.pass(.milliseconds(99))
    let (id, effects) = relay.ask(Self.wrong, from: "3")
    #expect(effects == [.answer(id, .refused(.lockedOut(retryAfter: .milliseconds(1))))])
    relay.pass(.milliseconds(1))
    let (next, allowed) = relay.ask(.login(word: "anchor", code: "000001"), from: "4")
    #expect(allowed.contains(.drawToken(.access(next))))
  }

  /// Checks the numbers of decision 0030 for an attacker who uses all tracked addresses for a whole
  /// day.
  @Test func `the worst allowed rate finds a given phone on fewer than one of 100,000 days`() {
    let policy = RelayServerPolicy()
    let life = policy.lockOut / .seconds(1)
    let watched = Double(policy.maxWatchedAddresses * policy.floodWrongPairs) / life
    let rate = watched + Duration.seconds(1) / policy.wrongInterval
    #expect((232...233).contains(rate))
    let guesses = rate * 86_400
    let pairs = 2_900.0 * 2_900 * 1_000_000
    #expect(guesses / pairs < 1e-5)
    #expect(100 * guesses / pairs < 1e-3)
  }

  @Test func `no address gets more comparisons than the worst allowed rate assumes`() {
    var relay = Relayed()
    var compared = 0
    // A hundred addresses together send 20 wrong pairs per second for 10 minutes.
    for number in 0..<12_000 {
      relay.pass(.milliseconds(50))
      let (id, effects) = relay.ask(Self.wrong, from: "t\(number % 100)")
      if effects == [.answer(id, .refused(.wrongPair))] { compared += 1 }
    }
    // Each address gets 5 attempts before the flood is detected, and is then locked out.
    #expect(compared <= 100 * 5)
  }
}
