import HoldfastCore
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

@testable import HoldfastAssistants

/// Tests of the page that asks for word and code, from the request to the redirect.
struct OAuthAuthorizeTests {
  private static let pair = [("word", "Anchor "), ("code", RelayStage.pair(1).code)]

  /// Returns parameters with some of them replaced, or left out if the value is `nil`.
  private func changed(
    _ pairs: [(String, String)], _ changes: [String: String?]
  ) -> [(String, String)] {
    pairs.filter { !changes.keys.contains($0.0) }
      + changes.sorted { $0.key < $1.key }.compactMap { name, value in value.map { (name, $0) } }
  }

  @Test func `the form names the client and the host, and repeats the request`() {
    var stage = OAuthStage()
    let client = stage.register(name: "<b>Claude & \\\"co\\\"")
    let reply = stage.ask(.get, .authorize, stage.request(client))
    #expect(reply.status == 200)
    let page = reply.text
    #expect(page.contains("&lt;b&gt;Claude &amp; &quot;co&quot;"))
    #expect(!page.contains("<b>Claude") && !page.contains("id=\"site\""))
    #expect(page.contains("Continue only if you started this yourself, in this app:"))
    #expect(page.contains("claude.example"))
    for field in [client, OAuthStage.callback, "s 1&amp;2", "https://relay.example/mcp"] {
      #expect(page.contains("value=\"\(field)\""))
    }
    #expect(reply.field("Cache-Control") == "no-store")
    #expect(reply.field("Referrer-Policy") == "same-origin")
    #expect(reply.field("X-Content-Type-Options") == "nosniff")
    let source = stage.hashes.policySource(of: OAuthPages.style)
    #expect(
      reply.field("Content-Security-Policy")
        == "default-src 'none'; style-src \(source); form-action 'self' https: "
        + "http://localhost:* http://127.0.0.1:*; base-uri 'none'; frame-ancestors 'none'")
  }

  @Test(arguments: [
    ("http://localhost/cb", false), ("http://127.0.0.1:1/cb", false), ("http://[::1]/cb", true),
    ("https://a.example/cb", false),
  ])
  func `a callback may redirect to other origins, in Chromium as well`(
    redirect: String, isHTTP: Bool
  ) {
    var stage = OAuthStage()
    let client = stage.register([redirect])
    let reply = stage.ask(.get, .authorize, stage.request(client, redirect: redirect))
    let policy = reply.field("Content-Security-Policy") ?? ""
    let sources = policy.split(separator: ";").first { $0.hasPrefix(" form-action") } ?? ""
    #expect(sources.contains(" https: http://localhost:* http://127.0.0.1:*"))
    #expect(sources.split(separator: " ").contains("http:") == isHTTP)
  }

  @Test func `word and code lead to a redirect with code, state and iss (RFC 9207 section 2)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let reply = stage.ask(.post, .authorize, stage.request(client) + Self.pair)
    #expect(reply.status == 302)
    #expect(reply.field("Location")?.hasPrefix("https://claude.example/callback?code=") == true)
    #expect(reply.query("code")?.utf8.count == 43)
    #expect(reply.query("state") == "s 1&2")
    #expect(reply.query("iss") == "https://relay.example")
    #expect(reply.field("Cache-Control") == "no-store" && reply.body.isEmpty)
    #expect(stage.assistants() == ["Claude"])
  }

  @Test func `a state that is missing is not sent back, and a query stays`() {
    var stage = OAuthStage()
    let callback = "https://claude.example/cb?a=1"
    let client = stage.register([callback])
    let request = changed(stage.request(client, redirect: callback), ["state": nil])
    let reply = stage.ask(.post, .authorize, request + Self.pair)
    #expect(reply.field("Location")?.hasPrefix(callback + "&code=") == true)
    #expect(reply.query("state") == nil)
  }

  @Test(
    arguments: [
      ["client_id": nil], ["client_id": "hfc_AAAA"], ["client_id": "http://a.example/x"],
      ["client_id": "https://a.example"], ["client_id": "https://a.example/../x"],
      ["redirect_uri": "https://claude.example/callback/"],
      ["redirect_uri": "https://claude.example/Callback"],
      ["redirect_uri": "https://evil.example/"],
      ["redirect_uri": "https://claude.example/callback?x"], ["redirect_uri": "x"],
      ["redirect_uri": "https://claude.example:443/callback"],
    ] as [[String: String?]])
  func `an unknown client or URI leads to a page, not to a redirect (RFC 6749 section 4.1.2.1)`(
    changes: [String: String?]
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let request = changed(stage.request(client), changes)
    for (method, more) in [(MCPCall.Method.get, []), (.post, Self.pair)] {
      let reply = stage.ask(method, .authorize, request + more)
      #expect(reply.status == 400)
      #expect(reply.field("Location") == nil)
      #expect(!reply.text.contains("<form"))
      let policy = reply.field("Content-Security-Policy")
      #expect(policy?.contains("form-action 'none'") == true)
    }
    #expect(stage.fetches.isEmpty && stage.assistants().isEmpty)
  }

  @Test(arguments: ["client_id", "redirect_uri"])
  func `a client or URI that is given twice leads to a page`(name: String) {
    var stage = OAuthStage()
    let client = stage.register()
    let request = stage.request(client)
    let again = request.filter { $0.0 == name }
    #expect(stage.ask(.get, .authorize, request + again).status == 400)
  }

  @Test(
    arguments: [
      (["response_type": nil], "invalid_request"),
      (["response_type": "token"], "unsupported_response_type"),
      (["code_challenge": nil], "invalid_request"),
      (["code_challenge": "short"], "invalid_request"),
      (["code_challenge": String(repeating: "v", count: 44)], "invalid_request"),
      (["code_challenge_method": nil], "invalid_request"),
      (["code_challenge_method": "plain"], "invalid_request"),
      (["scope": "mail:read"], "invalid_scope"),
      (["resource": "https://relay.example/other"], "invalid_target"),
      (["resource": "https://relay.example"], "invalid_target"),
    ] as [([String: String?], String)])
  func `other faults are sent to the client, with state and iss (RFC 6749 section 4.1.2.1)`(
    changes: [String: String?], error: String
  ) {
    var stage = OAuthStage()
    let client = stage.register()
    let request = changed(stage.request(client), changes)
    for (method, more) in [(MCPCall.Method.get, []), (.post, Self.pair)] {
      let reply = stage.ask(method, .authorize, request + more)
      #expect(reply.status == 302)
      #expect(reply.field("Location")?.hasPrefix(OAuthStage.callback + "?") == true)
      #expect(reply.query("error") == error)
      #expect(reply.query("error_description")?.isEmpty == false)
      #expect(reply.query("state") == "s 1&2")
      #expect(reply.query("iss") == "https://relay.example")
      #expect(reply.query("code") == nil)
    }
    #expect(stage.assistants().isEmpty)
  }

  @Test func `a parameter that is given twice is refused (RFC 6749 section 3.1)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let twice = stage.request(client) + [("state", "other")]
    #expect(stage.ask(.get, .authorize, twice).query("error") == "invalid_request")
    #expect(stage.ask(.get, .authorize, twice).query("state") == nil)
    let resources = stage.request(client) + [("resource", "https://relay.example/mcp/")]
    #expect(stage.ask(.get, .authorize, resources).status == 200)
    let foreign = stage.request(client) + [("resource", "https://other.example/mcp")]
    #expect(stage.ask(.get, .authorize, foreign).query("error") == "invalid_target")
  }

  @Test func `scope, resource and the only URI may be left out, and unknown scopes are ignored`() {
    var stage = OAuthStage()
    let client = stage.register()
    let bare = changed(
      stage.request(client),
      ["scope": nil, "resource": nil, "redirect_uri": nil])
    #expect(stage.ask(.get, .authorize, bare).status == 200)
    let more = changed(stage.request(client), ["scope": "offline_access health:read"])
    #expect(stage.ask(.get, .authorize, more).status == 200)
    let two = stage.register([OAuthStage.callback, "https://claude.example/2"])
    let unnamed = changed(stage.request(two), ["redirect_uri": nil])
    #expect(stage.ask(.get, .authorize, unnamed).status == 400)
  }

  @Test(arguments: [
    ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", 200),
    ("http://127.0.0.1:80/cb", "http://127.0.0.1:51234/cb", 200),
    ("http://localhost:1/cb", "http://localhost:2/cb", 200),
    ("http://[::1]:1/cb", "http://[::1]:2/cb", 200),
    ("http://127.0.0.1/cb", "http://127.0.0.1:51234/other", 400),
    ("http://127.0.0.1/cb", "http://localhost:51234/cb", 400),
    ("https://a.example/cb", "https://a.example:8443/cb", 400),
  ])
  func `the port of a loopback URI may differ (RFC 8252 section 7.3)`(
    registered: String, given: String, status: Int
  ) {
    var stage = OAuthStage()
    let client = stage.register([registered])
    let reply = stage.ask(.get, .authorize, stage.request(client, redirect: given))
    #expect(reply.status == status)
    guard status == 200 else { return }
    let back = stage.ask(
      .post, .authorize, stage.request(client, redirect: given) + Self.pair)
    #expect(back.field("Location")?.hasPrefix(given + "?code=") == true)
  }

  @Test func `a wrong pair shows the form again, and locks out as a login does`() {
    var stage = OAuthStage()
    let client = stage.register()
    let wrong = stage.request(client) + [("word", "anchor"), ("code", "999999")]
    for _ in 0..<5 {
      let reply = stage.ask(.post, .authorize, wrong)
      #expect(reply.status == 400)
      #expect(reply.text.contains("No phone shows this word and code now."))
      #expect(!reply.text.contains("999999"))
    }
    let locked = stage.ask(.post, .authorize, stage.request(client) + Self.pair)
    #expect(locked.status == 429)
    #expect(locked.field("Retry-After") == "900")
    let other = stage.ask(.post, .authorize, stage.request(client) + Self.pair) {
      $0.address = "elsewhere"
    }
    #expect(other.status == 302)
  }

  @Test func `a form without word or code is shown again, and none of it is a guess`() {
    var stage = OAuthStage()
    let client = stage.register()
    for _ in 0..<9 {
      #expect(stage.ask(.post, .authorize, stage.request(client)).status == 400)
    }
    #expect(stage.ask(.post, .authorize, stage.request(client) + Self.pair).status == 302)
  }

  @Test func `the user can refuse (RFC 6749 section 4.1.2.1)`() {
    var stage = OAuthStage()
    let client = stage.register()
    let reply = stage.ask(.post, .authorize, stage.request(client) + [("deny", "1")] + Self.pair)
    #expect(reply.query("error") == "access_denied")
    #expect(stage.assistants().isEmpty)
  }

  @Test(
    arguments: [
      (nil, nil, 302), ("null", nil, 403), ("https://relay.example", nil, 302),
      ("https://evil.example", nil, 403), (nil, "same-origin", 302), (nil, "none", 302),
      ("null", "same-origin", 302), ("null", "none", 403), ("null", "cross-site", 403),
      (nil, "cross-site", 403), (nil, "same-site", 403),
      ("https://relay.example", "cross-site", 403), ("https://evil.example", "same-origin", 403),
    ] as [(String?, String?, Int)])
  func `the form of another site is refused`(origin: String?, site: String?, status: Int) {
    var stage = OAuthStage()
    let client = stage.register()
    let reply = stage.ask(.post, .authorize, stage.request(client) + Self.pair) {
      ($0.fields.origin, $0.fields.site) = (origin, site)
    }
    #expect(reply.status == status)
    let link = stage.ask(.get, .authorize, stage.request(client)) {
      ($0.fields.origin, $0.fields.site) = (origin, site)
    }
    #expect(link.status == 200, "the assistant's site links to the page")
  }

  @Test(arguments: [nil, "text/plain", "multipart/form-data"] as [String?])
  func `another type than a form is refused`(type: String?) {
    var stage = OAuthStage()
    let client = stage.register()
    let reply = stage.ask(.post, .authorize, stage.request(client) + Self.pair) {
      $0.fields.contentType = type
    }
    #expect(reply.status == 415 && stage.assistants().isEmpty)
  }

  @Test func `a browser that leaves signs nobody in`() {
    var stage = OAuthStage()
    let client = stage.register()
    stage.storesAtOnce = false
    let id = stage.send(.post, .authorize, stage.request(client) + Self.pair)
    #expect(stage.watched.contains(id))
    stage.feed(.abandoned(id))
    stage.storesAtOnce = true
    for _ in 0..<4 { stage.completeWrite() }
    #expect(stage[id].status == 0)
    #expect(stage.assistants().isEmpty && stage.server.codes.isEmpty)
  }

  @Test func `a store that fails signs nobody in, and the page says so`() {
    var stage = OAuthStage()
    let client = stage.register()
    stage.storesAtOnce = false
    let id = stage.send(.post, .authorize, stage.request(client) + Self.pair)
    stage.completeWrite(failure: .full(detail: "no space"))
    #expect(stage[id].status == 503)
    #expect(stage[id].field("Retry-After") == "2")
    #expect(stage.server.codes.isEmpty)
  }

  @Test func `the codes are bounded`() {
    var stage = OAuthStage { $0.maxCodes = 1 }
    let client = stage.register()
    #expect(!stage.code(client).isEmpty)
    let full = stage.ask(.post, .authorize, stage.request(client) + Self.pair)
    #expect(full.status == 503)
    stage.pass(.seconds(60))
    #expect(!stage.code(client).isEmpty)
  }

  @Test func `codes that were redeemed keep no other phone out`() {
    var stage = OAuthStage { $0.maxCodes = 3 }
    let client = stage.register()
    var exchanges: [[(String, String)]] = []
    for _ in 0..<20 {
      exchanges.append(stage.exchange(client, stage.code(client)))
      #expect(stage.ask(.post, .token, exchanges[exchanges.count - 1]).status == 200)
      stage.pass(.milliseconds(1))
    }
    #expect(stage.server.codes.count == 3)
    stage.relay.phone(2)
    #expect(!stage.code(client, phone: 2).isEmpty)
    // The codes that end last are still remembered, so that their second use ends the grant.
    #expect(stage.assistants().count == 8)
    #expect(stage.ask(.post, .token, exchanges[0]).failure == "400 invalid_grant")
    #expect(stage.assistants().count == 8)
    #expect(stage.ask(.post, .token, exchanges[19]).failure == "400 invalid_grant")
    #expect(stage.assistants().count == 7)
  }

  @Test(arguments: [(7, true), (8, true), (9, false)])
  func `a phone has at most 8 codes that were not redeemed`(count: Int, isKept: Bool) {
    var stage = OAuthStage()
    let client = stage.register()
    stage.relay.phone(2)
    let other = stage.code(client, phone: 2)
    let first = stage.code(client)
    stage.pass(.milliseconds(1))
    for _ in 1..<count { _ = stage.code(client) }
    #expect(stage.server.codes.count == min(count, 8) + 1)
    let reply = stage.ask(.post, .token, stage.exchange(client, first))
    #expect(reply.status == (isKept ? 200 : 400))
    #expect(stage.ask(.post, .token, stage.exchange(client, other)).status == 200)
  }

  @Test(arguments: [(32, 200), (33, 400)])
  func `a request has at most 32 parameters`(count: Int, status: Int) {
    var stage = OAuthStage()
    let client = stage.register()
    let request = stage.request(client)
    let more = (request.count..<count).map { ("x\($0)", "1") }
    #expect(stage.ask(.get, .authorize, request + more).status == status)
    #expect(stage.ask(.get, .authorize, request + more.map { _ in ("x", "1") }).status == status)
  }

  @Test(arguments: [(16_384, 201), (16_385, 413)])
  func `a body has at most 16 KiB`(bytes: Int, status: Int) {
    var stage = OAuthStage()
    let body = #"{"redirect_uris":["https://a.example/"]}"#
    let padding = String(repeating: " ", count: bytes - body.utf8.count)
    #expect(stage.ask(.post, .register, body: body + padding).status == status)
    for route in [OAuthRoute.token, .revoke, .authorize] {
      let reply = stage.ask(.post, route, body: body + padding)
      #expect((reply.status == 413) == (status == 413))
    }
  }

  @Test func `the requests that wait are bounded`() {
    var stage = OAuthStage { $0.maxWaiting = 1 }
    let client = stage.register()
    stage.storesAtOnce = false
    let first = stage.send(.post, .authorize, stage.request(client) + Self.pair)
    #expect(stage.ask(.post, .authorize, stage.request(client) + Self.pair).status == 503)
    let tokens = stage.ask(.post, .token, stage.exchange(client, "x"))
    #expect(tokens.failure == "503 temporarily_unavailable")
    #expect(stage[first].status == 0)
  }
}
