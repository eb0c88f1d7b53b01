import Testing

@testable import HoldfastRelayServer

/// Tests for the digests that are used to compare pairs.
struct RelayDigestTests {
  @Test func `characters of the word are not taken for the code`() {
    let pair = RelayPair(code: "b\u{0}c", word: "a")
    let other = RelayPair(code: "c", word: "a\u{0}b")
    #expect(pair.digest.isSame(as: pair.digest))
    #expect(!pair.digest.isSame(as: other.digest))
  }
}
