import HoldfastAssistants
import HoldfastCore
import HoldfastRelayServer
import HoldfastServerParts
import Testing

@Suite struct MCPOriginTests {
  private static let list = #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#

  @Test(arguments: [
    ("localhost", 400), ("LOCALHOST:80", 400), ("127.0.0.1:65535", 400), ("[::1]:80", 400),
    ("relay.example", 400), ("evil.example", 421), ("localhost.evil.example", 421),
    ("127.0.0.1.evil.example", 421), ("localhost:80a", 421), ("", 421), (":80", 421),
    ("127.0.0.3", 400), ("[0:0:0:0:0:0:0:1]", 400), ("[::1]:a", 421), ("[::1", 421),
    ("[::2]", 421), ("[::1]x", 421), ("128.0.0.1", 421), ("0.0.0.0", 421),
  ])
  func `a local server refuses foreign hosts`(host: String, status: Int) {
    var stage = MCPStage { $0.originPolicy.hosts = ["relay.example"] }
    let id = stage.post(Self.list) { $0.fields.host = host }
    #expect(stage[id].reply?.status == status)
  }

  @Test(arguments: [
    ("127.0.0.2", 400), ("127.0.0.2:8787", 400), ("relay.example:443", 400),
    ("relay.example:80", 400), ("relay.example:8443", 421), ("192.0.2.3", 421),
    ("192.0.2.2", 400), ("[::ffff:192.0.2.2]", 400), ("evil.example", 421),
  ])
  func `named hosts and the listening address are admitted, and no others`(
    host: String, status: Int
  ) {
    for isLocal in [true, false] {
      var stage = MCPStage {
        $0.originPolicy.isLocal = isLocal
        $0.originPolicy.ownName = "192.0.2.2"
        $0.originPolicy.hosts = ["relay.example"]
      }
      let id = stage.post(Self.list) { $0.fields.host = host }
      #expect(stage[id].reply?.status == status)
    }
  }

  @Test func `a public server admits any host`() {
    var stage = MCPStage { $0.originPolicy.isLocal = false }
    let id = stage.post(Self.list) { $0.fields.host = "relay.example" }
    #expect(stage[id].reply?.status == 400)
  }

  @Test(arguments: [
    ("http://localhost:3000", 400), ("https://127.0.0.1", 400), ("https://app.example", 400),
    ("https://evil.example", 403), ("https://app.example.evil", 403), ("null", 403),
    ("http://localhost.evil.example", 403), ("file://localhost", 403),
    ("http://[0:0:0:0:0:0:0:1]:3000", 400), ("http://127.0.0.9:3000", 400),
  ])
  func `a web page may call from this machine or from an allowed origin`(
    origin: String, status: Int
  ) {
    for isLocal in [true, false] {
      var stage = MCPStage {
        $0.originPolicy.isLocal = isLocal
        $0.originPolicy.origins = ["https://app.example"]
      }
      let id = stage.post(Self.list) { $0.fields.origin = origin }
      #expect(stage[id].reply?.status == status)
    }
  }

  @Test(arguments: [
    (nil as String?, 400), ("*/*", 400), ("application/*", 400), ("text/event-stream", 400),
    ("text/html, application/json;q=0.5", 400), ("text/html", 406), ("", 406),
    ("application/json;q=0", 406),
  ])
  func `a client must accept JSON or event streams`(accept: String?, status: Int) {
    var stage = MCPStage()
    let id = stage.post(Self.list) { $0.fields.accept = accept }
    #expect(stage[id].reply?.status == status)
  }

  @Test(arguments: [
    (nil as String?, false), ("text/plain", false), ("application/jsonx", false),
    ("application/json", true), ("Application/JSON ; charset=utf-8", true),
  ])
  func `a body must be JSON`(type: String?, isTaken: Bool) {
    var stage = MCPStage()
    let id = stage.post(Self.list) { $0.fields.contentType = type }
    #expect(stage[id].reply?.status == 400)
    #expect(stage[id].body.contains("Content-Type") == !isTaken)
  }

  @Test func `other methods are refused with the allowed methods`() {
    var stage = MCPStage()
    let one = stage.request(.other)
    #expect(stage[one].reply?.status == 405)
    #expect(stage[one].reply?.allow == "GET, POST, DELETE")
    let two = stage.request(.get) { $0.fields.version = "2026-07-28" }
    #expect(stage[two].reply?.allow == "POST")
  }

  // MARK: - Without sessions

  private static func meta(_ version: String = "2026-07-28", _ more: String = "") -> String {
    #"{"io.modelcontextprotocol/protocolVersion":"\#(version)","#
      + #""io.modelcontextprotocol/clientCapabilities":{}\#(more)}"#
  }

  private func stateless(
    _ stage: inout MCPStage, _ method: String, _ params: String, version: String = "2026-07-28",
    name: String? = nil, _ change: (inout MCPCall) -> Void = { _ in }
  ) -> RequestID {
    stage.post(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)}}"#) {
      $0.fields.version = version
      $0.fields.rpcMethod = method
      $0.fields.rpcName = name
      change(&$0)
    }
  }

  @Test func `a stateless request carries everything that is needed`() {
    var stage = MCPStage()
    let discover = stateless(&stage, "server/discover", #""_meta":\#(Self.meta())"#)
    #expect(stage[discover].reply?.status == 200)
    #expect(stage[discover].body.contains(#""supportedVersions":["2026-07-28"]"#))
    let list = stateless(&stage, "tools/list", #""_meta":\#(Self.meta())"#)
    #expect(stage[list].body.contains(#""resultType":"complete""#))
    let call = stateless(
      &stage, "tools/call",
      #""name":"get_health_metrics","arguments":\#(MCPStage.metrics),"_meta":\#(Self.meta())"#,
      name: "get_health_metrics"
    ) { $0.fields.bearer = MCPStage.token }
    #expect(stage.asks.map(\.bearer) == [.hash(MCPStage.token)])
    stage.complete(.data("{}"))
    #expect(stage[call].body.contains(#""isError":false,"resultType":"complete","_meta":{"#))
  }

  @Test(arguments: [
    ("tools/list", "", 400, -32602),
    (
      "tools/list", #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, 400,
      -32602
    ),
    ("tools/list", #""_meta":\#(meta("2025-11-25"))"#, 400, -32020),
    ("tools/call", #""name":"logout","_meta":\#(meta())"#, 400, -32020),
    ("ping", #""_meta":\#(meta())"#, 404, -32601),
    ("subscriptions/listen", #""_meta":\#(meta())"#, 404, -32601),
  ])
  func `reports what a stateless request lacks`(
    method: String, params: String, status: Int, code: Int
  ) {
    var stage = MCPStage()
    let id = stateless(&stage, method, params)
    #expect(stage[id].reply?.status == status)
    #expect(stage[id].body.contains(#""code":\#(code)"#))
  }

  @Test func `an unsupported version is refused with the requested version`() {
    var stage = MCPStage()
    let id = stateless(
      &stage, "tools/list", #""_meta":\#(Self.meta("2030-01-01"))"#, version: "2030-01-01")
    #expect(stage[id].reply?.status == 400)
    #expect(stage[id].body.contains(#""code":-32022"#))
    #expect(stage[id].body.contains(#""requested":"2030-01-01""#))
  }

  @Test func `an unsupported version is refused before anything else is checked`() {
    var stage = MCPStage()
    let id = stage.post(Self.list) { $0.fields.version = "2030-01-01" }
    let known = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
    // `supported` lists only the versions that `server/discover` reports.
    #expect(
      stage[id].body == #"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"#
        + #""Unsupported protocol version; this server speaks \#(known)","#
        + #""data":{"supported":["2026-07-28"],"requested":"2030-01-01"}}}"#)
  }

  @Test func `a header must match the body`() {
    var stage = MCPStage()
    let id = stateless(&stage, "tools/list", #""_meta":\#(Self.meta())"#) {
      $0.fields.rpcMethod = "tools/call"
    }
    #expect(stage[id].body.contains(#""code":-32020"#))
  }

  @Test(arguments: [
    ("logout", true), ("=?base64?bG9nb3V0?=", true), ("=?base64?bG9naW4=?=", false),
    ("=?base64?bG9nb3V?=", false), ("Logout", false),
  ])
  func `the tool name in the header may be Base64`(name: String, isTaken: Bool) {
    var stage = MCPStage()
    let id = stateless(
      &stage, "tools/call", #""name":"logout","_meta":\#(Self.meta())"#, name: name)
    #expect(stage[id].body.contains(#""code":-32020"#) == !isTaken)
    #expect((stage.asks.map(\.ask) == [.logout]) == isTaken)
  }

  @Test func `notifications are ignored, and responses are refused`() {
    var stage = MCPStage()
    let cancel = stage.post(#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#) {
      $0.fields.version = "2026-07-28"
    }
    #expect(stage[cancel].reply == MCPReply(202))
    let foreign = stage.post(#"{"jsonrpc":"2.0","method":"x"}"#) { $0.fields.version = "x" }
    #expect(stage[foreign].reply?.status == 400)
    let response = stage.post(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) {
      $0.fields.version = "2026-07-28"
    }
    #expect(stage[response].reply?.status == 400)
  }
}
