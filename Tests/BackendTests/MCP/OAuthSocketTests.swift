import HoldfastAssistants
import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the sign-in with OAuth over sockets, with a phone and its store.
@Suite(.offThePool, .timeLimit(.minutes(60)))
struct OAuthSocketTests {
  private typealias Client = OAuthTestClient

  @Test func `without a public address nothing changes`() async throws {
    try await BackendRig.run({ $0.assistants.originPolicy.hosts = ["test"] }) { rig in
      let client = Client(client: try rig.client(), id: "x")
      for route in OAuthRoute.allCases {
        #expect(try await client.client.ask("GET", route.rawValue).status == 404)
      }
      #expect(try await client.call("tools/list", token: nil).status == 200)
      #expect(try await client.call("tools/list", token: nil, path: "/mcp/code").status == 404)
    }
  }

  @Test func `the documents are where clients look for them`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      let client = try rig.client()
      for path in [
        "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource",
      ] {
        let answer = try await client.ask("GET", path)
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.headers["access-control-allow-origin"] == "*")
        #expect(answer.json("resource") == "https://relay.example/mcp")
      }
      let server = try await client.ask("GET", "/.well-known/oauth-authorization-server")
      #expect(server.json("issuer") == "https://relay.example")
      #expect(server.json("token_endpoint") == "https://relay.example/oauth/token")
      let preflight = try await client.ask(
        "OPTIONS", "/oauth/token", fields: ["Origin: https://app.example"])
      #expect(preflight.status == 204)
      #expect(preflight.headers["access-control-allow-methods"] == "GET, POST")
    }
  }

  @Test func `the public host is admitted, and no other foreign one`() async throws {
    try await BackendRig.run({ $0.publicURL = PublicURL(Client.issuer) }) { rig in
      for (host, status) in [("relay.example", 401), ("127.0.0.1", 401), ("evil.example", 421)] {
        let answer = try await rig.client().speak(
          "GET /mcp HTTP/1.1\r\nHost: \(host)\r\nAccept: text/event-stream\r\n\r\n")
        #expect(answer.status == status)
      }
    }
  }

  @Test func `a client signs in, asks, renews, and is ended by the phone's user`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig, device: ScriptedPhone.device)
      let client = try await Client.register(rig)
      let refused = try await client.call("tools/list", token: nil)
      #expect(refused.status == 401)
      #expect(
        refused.headers["www-authenticate"]
          == "Bearer resource_metadata=\"https://relay.example/.well-known/"
          + "oauth-protected-resource/mcp\", scope=\"health:read\"")
      let page = try await client.client.ask("GET", "/oauth/authorize?" + client.request)
      #expect(page.status == 200 && page.body.contains("Test Client"))
      let policy = page.headers["content-security-policy"]
      #expect(
        policy?.contains("form-action 'self' https: http://localhost:* http://127.0.0.1:*;") == true
      )

      let tokens = try await client.tokens(phone)
      #expect(tokens.status == 200 && tokens.headers["cache-control"] == "no-store")
      let access = try #require(tokens.json("access_token"))
      async let answer = client.call("tools/call", Client.steps, token: access)
      try await phone.answer()
      #expect(try await answer.body.contains(#""structuredContent":{"success":true"#))
      #expect(try await client.call("tools/list", token: access + "x").status == 401)

      let renewed = try await client.refresh(try #require(tokens.json("refresh_token")))
      let newer = try #require(renewed.json("access_token"))
      #expect(try await client.call("tools/list", token: newer).status == 200)
      let resume = try #require(phone.code.resumeToken)
      let list = try await client.client.ask(
        "POST", "/relay/assistants", token: resume, body: "{}")
      #expect(list.body.contains(#""name":"Test Client""#))
      _ = try await client.client.ask(
        "POST", "/relay/assistants", token: resume, body: #"{"end":"all"}"#)
      let ended = try await client.call("tools/list", token: newer)
      #expect(ended.status == 401)
      #expect(ended.headers["www-authenticate"]?.contains("error=\"invalid_token\"") == true)
    }
  }

  @Test func `a code that is used twice ends the sign-in`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      let client = try await Client.register(rig)
      let redirect = try await client.signIn(word: phone.code.word, code: phone.code.code)
      #expect(redirect.status == 302)
      let location = try #require(redirect.headers["location"])
      #expect(location.contains("&state=the-state&iss=https%3A%2F%2Frelay.example"))
      let exchange = try client.exchange(redirect)
      let wrong = exchange.replacing(Client.verifier, with: Client.challenge)
      #expect(try await client.post(.token, wrong).json("error") == "invalid_grant")
      let tokens = try await client.post(.token, exchange)
      let access = try #require(tokens.json("access_token"))
      #expect(try await client.call("tools/list", token: access).status == 200)
      #expect(try await client.post(.token, exchange).json("error") == "invalid_grant")
      #expect(try await client.call("tools/list", token: access).status == 401)
    }
  }

  @Test func `a wrong pair shows the form again, and five lock out all endpoints`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      let client = try await Client.register(rig)
      for _ in 0..<5 {
        let answer = try await client.signIn(word: "nonsense", code: "000000")
        #expect(answer.status == 400 && answer.body.contains("No phone shows this word and code"))
      }
      let locked = try await client.signIn(word: phone.code.word, code: phone.code.code)
      #expect(locked.status == 429 && locked.headers["retry-after"] != nil)
      let login = try await client.client.ask(
        "POST", "/api/direct-login", fields: ["Content-Type: application/x-www-form-urlencoded"],
        body: "word=\(phone.code.word)&code=\(phone.code.code)")
      #expect(login.status == 429)
    }
  }

  @Test func `a sign-in survives a restart, and the files hold no secret`() async throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    var (access, refresh, id) = ("", "", "")
    try await BackendRig.run(in: directory, Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig, device: ScriptedPhone.device)
      let client = try await Client.register(rig)
      let tokens = try await client.tokens(phone)
      id = client.id
      access = try #require(tokens.json("access_token"))
      refresh = try #require(tokens.json("refresh_token"))
      await phone.client.leave()
      await rig.backend.drainAndStop()
      let log = rig.lines.all.joined()
      for secret in [access, refresh, phone.code.code, phone.code.word] {
        #expect(!log.contains(secret))
      }
      #expect(log.contains("oauth_token") && log.contains("sign_in"))
    }
    try await BackendRig.run(in: directory, Client.configure) { rig in
      let client = Client(client: try rig.client(), id: id)
      #expect(try await client.call("tools/list", token: access).status == 200)
      let renewed = try await client.refresh(refresh)
      #expect(renewed.status == 200)
      let repeated = try await client.refresh(refresh)
      #expect(repeated.status == 200, "the answer may have been lost")
      let next = try await client.refresh(try #require(repeated.json("refresh_token")))
      #expect(next.status == 200)
      #expect(try await client.refresh(refresh).json("error") == "invalid_grant")
      let newer = try #require(next.json("access_token"))
      #expect(try await client.call("tools/list", token: newer).status == 401)
    }
  }

  @Test func `the token of a sign-in is none elsewhere, and a login is none at /mcp`() async throws
  {
    try await BackendRig.run(Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig, device: ScriptedPhone.device)
      let client = try await Client.register(rig)
      let access = try #require(try await client.tokens(phone).json("access_token"))
      let elsewhere = try await client.call(
        "tools/call", Client.steps, token: access, path: "/mcp/code")
      #expect(elsewhere.body.contains("not_signed_in"))
      let plain = try await client.client.ask(
        "GET", "/api/get_health_metrics?value_type=STEPS&start_time=2026-03-01&end_time=2026-03-02",
        token: access)
      #expect(plain.status == 401)
      let tools = try await client.call("tools/list", token: access)
      #expect(!tools.body.contains("direct_login") && !tools.body.contains("access_token"))
      let code = try await client.call("tools/list", token: nil, path: "/mcp/code")
      #expect(code.body.contains("direct_login"))
      let resume = try #require(phone.code.resumeToken)
      #expect(try await client.call("tools/list", token: resume).status == 401)
    }
  }

  @Test func `a client whose id is the URL of its document signs in`() async throws {
    let id = "https://app.example/client.json"
    let document =
      #"{"client_id":"\#(id)","client_name":"By Document","token_endpoint_auth_method":"none","#
      + #""redirect_uris":["\#(Client.callback)"]}"#
    let documents = DocumentServer([id: document])
    try await BackendRig.run({
      Client.configure(&$0)
      $0.documentClient = documents
    }) { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      let client = Client(client: try rig.client(), id: id)
      let page = try await client.client.ask("GET", "/oauth/authorize?" + client.request)
      #expect(page.status == 200 && page.body.contains("By Document"))
      #expect(try await client.tokens(phone).status == 200)
      #expect(documents.calls.map(\.url) == [id])
      #expect(documents.calls.map(\.maxBodyBytes) == [65_536])
      #expect(documents.calls.map(\.timeout) == [.seconds(5)])
      let other = Client(client: client.client, id: "https://app.example/other.json")
      let failed = try await client.client.ask("GET", "/oauth/authorize?" + other.request)
      #expect(failed.status == 400 && failed.headers["location"] == nil)
    }
  }

  @Test func `a document at a private address is never fetched`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      for host in ["10.0.0.1", "[fd00::1]", "169.254.169.254"] {
        let client = Client(client: try rig.client(), id: "https://\(host)/client.json")
        let answer = try await client.client.ask("GET", "/oauth/authorize?" + client.request)
        #expect(answer.status == 400)
        #expect(answer.body.contains("cannot be identified"))
      }
    }
  }

  @Test func `the metrics count sign-ins`() async throws {
    try await BackendRig.run(Client.configure) { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      let client = try await Client.register(rig)
      _ = try await client.tokens(phone)
      let metrics = try await client.client.ask("GET", "/metrics").body
      #expect(metrics.contains("holdfast_oauth_tokens_total 1\n"))
      #expect(metrics.contains("holdfast_oauth_requests_total{route=\"oauth_register\"} 1\n"))
      #expect(metrics.contains("holdfast_oauth_codes 1\n"))
    }
  }
}
