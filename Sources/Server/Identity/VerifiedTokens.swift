public import HoldfastCore
public import HoldfastServerParts

/// The tokens that were verified lately, so that not every request costs a check of a signature.
///
/// Tokens are found by their hash alone. There are two generations: a token that is used moves to the
/// newer one, and the older one is dropped when the newer one is full.
public struct VerifiedTokens: Sendable {
  /// The maximum number of tokens in one generation. One token of each of 10,000 users fits.
  public static let maxTokens = 10_000
  /// The maximum size of all tokens of one generation, in bytes. The claims need about as much.
  public static let maxBytes = 16 << 20

  private struct Entry: Sendable {
    var token: VerifiedToken
    var size: Int
  }

  private var newer: [TokenHash: Entry] = [:]
  private var older: [TokenHash: Entry] = [:]
  /// The size of the tokens of the newer generation, in bytes.
  private var bytes = 0
  private var counts = Counts()
  /// The number of changes of the keys.
  public private(set) var era = 0

  private struct Counts: Sendable {
    var hits: UInt64 = 0
    var misses: UInt64 = 0
  }

  /// Creates a cache without tokens.
  public init() {}

  /// The number of tokens.
  public var count: Int { newer.count + older.count }

  /// Returns a token that has not expired; `nil` if it is unknown.
  public mutating func find(_ hash: TokenHash, at wall: Timestamp) -> VerifiedToken? {
    if let entry = newer[hash], wall < entry.token.claims.expiresAt {
      counts.hits += 1
      return entry.token
    }
    guard let entry = older.removeValue(forKey: hash), wall < entry.token.claims.expiresAt else {
      counts.misses += 1
      return nil
    }
    counts.hits += 1
    put(entry, hash)
    return entry.token
  }

  /// Returns whether a token is known and has not expired. It does not count as a search.
  public func knows(_ hash: TokenHash, at wall: Timestamp) -> Bool {
    (newer[hash] ?? older[hash]).map { wall < $0.token.claims.expiresAt } ?? false
  }

  /// Keeps a token with its size in bytes, unless it has expired.
  ///
  /// - Parameter era: The value of `era` before the check. If the keys have changed since, the token is
  ///   not kept.
  public mutating func keep(
    _ token: VerifiedToken, _ hash: TokenHash, size: Int, of era: Int, at wall: Timestamp
  ) {
    guard wall < token.claims.expiresAt, era == self.era else { return }
    put(Entry(token: token, size: size), hash)
  }

  private mutating func put(_ entry: Entry, _ hash: TokenHash) {
    if newer.count >= Self.maxTokens || bytes + entry.size > Self.maxBytes {
      (older, newer, bytes) = (newer, [:], 0)
    }
    bytes += entry.size - (newer.updateValue(entry, forKey: hash)?.size ?? 0)
  }

  /// Removes all tokens, since the keys have changed.
  public mutating func clear() {
    (newer, older, bytes) = ([:], [:], 0)
    era += 1
  }

  /// Adds the numbers of searches to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.counters(
      of: counts,
      [
        ("token_cache_hits", "Tokens whose signature was verified before.", \.hits),
        ("token_cache_misses", "Tokens whose signature was not known.", \.misses),
      ])
  }
}

extension VerifiedTokens: SelfChecking {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    check.require(
      newer.count <= Self.maxTokens && older.count <= Self.maxTokens && bytes <= Self.maxBytes,
      "verified tokens: they are bounded")
    guard check.isThorough else { return }
    check.require(
      bytes == newer.values.reduce(0) { $0 + $1.size },
      "verified tokens: the bytes are those of the newer ones")
  }
}
