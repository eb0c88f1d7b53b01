import HoldfastCore
import HoldfastRelayFixtures
import Testing

@testable import HoldfastAssistants

/// Tests of tokens: their issue, renewal, reuse and end.
struct OAuthTokenTests {
  /// Returns parameters with one replaced, or left out if the value is `nil`.
  private func changed(
    _ pairs: [(String, String)], _ name: String, _ value: String?
  ) -> [(String, String)] {
    pairs.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? [])
  }

  @Test func `a code is exchanged for tokens (OAuth 2.1 section 3.2.3)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let reply = stage.ask(.post, .token, stage.exchange(client, stage.code(client)))
    #expect(reply.status == 200)
    #expect(reply.field("Cache-Control") == "no-store")
    #expect(reply.field("Content-Type") == "application/json")
    #expect(reply.field("Access-Control-Allow-Origin") == "*")
    #expect(reply.json("token_type") == "Bearer")
    #expect(reply.json("scope") == "health:read")
    #expect(reply.text.contains(#""expires_in":3600,"#))
    #expect(reply.json("refresh_token").hasPrefix("hfr_"))
    let access = reply.json("access_token")
    #expect(access.hasPrefix("hfa_") && access.utf8.count < 200)
    #expect(stage.isGranted(access))
    #expect(stage.permission(reply.json("refresh_token")) == .invalid)
    #expect(!stage.isGranted(access + "A") && !stage.isGranted(String(access.dropLast())))
  }

  @Test(
    arguments: [
      ("grant_type", nil, "invalid_request"), ("grant_type", "password", "unsupported_grant_type"),
      ("code", nil, "invalid_request"), ("code", "other", "invalid_grant"),
      ("client_id", nil, "invalid_client"), ("client_id", "other", "invalid_grant"),
      ("code_verifier", nil, "invalid_request"),
      ("code_verifier", String(repeating: "w", count: 43), "invalid_grant"),
      ("code_verifier", "short", "invalid_grant"),
      ("redirect_uri", "https://claude.example/other", "invalid_grant"),
      ("resource", "https://other.example/mcp", "invalid_target"),
    ] as [(String, String?, String)])
  func `a code is bound to client, URI, challenge and resource (RFC 6749 section 5.2)`(
    name: String, value: String?, error: String
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    let reply = stage.ask(.post, .token, changed(exchange, name, value))
    #expect(reply.failure == "400 \(error)")
    #expect(reply.field("Cache-Control") == "no-store")
    #expect(stage.ask(.post, .token, exchange).status == 200, "a fault does not use the code")
  }

  @Test func `redirect_uri and resource may be left out (OAuth 2.1 section 10.2)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    let bare = changed(changed(exchange, "redirect_uri", nil), "resource", nil)
    #expect(stage.ask(.post, .token, bare).status == 200)
  }

  @Test func `a client that authenticates receives 401 (RFC 6749 section 5.2)`() {
    var stage = OAuthStage()
    let reply = stage.ask(.post, .token, [("grant_type", "authorization_code")]) {
      $0.hasAuthorization = true
    }
    #expect(reply.failure == "401 invalid_client")
    #expect(reply.field("WWW-Authenticate")?.hasPrefix("Basic") == true)
  }

  @Test(arguments: [nil, "application/json", "text/plain"] as [String?])
  func `the token endpoint takes forms (RFC 6749 section 4.1.3)`(type: String?) {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    for route in [OAuthRoute.token, .revoke] {
      let reply = stage.ask(.post, route, exchange) { $0.fields.contentType = type }
      #expect(reply.failure == "400 invalid_request")
    }
    let twice = stage.ask(.post, .token, exchange + [("code", "x")])
    #expect(twice.failure == "400 invalid_request")
    let form = stage.ask(.post, .token, exchange) {
      $0.fields.contentType = "application/x-www-form-urlencoded; charset=UTF-8"
    }
    #expect(form.status == 200)
  }

  @Test(arguments: [(59_999, 200), (60_000, 400), (60_001, 400)])
  func `a code lives 60 s`(milliseconds: Int, status: Int) {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    stage.pass(.milliseconds(milliseconds))
    let reply = stage.ask(.post, .token, exchange)
    #expect(reply.status == status)
    #expect(status == 200 || reply.json("error") == "invalid_grant")
  }

  @Test func `a sign-in whose code is never used is no assistant after two minutes`() {
    var stage = OAuthStage()
    let client = stage.register()
    _ = stage.code(client)
    #expect(stage.assistants() == ["Claude"])
    stage.pass(.seconds(120))
    #expect(stage.assistants().isEmpty && stage.server.codes.isEmpty)
  }

  @Test func `a code that is used twice ends its tokens (OAuth 2.1 section 4.1.3)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    let tokens = stage.ask(.post, .token, exchange)
    let other = stage.tokens(client)
    stage.pass(.seconds(600))
    #expect(stage.isGranted(tokens.json("access_token")))
    #expect(stage.ask(.post, .token, exchange).failure == "400 invalid_grant")
    #expect(!stage.isGranted(tokens.json("access_token")))
    let refresh = stage.refresh(client, tokens.json("refresh_token"))
    #expect(refresh.failure == "400 invalid_grant")
    #expect(stage.isGranted(other.access), "another grant of the same client stays")
    #expect(stage.assistants() == ["Claude"])
  }

  @Test func `two exchanges of a code at once end the grant`() {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    stage.storesAtOnce = false
    let (first, second) = (
      stage.send(.post, .token, exchange), stage.send(.post, .token, exchange)
    )
    for _ in 0..<4 { stage.completeWrite() }
    #expect(stage[first].failure == "400 invalid_grant")
    #expect(stage[second].failure == "400 invalid_grant")
    #expect(stage.assistants().isEmpty)
  }

  @Test func `an access token lives an hour`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    stage.pass(.seconds(3_599))
    #expect(stage.isGranted(tokens.access))
    stage.pass(.seconds(1))
    #expect(stage.permission(tokens.access) == .invalid)
    #expect(stage.refresh(client, tokens.refresh).status == 200)
  }

  @Test func `a refresh token rotates, and reuse ends the family (OAuth 2.1 section 4.3.1)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let first = stage.tokens(client)
    let second = stage.refresh(client, first.refresh)
    #expect(second.status == 200)
    #expect(second.json("refresh_token") != first.refresh)
    let third = stage.refresh(client, second.json("refresh_token"))
    #expect(third.status == 200)
    for access in [first.access, second.json("access_token"), third.json("access_token")] {
      #expect(stage.isGranted(access))
    }
    #expect(stage.refresh(client, first.refresh).failure == "400 invalid_grant")
    for access in [first.access, second.json("access_token"), third.json("access_token")] {
      #expect(!stage.isGranted(access))
    }
    let late = stage.refresh(client, third.json("refresh_token"))
    #expect(late.failure == "400 invalid_grant")
    #expect(stage.assistants().isEmpty)
  }

  @Test(arguments: [(0, true), (29_999, true), (30_000, false), (30_001, false)])
  func `a client that lost an answer has the same tokens for 30 s`(
    milliseconds: Int, isKept: Bool
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let first = stage.tokens(client)
    let second = stage.refresh(client, first.refresh)
    stage.pass(.milliseconds(milliseconds))
    let again = stage.refresh(client, first.refresh)
    #expect(again.status == (isKept ? 200 : 400))
    #expect(stage.isGranted(second.json("access_token")) == isKept)
    guard isKept else { return }
    let token = OAuthToken.read(
      again.json("refresh_token"), for: OAuthStage.url.resource, stage.hashes)
    #expect(token?.generation == 2, "a repeated renewal is no renewal")
    let third = stage.refresh(client, again.json("refresh_token"))
    #expect(third.status == 200)
    #expect(stage.refresh(client, second.json("refresh_token")).status == 200)
    #expect(stage.refresh(client, first.refresh).failure == "400 invalid_grant")
    #expect(!stage.isGranted(third.json("access_token")))
  }

  @Test func `renewals at once lead to the same tokens`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    let refreshing = OAuthStage.refreshing(client, tokens.refresh)
    stage.storesAtOnce = false
    let ids = (0..<3).map { _ in stage.send(.post, .token, refreshing) }
    #expect(ids.allSatisfy { stage[$0].status == 0 }, "nothing is issued before it is durable")
    stage.completeWrite()
    #expect(ids.allSatisfy { stage[$0].status == 200 })
    let renewed = Set(ids.map { stage[$0].json("refresh_token") })
    #expect(renewed.count == 1 && !renewed.contains(tokens.refresh))
    stage.completeWrite()
    stage.storesAtOnce = true
    #expect(stage.refresh(client, renewed.first ?? "").status == 200)
  }

  @Test(arguments: [nil, .full(detail: "no space")] as [StoreFailure?])
  func `a client that tries again while its first try is stored keeps its sign-in`(
    failure: StoreFailure?
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    let refreshing = OAuthStage.refreshing(client, tokens.refresh)
    stage.storesAtOnce = false
    stage.feed(.abandoned(stage.send(.post, .token, refreshing)))
    let again = stage.send(.post, .token, refreshing)
    stage.completeWrite(failure: failure)
    stage.storesAtOnce = true
    #expect(stage[again].status == (failure == nil ? 200 : 503))
    let token = failure == nil ? stage[again].json("refresh_token") : tokens.refresh
    stage.pass(.seconds(60))
    #expect(stage.refresh(client, token).status == 200)
  }

  @Test func `a code that is being redeemed is remembered beyond its end`() {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    stage.storesAtOnce = false
    stage.pass(.seconds(59))
    let id = stage.send(.post, .token, exchange)
    stage.pass(.seconds(30))
    stage.completeWrite()
    #expect(stage[id].status == 200)
    stage.storesAtOnce = true
    stage.pass(.seconds(3_599))
    #expect(stage.server.codes.count == 1)
    #expect(stage.ask(.post, .token, exchange).failure == "400 invalid_grant")
    #expect(stage.assistants().isEmpty)
    stage.pass(.seconds(2))
    #expect(stage.server.codes.isEmpty)
  }

  @Test func `a grant lives 30 days without use, and each refresh renews it`() {
    var stage = OAuthStage()
    let client = stage.register()
    var refresh = stage.tokens(client).refresh
    for _ in 0..<3 {
      stage.pass(.seconds(30 * 86_400 - 1))
      let reply = stage.refresh(client, refresh)
      #expect(reply.status == 200)
      refresh = reply.json("refresh_token")
    }
    stage.pass(.seconds(30 * 86_400))
    #expect(stage.refresh(client, refresh).failure == "400 invalid_grant")
    #expect(stage.assistants().isEmpty)
  }

  @Test(
    arguments: [
      ("refresh_token", nil, "invalid_request"), ("refresh_token", "hfr_x", "invalid_grant"),
      ("client_id", nil, "invalid_client"), ("client_id", "other", "invalid_grant"),
      ("scope", "mail:read", "invalid_scope"),
      ("resource", "https://other.example/mcp", "invalid_target"),
    ] as [(String, String?, String)])
  func `a refresh token is bound to client and resource (RFC 6749 section 6)`(
    name: String, value: String?, error: String
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    let refreshing = OAuthStage.refreshing(client, tokens.refresh)
    let reply = stage.ask(.post, .token, changed(refreshing, name, value))
    #expect(reply.failure == "400 \(error)")
    let swapped = changed(refreshing, "refresh_token", tokens.access)
    #expect(stage.ask(.post, .token, swapped).failure == "400 invalid_grant")
    #expect(stage.ask(.post, .token, refreshing + [("scope", "health:read")]).status == 200)
  }

  @Test func `a renewal that cannot be stored leaves the old token valid`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    stage.storesAtOnce = false
    let id = stage.send(.post, .token, OAuthStage.refreshing(client, tokens.refresh))
    stage.completeWrite(failure: .full(detail: "no space"))
    #expect(stage[id].failure == "503 temporarily_unavailable")
    #expect(stage[id].field("Retry-After") == "2")
    stage.storesAtOnce = true
    #expect(stage.refresh(client, tokens.refresh).status == 200)
  }

  @Test func `a client that left before it had its tokens can try again`() {
    var stage = OAuthStage()
    let client = stage.register()
    let exchange = stage.exchange(client, stage.code(client))
    stage.storesAtOnce = false
    stage.feed(.abandoned(stage.send(.post, .token, exchange)))
    for _ in 0..<2 { stage.completeWrite() }
    stage.storesAtOnce = true
    let reply = stage.ask(.post, .token, exchange)
    #expect(reply.status == 200)
    stage.storesAtOnce = false
    let refresh = reply.json("refresh_token")
    stage.feed(.abandoned(stage.send(.post, .token, OAuthStage.refreshing(client, refresh))))
    for _ in 0..<2 { stage.completeWrite() }
    stage.storesAtOnce = true
    #expect(stage.refresh(client, refresh).status == 200)
  }

  @Test(arguments: [false, true])
  func `a revoked token ends its grant (RFC 7009 section 2)`(isRefresh: Bool) {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    let token = isRefresh ? tokens.refresh : tokens.access
    let foreign = stage.ask(.post, .revoke, [("token", token), ("client_id", "other")])
    #expect(foreign.failure == "400 invalid_client")
    #expect(stage.isGranted(tokens.access))
    for _ in 0..<2 {
      let reply = stage.ask(.post, .revoke, [("token", token), ("client_id", client)])
      #expect(reply.status == 200 && reply.body.isEmpty)
    }
    #expect(!stage.isGranted(tokens.access) && stage.assistants().isEmpty)
    #expect(stage.refresh(client, tokens.refresh).failure == "400 invalid_grant")
  }

  @Test func `an unknown token is revoked already (RFC 7009 section 2.2)`() {
    var stage = OAuthStage()
    #expect(stage.ask(.post, .revoke, [("token", "x")]).status == 200)
    #expect(stage.ask(.post, .revoke).failure == "400 invalid_request")
  }

  @Test func `a token of another resource or backend is invalid (RFC 8707 section 2)`() {
    var (stage, other) = (OAuthStage(), OAuthStage(key: 8))
    let access = stage.tokens(stage.register()).access
    #expect(other.permission(access) == .invalid)
    let own = other.tokens(other.register()).access
    #expect(other.isGranted(own) && !stage.isGranted(own))
    guard let elsewhere = PublicURL("https://other.example") else { return }
    let moved = OAuthPermission(
      bearer: access, at: elsewhere, stage.hashes, wall: stage.relay.wall)
    #expect(moved == .invalid)
  }

  @Test func `a token without the scope is insufficient (RFC 6750 section 3.1)`() {
    let stage = OAuthStage()
    let token = OAuthToken(
      kind: .access, secret: [UInt8](repeating: 1, count: 32),
      client: [UInt8](repeating: 2, count: 16), generation: 1, expiresAt: .max, scopes: [])
    let text = token.text(for: OAuthStage.url.resource, stage.hashes)
    #expect(OAuthToken.read(text, for: OAuthStage.url.resource, stage.hashes) == token)
    #expect(stage.permission(text) == .insufficient)
  }

  @Test func `no bit of a token can be changed`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    for text in [tokens.access, tokens.refresh] {
      for index in text.indices {
        let letter = text[index] == "A" ? "B" : "A"
        let changed = text[..<index] + letter + text[text.index(after: index)...]
        #expect(
          OAuthToken.read(String(changed), for: OAuthStage.url.resource, stage.hashes) == nil)
      }
    }
  }

  @Test func `the secret of a grant is no bearer token`() {
    var stage = OAuthStage()
    let access = stage.tokens(stage.register()).access
    let token = OAuthToken.read(access, for: OAuthStage.url.resource, stage.hashes)
    guard case .granted(let grant) = stage.permission(access), let token else {
      Issue.record("the token is valid")
      return
    }
    #expect(stage.hashes.digest(token.secret) != grant.bytes)
    #expect(stage.hashes.digest(access.utf8) != grant.bytes)
  }
}
