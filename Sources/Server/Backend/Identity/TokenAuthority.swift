import Foundation
import HoldfastCore
import HoldfastIdentity
import HoldfastKeyedHashing
import HoldfastMessageData
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import Synchronization

/// The verifier of all tokens of shops and users: those that the backend signs with its own secret,
/// and those of an identity provider.
///
/// HS256 tokens are checked with the secret alone, and tokens of other algorithms with public keys
/// alone, so a public key never serves as a secret (RFC 8725 section 2.1).
final class TokenAuthority: Sendable {
  private struct State {
    var keys: IssuerKeys
    var verified = VerifiedTokens()
  }

  private let tokens: Tokens
  private let provider: IdentityProvider?
  private let source: KeySource?
  private let clock = BootClock()
  /// The key of the hashes by which verified tokens are found.
  private let key = [UInt8].random(32)
  private let state: Mutex<State>

  /// - Parameter source: The source of the provider's keys. Those of a file are read now.
  init(
    _ tokens: Tokens, provider: IdentityProvider? = nil, source: KeySource? = nil
  ) throws(BackendError) {
    (self.tokens, self.provider, self.source) = (tokens, provider, source)
    let isFetched = if case .url? = source { true } else { false }
    let keys = try source?.read() ?? []
    state = Mutex(
      State(keys: isFetched ? IssuerKeys(fetchedFrom: clock.now) : IssuerKeys(keys)))
  }

  /// Opens the secret and the keys that a configuration names.
  ///
  /// - Throws: The errors of `Tokens.open`, and `.file` if the keys cannot be read.
  static func open(
    for configuration: BackendConfiguration
  ) throws(BackendError) -> TokenAuthority {
    let tokens = try Tokens.open(for: configuration)
    guard let identity = configuration.identity else { return try TokenAuthority(tokens) }
    return try TokenAuthority(
      tokens, provider: identity.provider, source: try KeySource(identity))
  }

  // MARK: - Requests

  /// Returns the credential of a request, taken from the `Authorization` field or, if that is
  /// missing, from the query item `token`.
  func credential(of head: HTTPRequestHead) -> Credential {
    switch head.token {
    case .missing: .missing
    case .unreadable: .invalid(reason: "not a bearer token")
    case .token(let token): credential(token)
    }
  }

  /// Returns the credential of a request with a token of the identity provider; `nil` if the request
  /// has none, or there is no provider. A token that the backend signed is refused.
  func providedCredential(of head: HTTPRequestHead) -> Credential? {
    guard provider != nil, case .token(let token) = head.token, isToken(token) else { return nil }
    switch verified(token) {
    case .success(let verified) where verified.isProvided:
      return verified.credential(at: clock.wall)
    case .success: return .invalid(reason: "it is not of the identity provider")
    case .failure(let refusal): return refusal.credential
    }
  }

  private func isToken(_ text: String) -> Bool { (try? CompactToken.split(text)) != nil }

  func credential(_ token: String) -> Credential {
    switch verified(token) {
    case .success(let verified): verified.credential(at: clock.wall)
    case .failure(let refusal): refusal.credential
    }
  }

  private struct Refusal: Error {
    var credential: Credential
  }

  private func hash(of token: String) -> TokenHash {
    guard let hash = TokenHash(KeyedHash.sha256(key: key, over: Array(token.utf8))) else {
      preconditionFailure("HMAC with SHA-256 makes 32 bytes")
    }
    return hash
  }

  /// Verifies a token, unless it was verified before. The times of a token are not checked.
  private func verified(_ token: String) -> Result<VerifiedToken, Refusal> {
    let (hash, wall) = (hash(of: token), clock.wall)
    let (known, era) = state.withLock { ($0.verified.find(hash, at: wall), $0.verified.era) }
    if let known { return .success(known) }
    let result = verify(token)
    if case .success(let verified) = result {
      let user = verified.claims.user
      guard user.isComposed, !verified.claims.isOfOperator else {
        return .failure(Refusal(credential: .invalid(reason: Self.notUser)))
      }
      state.withLock {
        $0.verified.keep(verified, hash, size: token.utf8.count, of: era, at: wall)
      }
    }
    return result
  }

  private static let notUser = "its user is not in Unicode's normalization form C, or reserved"

  private func verify(_ token: String) -> Result<VerifiedToken, Refusal> {
    let (header, parts): (TokenHeader, CompactToken)
    do throws(MessageError) {
      (header, parts) = try CompactToken.split(token)
    } catch {
      return .failure(Refusal(credential: .invalid(reason: "malformed")))
    }
    guard let provider, header.algorithm != CompactToken.hs256 else {
      let credential = tokens.verify(token)
      guard case .valid(let claims) = credential else {
        return .failure(Refusal(credential: credential))
      }
      return .success(VerifiedToken(claims, isProvided: false))
    }
    let keys = state.withLock { $0.keys }
    do throws(TokenFault) {
      let algorithm = try IdentityProvider.algorithm(of: header)
      let isUnknown = keys.keys.choice(of: header.keyID, for: algorithm) == .unknown
      // A request that could not wait for the keys is repeated by its client.
      let now = clock.now
      if isUnknown, keys.keys.isEmpty || keys.areAwaited(at: now) {
        let wait = keys.retryAfter(at: now)
        return .failure(Refusal(credential: .unchecked(retryAfter: wait)))
      }
      return .success(
        try provider.verify(parts, header, with: keys.keys, by: TokenSignature.isValid))
    } catch {
      return .failure(Refusal(credential: .invalid(reason: error.reason)))
    }
  }

  // MARK: - Keys

  /// The time of the next fetch of keys; `nil` for none.
  var deadline: Instant? { state.withLock { $0.keys.deadline } }

  /// Begins a fetch if one is due. Returns false if none is.
  func beginFetch(at now: Instant) -> Bool { state.withLock { $0.keys.begin(at: now) } }

  /// Fetches the keys. Must follow `beginFetch`.
  func fetch() async -> KeySetFetch { await source?.fetch() ?? .failed(reason: "no URL") }

  /// Takes the result of a fetch. Returns the number of keys.
  ///
  /// - Throws: The reason why the former keys remain.
  func fetched(_ fetch: KeySetFetch, at now: Instant) throws(KeySetFault) -> Int {
    do throws(KeySetFault) {
      let (keys, life) = try fetch.read()
      state.withLock {
        if $0.keys.fetched(keys, life: life, at: now) { $0.verified.clear() }
      }
      return keys.count
    } catch {
      state.withLock { $0.keys.failed(at: now) }
      throw error
    }
  }

  /// Reads the keys of a file again, or makes a fetch due. Returns the number of keys; `nil` for
  /// those of a URL.
  ///
  /// - Throws: `.file` if the keys cannot be read. The former ones remain.
  func renew(at now: Instant) throws(BackendError) -> Int? {
    guard let keys = try source?.read() else {
      state.withLock { $0.keys.renew(at: now) }
      return nil
    }
    state.withLock { if $0.keys.replace(with: keys) { $0.verified.clear() } }
    return keys.count
  }

  /// Returns whether a request has to wait for keys, which are being fetched or due to be fetched.
  func waits(_ head: HTTPRequestHead, at now: Instant) -> Bool {
    guard case .url? = source, case .token(let token) = head.token else { return false }
    let (hash, wall) = (hash(of: token), clock.wall)
    guard !state.withLock({ $0.verified.knows(hash, at: wall) }),
      let header = try? CompactToken.split(token).header,
      let algorithm = try? IdentityProvider.algorithm(of: header)
    else { return false }
    return state.withLock { $0.keys.waits(forKey: header.keyID, for: algorithm, at: now) }
  }

  /// Adds the numbers of keys and of verified tokens to the backend's page.
  func report(to page: inout MetricsPage) {
    state.withLock {
      $0.verified.report(to: &page)
      if provider != nil { $0.keys.report(to: &page) }
    }
  }
}

extension String {
  /// Whether the text is in Unicode's normalization form C (UAX #15).
  ///
  /// Two such texts that are equal as strings have the same bytes. The id of a user must be one, for
  /// `josé` with one character for the last letter and `josé` with two would else be one user in
  /// memory and two in a database.
  fileprivate var isComposed: Bool {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return true }
    // Foundation composes no syllable of Hangul with a consonant that follows, unless both are
    // decomposed before.
    let composed = decomposedStringWithCanonicalMapping.precomposedStringWithCanonicalMapping
    return composed.utf8.elementsEqual(utf8)
  }
}

/// The token of a request.
private enum RequestToken {
  case missing
  /// There is an `Authorization` field of another form.
  case unreadable
  case token(String)
}

extension HTTPRequestHead {
  fileprivate var token: RequestToken {
    if first("authorization") != nil { return bearer.map { .token($0) } ?? .unreadable }
    guard let item = query.first(where: { $0.name == "token" }), !item.value.isEmpty else {
      return .missing
    }
    return .token(item.value)
  }
}
