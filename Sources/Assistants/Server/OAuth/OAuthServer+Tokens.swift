import HoldfastCore
import HoldfastJSON
import HoldfastRelayServer

// Tokens: their issue, renewal and end.
extension OAuthServer {
  /// Handles `POST /oauth/token` (OAuth 2.1 section 3.2).
  mutating func token(_ id: RequestID, _ call: OAuthCall, wall: Timestamp) {
    do throws(OAuthFault) {
      let parameters = try form(of: call)
      guard let client = parameters["client_id"] else {
        return failClient(id, call, "client_id is missing")
      }
      guard hasRoom else { return failBusy(id, policy.busyRetry) }
      switch parameters["grant_type"] {
      case "authorization_code": try redeem(id, call, parameters, client)
      case "refresh_token": try refresh(id, call, parameters, client, wall: wall)
      case nil: throw OAuthFault(.invalidRequest, "grant_type is missing")
      case _?:
        throw OAuthFault(
          .unsupportedGrantType, "grant_type is authorization_code or refresh_token")
      }
    } catch {
      fail(id, error)
    }
  }

  /// Returns the parameters of a form. Clients are public, so a client that authenticates is
  /// unknown.
  private func form(of call: OAuthCall) throws(OAuthFault) -> OAuthParameters {
    guard call.isForm else {
      throw OAuthFault(.invalidRequest, "the body must be application/x-www-form-urlencoded")
    }
    let parameters = OAuthParameters(call.parameters)
    try parameters.checkRepeats()
    return parameters
  }

  /// Refuses a client. If it tried to authenticate, the response names the scheme (RFC 6749 section
  /// 5.2).
  private mutating func failClient(_ id: RequestID, _ call: OAuthCall, _ text: String) {
    let challenge = OAuthField("WWW-Authenticate", "Basic realm=\"none\"")
    fail(
      id, OAuthFault(.invalidClient, text), status: call.hasAuthorization ? 401 : 400,
      call.hasAuthorization ? [challenge] : [])
  }

  private mutating func failBusy(_ id: RequestID, _ wait: Duration) {
    fail(
      id, OAuthFault(.temporarilyUnavailable, "the server is too busy now; try again"),
      status: 503, retryAfter: wait)
  }

  // MARK: Codes

  /// Redeems a code (OAuth 2.1 section 4.1.3).
  private mutating func redeem(
    _ id: RequestID, _ call: OAuthCall, _ parameters: OAuthParameters, _ client: String
  ) throws(OAuthFault) {
    guard let text = parameters["code"] else {
      throw OAuthFault(.invalidRequest, "code is missing")
    }
    guard let verifier = parameters["code_verifier"] else {
      throw OAuthFault(.invalidRequest, "code_verifier is missing")
    }
    let unknown = OAuthFault(.invalidGrant, "the code is unknown or has expired")
    let key = hashes.key(of: text)
    guard let code = codes[key], code.client == client else { throw unknown }
    guard code.stage == .fresh else {
      return ask(id, .logout, grant: code.grant, from: call.address, .replay)
    }
    guard now < code.until else { throw unknown }
    if let redirect = parameters["redirect_uri"], redirect != code.redirect {
      throw OAuthFault(.invalidGrant, "redirect_uri differs from that of the sign-in")
    }
    guard Self.isVerifier(verifier),
      hashes.areEqual(hashes.digest(verifier.utf8), code.challenge)
    else { throw OAuthFault(.invalidGrant, "code_verifier does not fit the challenge") }
    try parameters.checkResource(url)
    codes[key]?.stage = .redeeming
    let token = OAuthToken(
      kind: .refresh, secret: code.secret, client: OAuthToken.hash(ofClient: client, hashes),
      generation: 0, expiresAt: 0, scopes: code.scopes)
    ask(
      id, .renew(generation: 0), grant: code.grant, from: call.address,
      .tokens(token, client: client, code: key))
  }

  /// Returns whether a text has the form of a verifier (RFC 7636 section 4.1).
  private static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count) && text.percentEncoded == text
  }

  // MARK: Refresh tokens

  /// Exchanges a refresh token (OAuth 2.1 section 4.3.1).
  private mutating func refresh(
    _ id: RequestID, _ call: OAuthCall, _ parameters: OAuthParameters, _ client: String,
    wall: Timestamp
  ) throws(OAuthFault) {
    guard let text = parameters["refresh_token"] else {
      throw OAuthFault(.invalidRequest, "refresh_token is missing")
    }
    guard var token = OAuthToken.read(text, for: url.resource, hashes), token.kind == .refresh,
      token.client == OAuthToken.hash(ofClient: client, hashes), token.isLive(at: wall)
    else { throw OAuthFault(.invalidGrant, "the refresh token is unknown or has expired") }
    try parameters.checkResource(url)
    if parameters["scope"] != nil {
      let scopes = try parameters.scopes()
      guard token.scopes.isSuperset(of: scopes) else {
        throw OAuthFault(.invalidScope, "the sign-in does not have this scope")
      }
      token.scopes = scopes
    }
    ask(
      id, .renew(generation: token.generation), grant: hashes.grant(token.secret),
      from: call.address, .tokens(token, client: client, code: nil))
  }

  /// Issues tokens once the renewal of their grant is durable.
  mutating func renewed(
    _ id: RequestID, _ old: OAuthToken, client: String, code: TokenHash?, _ outcome: RelayOutcome,
    wall: Timestamp
  ) {
    switch outcome {
    case .renewed(let generation):
      if let code { used(code) }
      var token = old
      token.generation = generation
      issue(id, token, wall: wall)
    case .refused(let refusal) where refusal.retryAfter != nil:
      if let code { codes[code]?.stage = .fresh }
      failBusy(id, refusal.retryAfter ?? policy.busyRetry)
    case .refused, .loggedIn, .loggedOut, .data:
      if let code { used(code) }
      fail(id, OAuthFault(.invalidGrant, "the sign-in has ended; sign in again"))
    }
  }

  private mutating func issue(_ id: RequestID, _ grant: OAuthToken, wall: Timestamp) {
    var (access, refresh) = (grant, grant)
    (access.kind, refresh.kind) = (.access, .refresh)
    access.expiresAt = wall.advanced(by: policy.accessLife).wholeSeconds
    refresh.expiresAt = wall.advanced(by: policy.refreshLife).wholeSeconds
    var writer = JSONWriter(capacity: 500)
    writer.beginObject()
    writer.entry("access_token", access.text(for: url.resource, hashes))
    writer.entry("token_type", "Bearer")
    writer.entry("expires_in", policy.accessLife.components.seconds)
    writer.entry("refresh_token", refresh.text(for: url.resource, hashes))
    writer.entry("scope", grant.scopes.text)
    writer.endObject()
    metrics.tokens += 1
    var reply = OAuthReply.json(200, writer.bytes)
    reply.fields += OAuthReply.anyOrigin
    answer(id, reply)
  }

  // MARK: The end

  /// Handles `POST /oauth/revoke` (RFC 7009 section 2). Any token of a grant ends it.
  mutating func revoke(_ id: RequestID, _ call: OAuthCall) {
    do throws(OAuthFault) {
      let parameters = try form(of: call)
      guard let text = parameters["token"] else {
        throw OAuthFault(.invalidRequest, "token is missing")
      }
      guard let token = OAuthToken.read(text, for: url.resource, hashes) else {
        return revoked(id, .loggedOut)
      }
      if let client = parameters["client_id"],
        token.client != OAuthToken.hash(ofClient: client, hashes)
      {
        return failClient(id, call, "the token belongs to another client")
      }
      guard hasRoom else { return failBusy(id, policy.busyRetry) }
      ask(
        id, .logout, grant: hashes.grant(token.secret), from: call.address, .revocation)
    } catch {
      fail(id, error)
    }
  }

  /// Confirms that a token has ended. An unknown token has ended, too (RFC 7009 section 2.2).
  mutating func revoked(_ id: RequestID, _ outcome: RelayOutcome) {
    if case .refused(let refusal) = outcome, let wait = refusal.retryAfter {
      return failBusy(id, wait)
    }
    answer(
      id, OAuthReply(200, [OAuthField("Cache-Control", "no-store")] + OAuthReply.anyOrigin))
  }
}
