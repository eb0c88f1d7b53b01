import HoldfastAssistants
import HoldfastCore
import HoldfastRelayFixtures
import Testing

@testable import HoldfastRelayServer

/// Tests for the generation and the comparison of pairs.
struct RelayPairTests {
  @Test func `there are at least 2,048 distinct words of 4 to 8 letters`() {
    let words = Self.words()
    #expect(words.count >= 2_048)
    #expect(Set(words).count == words.count)
    #expect(words.allSatisfy { (4...8).contains($0.utf8.count) })
    #expect(words.allSatisfy { $0.utf8.allSatisfy { (0x61...0x7A).contains($0) } })
    #expect(words == words.sorted())
  }

  @Test func `no two words are one letter apart`() {
    #expect(Self.neighbours(Self.words()) == [])
  }

  @Test(arguments: [(["stone", "store"], 1), (["stone", "tone"], 1), (["stone", "house"], 0)])
  func `the check finds words that are one letter apart`(words: [String], found: Int) {
    #expect(Self.neighbours(words).count == found)
  }

  @Test func `codes have six digits, and every first digit occurs`() {
    var generator = RandomSource(seed: 4)
    let pairs = (0..<2_000).map { _ in RelayPair(using: &generator) }
    #expect(pairs.allSatisfy { $0.code.utf8.count == 6 && UInt32($0.code) != nil })
    #expect(Set(pairs.map(\.word)).count > 1_990)
    #expect(pairs.allSatisfy { $0.word.split(separator: "-").count == 2 })
    #expect(Set(pairs.compactMap(\.code.utf8.first)).count == 10)
  }

  @Test(arguments: [(1, "000000", true), (.max, "999999", false)] as [(UInt64, String, Bool)])
  func `codes range from 000000 to 999999, and words from the first to the last`(
    drawn: UInt64, code: String, isFirst: Bool
  ) throws {
    var generator = OneNumber(drawn: drawn)
    let word = try #require(isFirst ? RelayWords.all.first : RelayWords.all.last)
    #expect(RelayPair(using: &generator) == RelayPair(code: code, word: "\(word)-\(word)"))
  }

  @Test func `descriptions of pairs, secrets and grants do not reveal them`() {
    let grant = RelayGrant(accessToken: "s3cret", expiresIn: .seconds(1), user: "u")
    let texts = [
      "\(RelayStage.pair(123_456))", "\(RelayStage.secret("s3cret"))", "\(grant)",
      RelayRefusal.wrongPair.description,
      "\(RelayCall.login(word: "s3cret", code: "123456"))",
      "\(MCPServer.Bearer.text("s3cret"))",
      "\(MCPArguments([("access_token", "s3cret"), ("code", "123456")]))",
    ]
    for text in texts { #expect(!text.contains("123456") && !text.contains("s3cret")) }
  }

  @Test(arguments: [
    ("an-chor", "000001", true), ("an chor", "000001", true), ("anchor", "000001", true),
    ("Anchor", "000001", true), (" anchor ", "000 001", true),
    ("ANCHOR", "000-001", true), ("anchor", "000002", false), ("anchorx", "000001", false),
    ("ancho", "000001", false), ("", "", false), ("anchor", "0000011", false),
    ("anchor", "00001", false), ("anch\u{F6}r", "000001", false),
    ("anchor", "000001\u{0}", false), ("anchor\u{1}", "000001", false),
    ("bnchor", "000001", false),
    (String(repeating: "anchor", count: 100), "000001", false),
  ])
  func `a pair matches regardless of case, spaces and hyphens`(
    word: String, code: String, fits: Bool
  ) {
    var relay = Relayed.withPhone()
    let (id, effects) = relay.ask(.login(word: word, code: code))
    let refused: [RelayServer.Effect] = [.answer(id, .refused(.wrongPair))]
    #expect(
      effects
        == (fits ? [.drawToken(.access(id)), .drawToken(.pair(RelayStage.phone(1)))] : refused))
  }

  /// Returns the sorted words of 30,000 generated pairs.
  ///
  /// This number of pairs contains every word of the list, which the tests cannot access.
  private static func words() -> [String] {
    var generator = RandomSource(seed: 1)
    let words = (0..<30_000).flatMap { _ in RelayPair(using: &generator).word.split(separator: "-")
    }
    return Set(words.map(String.init)).sorted()
  }

  /// Returns the pairs of words that differ by one changed, missing or added letter.
  private static func neighbours(_ words: [String]) -> [String] {
    var seen: [String: String] = [:]
    var found: [String] = []
    for word in words {
      let letters = Array(word)
      var keys = [word]
      for index in letters.indices {
        let (head, tail) = (String(letters[..<index]), String(letters[(index + 1)...]))
        keys += [head + tail, "\(head)?\(tail)"]
      }
      for key in Set(keys).sorted() {
        if let other = seen[key], key.contains("?") || key == word || key == other {
          found.append("\(other) \(word)")
        }
        seen[key] = word
      }
    }
    return found
  }
}

/// A random number generator that always returns the same number.
private struct OneNumber: RandomNumberGenerator {
  let drawn: UInt64

  func next() -> UInt64 { drawn }
}
