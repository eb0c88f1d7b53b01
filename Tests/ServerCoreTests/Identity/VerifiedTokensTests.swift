import HoldfastCore
import HoldfastStorage
import HoldfastWire
import Testing

@testable import HoldfastServerCore

/// Tests of the tokens that are kept after a check.
struct VerifiedTokensTests {
  private static let now = Timestamp(nanoseconds: 1_000_000_000_000)

  private static func hash(_ number: Int) throws -> TokenHash {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    return try #require(TokenHash(bytes + [UInt8](repeating: 0, count: 24)))
  }

  private static func token(life: Duration = .seconds(10)) -> VerifiedToken {
    VerifiedToken(Claims(user: "ann", name: "", shops: [], expiresAt: now.advanced(by: life)))
  }

  @Test func `a token is found until it expires`() throws {
    var tokens = VerifiedTokens()
    let hash = try Self.hash(1)
    #expect(tokens.find(hash, at: Self.now) == nil)
    tokens.keep(Self.token(), hash, size: 100, at: Self.now)
    let end = Self.now.advanced(by: .seconds(10))
    let last = end.advanced(by: .nanoseconds(-1))
    #expect(tokens.find(hash, at: last) == Self.token())
    #expect(tokens.knows(hash, at: last))
    #expect(!tokens.knows(hash, at: end))
    #expect(tokens.find(hash, at: end) == nil)
    #expect(tokens.find(try Self.hash(2), at: Self.now) == nil)
  }

  @Test func `an expired token is not kept`() throws {
    var tokens = VerifiedTokens()
    tokens.keep(Self.token(life: .zero), try Self.hash(1), size: 1, at: Self.now)
    #expect(tokens.count == 0)
  }

  @Test func `a change of keys clears all`() throws {
    var tokens = VerifiedTokens()
    tokens.keep(Self.token(), try Self.hash(1), size: 1, at: Self.now)
    tokens.clear()
    #expect(tokens.find(try Self.hash(1), at: Self.now) == nil)
  }

  @Test func `the number is bounded, and used tokens remain`() throws {
    var tokens = VerifiedTokens()
    let most = VerifiedTokens.maxTokens
    for number in 0..<most {
      tokens.keep(Self.token(), try Self.hash(number), size: 1, at: Self.now)
    }
    #expect(tokens.count == most)
    for number in most..<(3 * most) {
      tokens.keep(Self.token(), try Self.hash(number), size: 1, at: Self.now)
      if number % 1_000 == 0 { #expect(tokens.find(try Self.hash(0), at: Self.now) != nil) }
    }
    #expect(tokens.count <= 2 * most)
    #expect(tokens.find(try Self.hash(1), at: Self.now) == nil)
    #expect(tokens.brokenInvariants(.thorough) == [])
  }

  @Test func `the size is bounded`() throws {
    var tokens = VerifiedTokens()
    let half = VerifiedTokens.maxBytes / 2
    for number in 0..<5 {
      tokens.keep(Self.token(), try Self.hash(number), size: half, at: Self.now)
      #expect(tokens.count <= 4)
      #expect(tokens.brokenInvariants(.thorough) == [])
    }
    #expect(tokens.find(try Self.hash(0), at: Self.now) == nil)
    #expect(tokens.find(try Self.hash(4), at: Self.now) != nil)
  }
}
