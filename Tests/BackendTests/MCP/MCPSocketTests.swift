import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastServerParts
import Testing

@testable import HoldfastBackend

/// Tests of the HTTP responses, event streams and plain endpoints that an SDK hides.
@Suite(.offThePool, .timeLimit(.minutes(60)))
struct MCPSocketTests {
  private static let accept = "Accept: application/json, text/event-stream"
  private static let json = "Content-Type: application/json"
  private static let steps =
    #"{"value_type":"STEPS","start_time":"2026-03-01","end_time":"2026-03-02"}"#

  private func run(
    _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    try await BackendRig.run(
      {
        $0.assistants.originPolicy.hosts = ["test"]
        configure(&$0)
      }, body)
  }

  private func post(
    _ client: BackendClient, _ method: String, _ params: String = "{}", session: String? = nil
  ) async throws -> SocketsClient.Response {
    try await client.ask(
      "POST", "/mcp",
      fields: [Self.accept, Self.json] + (session.map { ["Mcp-Session-Id: \($0)"] } ?? []),
      body: #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#)
  }

  private func initialize(_ client: BackendClient) async throws -> String {
    let answer = try await post(client, "initialize", #"{"protocolVersion":"2025-11-25"}"#)
    return try #require(answer.headers["mcp-session-id"])
  }

  @Test func `each session has its own random 128-bit id`() async throws {
    try await run { rig in
      let client = try rig.client()
      let answer = try await post(client, "initialize", #"{"protocolVersion":"2025-06-18"}"#)
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.headers["cache-control"] == "no-store")
      let name = try #require(answer.headers["mcp-session-id"])
      #expect(name.count == 32)
      #expect(try await initialize(client) != name)
    }
  }

  @Test func `a single trailing slash in a path is ignored`() async throws {
    try await run { rig in
      let client = try rig.client()
      let hello =
        #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#
      let answer = try await client.ask(
        "POST", "/mcp/", fields: [Self.accept, Self.json], body: hello)
      #expect(answer.status == 200 && answer.headers["mcp-session-id"] != nil)
      #expect(try await client.ask("GET", "/mcp/tools/").status == 200)
      #expect(try await client.ask("GET", "/health/").status == 200)
      for target in ["/mcp//", "//mcp", "/mcp/x/"] {
        #expect(try await client.ask("GET", target).status == 404)
      }
    }
  }

  @Test(arguments: ["/mcp", "/mcp/call", "/api/direct-login", "/relay/lease", "/api/sync/refresh"])
  func `a compressed body is refused by endpoints that do not accept compression`(target: String)
    async throws
  {
    try await run { rig in
      let client = try rig.client()
      let fields = [Self.accept, Self.json]
      // See RFC 9110, sections 12.5.3 and 15.5.16.
      let answer = try await client.ask(
        "POST", target, fields: fields + ["Content-Encoding: gzip"], body: "\u{1f}\u{8}")
      #expect(answer.status == 415)
      #expect(answer.headers["accept-encoding"] == "identity")
      #expect(answer.body.contains("must not be compressed"))
      let plain = try await client.ask(
        "POST", target, fields: fields + ["Content-Encoding: identity"], body: "{}")
      #expect(plain.status != 415)
      let empty = try await client.ask("POST", target, fields: fields + ["Content-Encoding: gzip"])
      #expect(empty.status != 415)
    }
  }

  @Test func `the root page describes the backend`() async throws {
    try await run { rig in
      let client = try rig.client()
      let page = try await client.ask("GET", "/")
      #expect(page.status == 200)
      #expect(page.headers["content-type"] == "text/html; charset=utf-8")
      #expect(page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
      #expect(page.body.contains("<code>/mcp</code>"))
      #expect(try await client.ask("POST", "/", body: "x").status == 405)
    }
  }

  @Test func `a session's stream opens, sends keep-alive comments and ends with the session`()
    async throws
  {
    try await run({ $0.assistants.commentInterval = .milliseconds(10) }) { rig in
      let (client, stream) = (try rig.client(), try rig.client())
      let session = try await initialize(client)
      let fields = [Self.accept, "Mcp-Session-Id: \(session)"]
      let head = try await stream.ask("GET", "/mcp", fields: fields)
      #expect(head.status == 200)
      #expect(head.headers["content-type"] == "text/event-stream")
      #expect(head.headers["transfer-encoding"] == "chunked")
      for _ in 0..<3 { #expect(try await stream.chunk() == ": wait\r\n\r\n") }
      #expect(try await client.ask("DELETE", "/mcp", fields: fields).status == 200)
      while let chunk = try await stream.chunk() { #expect(chunk == ": wait\r\n\r\n") }
      #expect(try await post(client, "ping", session: session).status == 404)
    }
  }

  @Test func `a slow call streams its progress and then its answer`() async throws {
    try await run({ $0.assistants.progressInterval = .milliseconds(10) }) { rig in
      let client = try rig.client()
      let session = try await initialize(client)
      let phone = try await ScriptedPhone.connect(to: rig)
      let pair = #"{"word":"\#(phone.code.word)","code":"\#(phone.code.code)"}"#
      let login = #"{"name":"direct_login","arguments":\#(pair)}"#
      let signedIn = try await post(client, "tools/call", login, session: session)
      #expect(signedIn.status == 200)
      // On a busy machine the login can take longer than the interval, so its response is streamed.
      let isStream = signedIn.headers["transfer-encoding"] == "chunked"
      while isStream, try await client.chunk() != nil {}
      let call =
        #"{"name":"get_health_metrics","arguments":\#(Self.steps),"_meta":{"progressToken":7}}"#
      let head = try await post(client, "tools/call", call, session: session)
      #expect(head.headers["content-type"] == "text/event-stream")
      let first = try #require(try await client.chunk())
      #expect(first.contains(#""method":"notifications/progress","params":{"progressToken":7"#))
      try await phone.answer()
      var last = first
      while let chunk = try await client.chunk() { last = chunk }
      #expect(last.contains(#""structuredContent":{"success":true,"count":1,"healthData":[{"#))
      #expect(last.contains(#""text":"{\"success\":true,\"count\":1,\"healthData\":[{"#))
      #expect(try await post(client, "ping", session: session).status == 200)
    }
  }

  @Test func `the plain endpoints log in, ask and log out per conversation`() async throws {
    try await run { rig in
      let client = try rig.client()
      let tools = try await client.ask("GET", "/mcp/tools")
      #expect(tools.body.contains(#""name":"get_health_metrics""#))
      let phone = try await ScriptedPhone.connect(to: rig)
      let talk = ["openai-conversation-id: one", "Content-Type: application/x-www-form-urlencoded"]
      let wrong = try await client.ask(
        "POST", "/api/direct-login", fields: talk, body: "word=nonsense&code=000000")
      #expect(wrong.status == 401)
      #expect(wrong.body.hasPrefix(#"{"success":false,"error":"invalid_credentials","message":""#))
      let right = try await client.ask(
        "POST", "/api/direct-login", fields: talk,
        body: "word=\(phone.code.word)&code=\(phone.code.code)")
      #expect(right.status == 200)
      let target =
        "/api/get_health_metrics?value_type=STEPS&start_time=2026-03-01T00:00:00"
        + "&end_time=2026-03-02T00:00:00%2B02:00"
      async let answer = client.ask("GET", target, fields: talk)
      guard case .healthData(let query) = try await phone.answer() else {
        throw ScriptedPhone.Unexpected(what: "another question")
      }
      #expect(query.end == HealthTime("2026-03-02T00:00:00+02:00"))
      #expect(try await answer.body.hasPrefix(#"{"success":true,"count":1,"healthData":["#))
      #expect(try await client.ask("GET", target).status == 401)
      #expect(try await client.ask("GET", "/logout", fields: talk).status == 200)
      #expect(try await client.ask("GET", target, fields: talk).status == 401)
    }
  }

  @Test func `a plain call accepts a bearer token and no secret is logged`() async throws {
    try await run { rig in
      let client = try rig.client()
      let phone = try await ScriptedPhone.connect(to: rig)
      let pair = #"{"word":"\#(phone.code.word)","code":"\#(phone.code.code)"}"#
      let login = try await client.ask(
        "POST", "/mcp/call", fields: [Self.json],
        body: #"{"name":"direct_login","arguments":\#(pair)}"#)
      let token = try #require(
        login.body.firstMatch(of: /"access_token":"([^"]+)","token_type"/)?.output.1)
      async let answer = client.ask(
        "POST", "/mcp/call", token: String(token), fields: [Self.json],
        body: #"{"method":"call_tool","params":{"name":"get_health_metrics","#
          + #""arguments":\#(Self.steps)}}"#)
      try await phone.answer()
      #expect(try await answer.body.contains(#""structuredContent":{"success":true,"#))
      let session = try await initialize(client)
      await phone.client.leave()
      await rig.backend.drainAndStop()
      let log = rig.lines.all.joined()
      for secret in [String(token), session] { #expect(!log.contains(secret)) }
      #expect(log.contains(#""route":"mcp_call""#))
    }
  }

  @Test(arguments: [
    ("Host: evil.example", 421), ("Host: test\r\nOrigin: https://evil.example", 403),
    ("Host: 127.0.0.1\r\nOrigin: http://localhost:5173", 200),
  ])
  func `a foreign host or origin is refused on a loopback address`(fields: String, status: Int)
    async throws
  {
    try await run { rig in
      let answer = try await rig.client().speak("GET /mcp/tools HTTP/1.1\r\n\(fields)\r\n\r\n")
      #expect(answer.status == status)
    }
  }

  @Test(arguments: [
    ("127.0.0.2", "127.0.0.2", 200), ("127.0.0.2", "evil.example", 421),
    ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]", 200), ("0:0:0:0:0:0:0:1", "evil.example", 421),
    ("0.0.0.0", "evil.example", 421),
  ])
  func `only the host that is listened on is accepted`(
    host: String, named: String, status: Int
  ) {
    var configuration = BackendConfiguration(dataDirectory: "")
    configuration.host = host
    if host == "0.0.0.0" { configuration.assistants.originPolicy.hosts = ["test"] }
    #expect(configuration.assistantsHere.originPolicy.admit(host: named) == (status == 200))
  }

  @Test func `wrong pairs of all endpoints count together and lock all endpoints`()
    async throws
  {
    try await run { rig in
      let client = try rig.client()
      let session = try await initialize(client)
      let phone = try await ScriptedPhone.connect(to: rig)
      func login(_ word: String, _ code: String) async throws -> [String] {
        let pair = #"{"word":"\#(word)","code":"\#(code)"}"#
        let call = #"{"name":"direct_login","arguments":\#(pair)}"#
        let answers = [
          try await post(client, "tools/call", call, session: session),
          try await client.ask("POST", "/mcp/call", fields: [Self.json], body: call),
          try await client.ask(
            "POST", "/api/direct-login",
            fields: ["Content-Type: application/x-www-form-urlencoded"],
            body: "word=\(word)&code=\(code)"),
        ]
        return answers.map { answer in
          ["invalid_credentials", "locked_out"].first { answer.body.contains($0) } ?? answer.body
        }
      }
      let wrong = phone.code.code == "000000" ? "000001" : "000000"
      let refused = try await login("nothing", wrong) + login("nothing", wrong)
      let names = [(5, "invalid_credentials"), (1, "locked_out")]
      #expect(refused == names.flatMap { Array(repeating: $0.1, count: $0.0) })
      let right = try await login(phone.code.word, phone.code.code)
      #expect(right == ["locked_out", "locked_out", "locked_out"])
    }
  }

  @Test func `a web page of an allowed origin can call the server and read the response`()
    async throws
  {
    try await run({ $0.assistants.originPolicy.origins = ["https://app.example"] }) { rig in
      let client = try rig.client()
      let origin = "Origin: https://app.example"
      let asked = try await client.ask(
        "OPTIONS", "/mcp",
        fields: [
          origin, "Access-Control-Request-Method: POST",
          "Access-Control-Request-Headers: content-type,mcp-protocol-version",
        ])
      #expect(asked.status == 204)
      #expect(asked.headers["access-control-allow-origin"] == "https://app.example")
      #expect(asked.headers["access-control-allow-methods"] == "GET, POST, DELETE")
      #expect(
        asked.headers["access-control-allow-headers"]?.contains("MCP-Protocol-Version") == true)
      let list = try await client.ask("GET", "/mcp/tools", fields: [origin])
      #expect(list.headers["access-control-allow-origin"] == "https://app.example")
      #expect(list.headers["vary"] == "Origin")
      let evil = try await client.ask("OPTIONS", "/mcp", fields: ["Origin: https://evil.example"])
      #expect(evil.status == 403)
      #expect(evil.headers["access-control-allow-origin"] == nil)
    }
  }

  @Test(arguments: [
    "X-Forwarded-For: 198.51.100.1, ", "Forwarded: for=198.51.100.1, for=",
    // A quote that the client opened must not hide the address that the proxy appends.
    "Forwarded: for=198.51.100.1;x=\"\r\nForwarded: for=",
  ])
  func `behind a trusted proxy, wrong pairs count against the client that the proxy names`(
    field: String
  ) async throws {
    let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressBlock($0) }
    try await run({ $0.proxies.blocks = loopback }) { rig in
      let client = try rig.client()
      func login(_ code: String, word: String = "a-b", for name: String) async throws -> Bool {
        let answer = try await client.ask(
          "POST", "/api/direct-login",
          fields: [
            "Content-Type: application/x-www-form-urlencoded",
            field + name,
          ], body: "word=\(word)&code=\(code)")
        return answer.body.contains("locked_out")
      }
      let phone = try await ScriptedPhone.connect(to: rig)
      let wrong = phone.code.code == "000000" ? "000001" : "000000"
      for _ in 1...5 { #expect(try await !login(wrong, for: "203.0.113.9")) }
      #expect(try await login(wrong, for: "203.0.113.9"))
      #expect(
        try await !login(phone.code.code, word: phone.code.word, for: "203.0.113.10"))
    }
  }

  @Test func `a question is cancelled on the phone if its client disconnects`() async throws {
    try await run { rig in
      let client = try rig.client()
      let session = try await initialize(client)
      let phone = try await ScriptedPhone.connect(to: rig, device: ScriptedPhone.device)
      let pair = #"{"word":"\#(phone.code.word)","code":"\#(phone.code.code)"}"#
      _ = try await post(
        client, "tools/call", #"{"name":"direct_login","arguments":\#(pair)}"#, session: session)
      let body =
        #"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_health_metrics","#
        + #""arguments":\#(Self.steps)}}"#
      try await client.tell(
        "POST /mcp HTTP/1.1\r\nHost: test\r\n\(Self.accept)\r\n\(Self.json)\r\n"
          + "Mcp-Session-Id: \(session)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      let (id, _) = try await phone.question()
      await client.leave()
      #expect(try await phone.message() == .cancel(id))
    }
  }

  @Test func `a drain ends open session streams`() async throws {
    try await run { rig in
      let (client, stream) = (try rig.client(), try rig.client())
      let session = try await initialize(client)
      _ = try await stream.ask(
        "GET", "/mcp", fields: [Self.accept, "Mcp-Session-Id: \(session)"])
      #expect(try await stream.chunk() == ": wait\r\n\r\n")
      await rig.backend.drainAndStop()
      #expect(try await stream.chunk() == nil)
    }
  }
}
