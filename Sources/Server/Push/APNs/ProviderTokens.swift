import HoldfastCore
import HoldfastIdentity
import HoldfastJSON

/// The token that identifies a team to the push service. It is renewed before it is too old.
///
/// Apple accepts at most one new token in 20 minutes, and no token older than 60 minutes.
struct ProviderTokens {
  /// The age at which a token is renewed, ten minutes before the service would reject it.
  static let lifetime = Duration.seconds(50 * 60)
  /// The minimum age at which a token is replaced, whatever the service responds.
  static let leastAge = Duration.seconds(20 * 60)

  private let key: ProviderKey
  private let keyID: String
  private let team: String
  private var current: (text: String, since: Instant)?

  init(key: ProviderKey, keyID: String, team: String) {
    (self.key, self.keyID, self.team) = (key, keyID, team)
  }

  /// Returns the current token, or a new one if it is too old; `nil` if signing failed.
  mutating func token(at now: Instant, wall: Timestamp) -> String? {
    if let current, current.since.duration(to: now) < Self.lifetime { return current.text }
    guard let text = make(at: wall) else { return nil }
    current = (text, now)
    return text
  }

  /// Drops a token that the service reports as expired. Returns false if the token is too young to
  /// be replaced.
  ///
  /// The method also returns true if another token has replaced this one in the meantime.
  mutating func expire(_ token: String, at now: Instant) -> Bool {
    guard let current, current.text == token else { return true }
    guard current.since.duration(to: now) >= Self.leastAge else { return false }
    self.current = nil
    return true
  }

  private func make(at wall: Timestamp) -> String? {
    var header = JSONWriter()
    header.beginObject()
    header.key("alg")
    header.string("ES256")
    header.key("kid")
    header.string(keyID)
    header.endObject()
    var claims = JSONWriter()
    claims.beginObject()
    claims.key("iss")
    claims.string(team)
    claims.key("iat")
    claims.int(wall.seconds)
    claims.endObject()
    let input = Array("\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))".utf8)
    return key.sign(input).map { CompactToken.text(signingInput: input, signature: $0) }
  }
}

extension Timestamp {
  /// The number of whole seconds since 1970, rounded down.
  var seconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
}
