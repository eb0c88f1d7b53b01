import HoldfastCore
import HoldfastIdentity
import Testing

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
    let found1 = tokens.find(hash, at: Self.now)
    #expect(found1 == nil)
    tokens.keep(Self.token(), hash, size: 100, of: 0, at: Self.now)
    let end = Self.now.advanced(by: .seconds(10))
    let last = end.advanced(by: .nanoseconds(-1))
    let found2 = tokens.find(hash, at: last)
    #expect(found2 == Self.token())
    #expect(tokens.knows(hash, at: last))
    #expect(!tokens.knows(hash, at: end))
    let found3 = tokens.find(hash, at: end)
    #expect(found3 == nil)
    let found4 = tokens.find(try Self.hash(2), at: Self.now)
    #expect(found4 == nil)
  }

  @Test func `an expired token is not kept`() throws {
    var tokens = VerifiedTokens()
    tokens.keep(Self.token(life: .zero), try Self.hash(1), size: 1, of: 0, at: Self.now)
    #expect(tokens.count == 0)
  }

  @Test func `a change of keys clears all`() throws {
    var tokens = VerifiedTokens()
    tokens.keep(Self.token(), try Self.hash(1), size: 1, of: 0, at: Self.now)
    tokens.clear()
    let found5 = tokens.find(try Self.hash(1), at: Self.now)
    #expect(found5 == nil)
    // A check that began before the change proves nothing about the new keys.
    tokens.keep(Self.token(), try Self.hash(1), size: 1, of: 0, at: Self.now)
    #expect(tokens.count == 0)
    tokens.keep(Self.token(), try Self.hash(1), size: 1, of: tokens.era, at: Self.now)
    #expect(tokens.count == 1)
  }

  @Test func `the number is bounded, and used tokens remain`() throws {
    var tokens = VerifiedTokens()
    let most = VerifiedTokens.maxTokens
    for number in 0..<most {
      tokens.keep(Self.token(), try Self.hash(number), size: 1, of: 0, at: Self.now)
    }
    #expect(tokens.count == most)
    for number in most..<(3 * most) {
      tokens.keep(Self.token(), try Self.hash(number), size: 1, of: 0, at: Self.now)
      let used = number % 1_000 == 0 ? tokens.find(try Self.hash(0), at: Self.now) : Self.token()
      #expect(used != nil)
    }
    #expect(tokens.count <= 2 * most)
    let found6 = tokens.find(try Self.hash(1), at: Self.now)
    #expect(found6 == nil)
  }

  @Test func `the size is bounded`() throws {
    var tokens = VerifiedTokens()
    let half = VerifiedTokens.maxBytes / 2
    for number in 0..<5 {
      tokens.keep(Self.token(), try Self.hash(number), size: half, of: 0, at: Self.now)
      #expect(tokens.count <= 4)
    }
    let found7 = tokens.find(try Self.hash(0), at: Self.now)
    #expect(found7 == nil)
    let found8 = tokens.find(try Self.hash(4), at: Self.now)
    #expect(found8 != nil)
  }
}
