public import HoldfastCore
import HoldfastJSON

/// The access that a token grants to its client.
public struct OAuthScopes: OptionSet, Sendable, Hashable, Codable {
  /// The scopes as the bits of a byte.
  public let rawValue: UInt8

  /// Creates scopes from the bits of a byte.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// `health:read`: to ask the phone for health data.
  public static let healthRead = OAuthScopes(rawValue: 1)

  /// Reads a list of scopes. Unknown ones are left out (RFC 6749 section 3.3).
  init(text: String) {
    self = text.split(separator: " ").contains("health:read") ? .healthRead : []
  }

  /// The list as text.
  var text: String { contains(.healthRead) ? "health:read" : "" }
}

/// An access token or a refresh token. It is signed, so that the backend stores none.
///
/// It holds the secret of its grant, of which the backend stores the hash: who reads the backend's
/// files cannot make a token.
struct OAuthToken: Sendable, Hashable {
  enum Kind: String, Sendable, CaseIterable {
    case access = "hfa_"
    case refresh = "hfr_"

    fileprivate var purpose: OAuthHashes.Purpose {
      switch self {
      case .access: .access
      case .refresh: .refresh
      }
    }
  }

  var kind: Kind
  /// The secret of the grant, 32 bytes.
  var secret: [UInt8]
  /// The first half of the hash of the client's id.
  var client: [UInt8]
  /// The number of the renewal that made the token.
  var generation: UInt64
  /// The second at which the token ends.
  var expiresAt: UInt64
  var scopes: OAuthScopes

  private static let (secretBytes, clientBytes, macBytes) = (32, 16, 32)
  private static let bytes = 1 + secretBytes + clientBytes + 8 + 8 + 1 + macBytes

  /// Returns the short hash of a client's id that tokens hold.
  static func hash(ofClient id: String, _ hashes: OAuthHashes) -> [UInt8] {
    Array(hashes.digest(id.utf8).prefix(clientBytes))
  }

  /// Returns the token as text, for one resource.
  func text(for resource: String, _ hashes: OAuthHashes) -> String {
    var bytes: [UInt8] = [1] + secret + client
    for number in [generation, expiresAt] {
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }
    bytes.append(scopes.rawValue)
    let mac = hashes.sign(bytes, for: kind.purpose, at: resource)
    return kind.rawValue + Base64URL.encode(bytes + mac)
  }

  /// Reads a token of either kind. Returns `nil` unless it was made for this resource, by this
  /// backend. The caller checks the expiry.
  static func read(_ text: String, for resource: String, _ hashes: OAuthHashes) -> OAuthToken? {
    guard let kind = Kind.allCases.first(where: { text.hasPrefix($0.rawValue) }),
      text.utf8.count <= 256, let all = Base64URL.decode(text.dropFirst(kind.rawValue.count)),
      all.count == bytes, all[0] == 1
    else { return nil }
    let (signed, mac) = (Array(all.dropLast(macBytes)), Array(all.suffix(macBytes)))
    guard hashes.areEqual(mac, hashes.sign(signed, for: kind.purpose, at: resource)) else {
      return nil
    }
    var rest = signed.dropFirst()
    func take(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    func number() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }
    return OAuthToken(
      kind: kind, secret: take(secretBytes), client: take(clientBytes), generation: number(),
      expiresAt: number(), scopes: OAuthScopes(rawValue: take(1)[0]))
  }

  /// Returns whether the token has not ended.
  func isLive(at wall: Timestamp) -> Bool { wall.wholeSeconds < expiresAt }
}

extension Timestamp {
  /// The whole seconds since 1970, or 0 before.
  var wholeSeconds: UInt64 { nanoseconds > 0 ? UInt64(nanoseconds / 1_000_000_000) : 0 }
}

/// The access that the token of a request to `/mcp` grants.
public enum OAuthPermission: Sendable, Hashable, Codable {
  /// There is no token.
  case missing
  /// The token is malformed, of another backend or resource, expired, or its grant has ended.
  case invalid
  /// The token's grant has no scope for this resource.
  case insufficient
  /// The token belongs to this grant.
  case granted(TokenHash)

  /// Reads the bearer token of a request.
  ///
  /// Whether the grant still exists is for the relay to say.
  public init(
    bearer: String?, at url: PublicURL, _ hashes: OAuthHashes, wall: Timestamp
  ) {
    guard let bearer else {
      self = .missing
      return
    }
    guard let token = OAuthToken.read(bearer, for: url.resource, hashes), token.kind == .access,
      token.isLive(at: wall)
    else {
      self = .invalid
      return
    }
    self =
      token.scopes.contains(.healthRead) ? .granted(hashes.grant(token.secret)) : .insufficient
  }
}
