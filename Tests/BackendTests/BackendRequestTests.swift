import HoldfastAssistants
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerParts
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct BackendRequestTests {
  private static let base = "/api/v1/auth/shops"

  @Test func `stores a post, responds to it and returns it on every read route`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      let made = try await client.post("hello", token: token)
      #expect(made.status == 201)
      let message = try made.message()
      #expect(message.user == "ann")
      #expect(message.username == "ANN")
      #expect(message.text == "hello")
      #expect(message.position?.offset == 1)
      let all = try await client.ask("GET", "\(Self.base)/bakery/messages", token: token)
      #expect(try all.page().messages == [message])
      let paged = try await client.ask(
        "GET", "\(Self.base)/bakery/messages/paginated?limit=5", token: token)
      #expect(
        try paged.page() == Page(messages: [message], hasNext: false, head: message.position))
      let epoch = try #require(message.position?.epoch)
      let after = try await client.ask(
        "GET", "\(Self.base)/bakery/messages/paginated?after=\(epoch):0", token: token)
      #expect(
        try after.page() == Page(messages: [message], hasNext: false, head: message.position))
      #expect(after.body.contains(#""total_pages":1"#))
    }
  }

  @Test func `answers a repeated idempotency key with the stored message`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      let key = UUID128(high: 1, low: 2)
      let first = try await client.post("once", token: token, key: key)
      let second = try await client.post("once", token: token, key: key)
      #expect(first.status == 201)
      #expect(second.status == 200)
      #expect(try first.message() == second.message())
    }
  }

  @Test(arguments: [
    ("GET", "/nowhere", 404, "content-type", "application/json"),
    ("GET", "\(base)/messages", 405, "allow", "POST, PUT"),
    ("DELETE", "/healthz", 405, "allow", "GET, HEAD"),
    ("HEAD", "\(base)/messages", 405, "allow", "POST, PUT"),
    ("GET", "\(base)/bakery/messages", 401, "www-authenticate", "Bearer"),
    ("GET", "\(base)/bakery%2Fmessages", 404, "cache-control", "no-store"),
    ("GET", "/healthz", 200, "content-type", "application/json"),
  ])
  func `answers unauthenticated requests`(
    method: String, target: String, status: Int, field: String, value: String
  ) async throws {
    try await BackendRig.run { rig in
      let answer = try await rig.client().ask(method, target)
      #expect(answer.status == status)
      #expect(answer.headers[field] == value)
    }
  }

  @Test(arguments: [
    "/healthz", "\(base)/bakery/messages", "\(base)/bakery/messages/paginated?limit=3",
    "\(base)/cellar/messages", "\(base)/bakery/messages/stream", "/nowhere",
  ])
  func `answers HEAD as GET, without the body`(target: String) async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      var answer = try await client.ask("GET", target, token: token)
      #expect(!answer.body.isEmpty)
      answer.body = ""
      #expect(try await client.ask("HEAD", target, token: token) == answer)
      #expect(try await client.ask("GET", "/healthz").status == 200)
    }
  }

  @Test(arguments: [
    "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
    "/oauth/authorize", "/mcp/tools", "/mcp/sign-in?id=x", "/relay/health", "/health", "/api/sync",
    "/api/health/steps", "/ws/phone", "/oauth/token", "/session",
  ])
  func `answers HEAD as GET on the routes of all services`(target: String) async throws {
    try await BackendRig.run({
      $0.publicURL = PublicURL("https://relay.example")
      $0.assistants.originPolicy.hosts = ["test"]
    }) { rig in
      let client = try rig.client()
      var answer = try await client.ask("GET", target)
      #expect(!answer.body.isEmpty)
      answer.body = ""
      #expect(try await client.ask("HEAD", target) == answer)
    }
  }

  @Test(arguments: ["/mcp", "/logout"])
  func `HEAD begins no stream and ends no login`(target: String) async throws {
    try await BackendRig.run({ $0.assistants.originPolicy.hosts = ["test"] }) { rig in
      let client = try rig.client()
      #expect(try await client.ask("HEAD", target).status == 405)
    }
  }

  @Test(arguments: [
    (#"{"shop_id":"bakery"}"#, 400), (#"{"shop_id":"cellar","message":"x"}"#, 403),
    (#"{"shop_id":"bakery","message":"\#(String(repeating: "a", count: 10_001))"}"#, 413),
    (#"{"shop_id":"bakery","message":"\#(String(repeating: "é", count: 6_000))"}"#, 413),
    (#"{"shop_id":"bakery","message":"\#(String(repeating: "a", count: 70_000))"}"#, 413),
  ])
  func `refuses invalid posts`(body: String, status: Int) async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let answer = try await rig.client().ask(
        "POST", "\(Self.base)/messages", token: token, body: body)
      #expect(answer.status == status)
    }
  }

  @Test(arguments: [
    ("GET /healthz HTTP/1.1\r\n\r\n", 400),
    ("GET /healthz HTTP/2.0\r\nHost: test\r\n\r\n", 505),
    ("POST /healthz HTTP/1.1\r\nHost: test\r\nContent-Length: 70000\r\n\r\n", 413),
    ("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\nHost: test\r\n\r\n", 414),
    ("GET /x HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 426),
  ])
  func `refuses invalid HTTP with the common error envelope`(bytes: String, status: Int)
    async throws
  {
    try await BackendRig.run { rig in
      let answer = try await rig.client().speak(bytes)
      #expect(answer.status == status)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.body.hasPrefix(#"{"status":\#(status),"message":""#))
      #expect(answer.body.hasSuffix(#"","data":null}"#))
    }
  }

  @Test func `answers 426 if a stream request has no upgrade`() async throws {
    try await BackendRig.run { rig in
      let path = ShopRoute.stream(BackendRig.shop).path
      let answer = try await rig.client().ask("GET", path, token: try await rig.token())
      #expect(answer.status == 426)
      #expect(answer.headers["upgrade"] == "websocket")
      #expect(try await rig.client().ask("GET", path).status == 401)
    }
  }

  @Test func `accepts a token from the query, but prefers the Authorization header`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      let path = "\(Self.base)/bakery/messages"
      #expect(try await client.ask("GET", "\(path)?token=\(token)").status == 200)
      #expect(try await client.ask("GET", "\(path)?token=x", token: token).status == 200)
      #expect(try await client.ask("GET", "\(path)?token=\(token)", token: "x").status == 401)
      let basic = try await client.ask("GET", path, fields: ["Authorization: Basic YTpi"])
      #expect(basic.status == 401)
    }
  }

  @Test func `answers 503 with Retry-After while its store fails`() async throws {
    let store = MemoryMessageLog()
    // The next check of the store succeeds, so that none may run before the end.
    try await BackendRig.run(store: store, { $0.policy.forgetRetry = .seconds(3_600) }) { rig in
      let client = try rig.client()
      let token = try await rig.token()
      #expect(try await client.post("first", token: token).status == 201)
      await store.failNext(with: .full(detail: "no space"))
      let failed = try await client.post("lost", token: token)
      #expect(failed.status == 503)
      #expect(failed.headers["retry-after"] == "2")
      let health = try await client.ask("GET", "/healthz")
      #expect(health.status == 503)
      #expect(health.body == #"{"status":"failing","reason":"the disk of the store is full"}"#)
      #expect(try await client.post("kept", token: token).status == 201)
      #expect(try await client.ask("GET", "/healthz").status == 200)
      await rig.lines.wait { $0.contains(#""event":"store_failure""#) }
    }
  }

  @Test func `shows its health and its metrics`() async throws {
    try await BackendRig.run { rig in
      let follower = try await rig.follower()
      let client = try rig.client()
      #expect(try await client.ask("GET", "/healthz").body == #"{"status":"ok"}"#)
      let health = try await client.ask("GET", "/api/v1/health/websocket").body
      #expect(health.hasPrefix(#"{"status":"ok","active_connections":1,"active_shops":1,"#))
      let metrics = try await client.ask("GET", "/metrics")
      #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
      #expect(metrics.body.contains("holdfast_connections 1\n"))
      withExtendedLifetime(follower) {}
    }
  }
}
