import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// A backend over a database, with a client that knows only HTTP.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct DatabaseBackendTests {
  /// Posts a text, or reads all texts and the health. Prints the status and the body.
  private static let script = """
    import json, sys, urllib.request, urllib.error
    url, token, text = sys.argv[1:4]
    def ask(path, body=None):
        request = urllib.request.Request(url + path, body, {
            "Authorization": "Bearer " + token, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
    if text:
        body = json.dumps({"shop_id": "bakery", "message": text}).encode()
        print(*ask("/api/v1/auth/shops/messages", body))
    else:
        status, page = ask("/api/v1/auth/shops/bakery/messages")
        print(status, ",".join(m["message"] for m in json.loads(page)["data"]))
        print(*ask("/healthz"))
    """

  private func ask(_ address: BoundAddress, _ token: String, post text: String = "") async throws
    -> String
  {
    try await Shell.run(["python3", "-c", Self.script, address.url, token, text])
  }

  @Test func `posts survive a kill of the database and a new run of the backend`() async throws {
    let scratch = try Scratch()
    let server = try await TestServer()
    try await server.start()
    let database = try await TestDatabase(on: [server])
    var configuration = BackendConfiguration(dataDirectory: scratch.path)
    configuration.databaseURL = database.url
    configuration.nodeName = "first"
    let token = try Tokens.open(in: scratch.path).issue(
      user: "ann", name: "Ann", shops: [try #require(ShopID("bakery"))],
      ttl: .seconds(3_600))
    let first = Backend(configuration)
    let address = try await first.start()
    #expect(try await ask(address, token, post: "one").hasPrefix("201"))
    await server.kill()
    try await server.start()
    #expect(try await ask(address, token, post: "two").hasPrefix("201"))
    await server.kill()
    // A killed backend gives nothing back. The next run takes over at once.
    await first.kill()
    try await server.start()
    let again = Backend(configuration)
    let next = try await again.start()
    let answer = try await ask(next, token)
    #expect(answer.hasPrefix("200 one,two\n200 "), "\(answer)")
    await again.drainAndStop()
    await server.kill()
  }

  /// A client of two nodes that knows only HTTP, and the frames of WebSocket that a server sends
  /// (RFC 6455). Prints what it sees.
  private static let twoNodes = """
    import base64, json, os, socket, struct, sys, time, urllib.error, urllib.request
    from urllib.parse import urlsplit
    first, second, token = sys.argv[1:4]
    auth = {"Authorization": "Bearer " + token}
    def ask(url, body=None, fields={}):
        request = urllib.request.Request(url, body, {**auth, **fields})
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
    def post(node, text):
        body = json.dumps({"shop_id": "bakery", "message": text}).encode()
        return ask(node + "/api/v1/auth/shops/messages", body, {"Content-Type": "application/json"})
    def stream(node):
        place = urlsplit(node)
        peer = socket.create_connection((place.hostname, place.port), 600)
        key = base64.b64encode(os.urandom(16)).decode()
        peer.sendall(("GET /api/v1/auth/shops/bakery/messages/stream HTTP/1.1\\r\\nHost: x\\r\\n"
            "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
            "Sec-WebSocket-Key: " + key + "\\r\\nAuthorization: Bearer " + token
            + "\\r\\n\\r\\n").encode())
        file = peer.makefile("rb")
        status = file.readline().split()[1].decode()
        while file.readline().strip():
            pass
        return status, file
    def text(file):
        while True:
            head = file.read(2)
            length = head[1] & 127
            if length == 126:
                length = struct.unpack(">H", file.read(2))[0]
            body = file.read(length)
            if head[0] & 15 == 1:
                return json.loads(body).get("message")
    def until(node, status):
        for _ in range(6_000):
            if ask(node + "/healthz/session")[0] == status:
                return status
            time.sleep(0.1)
    step = sys.argv[4]
    if step == "both":
        status, file = stream(second)
        print(status)
        for number, node in enumerate([first, second, first, first, second]):
            print(post(node, "text %d" % number)[0], text(file))
        gif = b"GIF89a" + bytes(30)
        status, answer = ask(first + "/api/v1/auth/shops/messages/image/upload?shop_id=bakery", gif,
            {"Content-Type": "image/gif"})
        address = urlsplit(json.loads(answer)["data"]["image_url"]).path
        print(status, ask(second + address)[1] == gif, ask(second + address, None,
            {"Range": "bytes=2-5"})[1])
        print(ask(first + "/healthz/session")[0], ask(second + "/healthz/session")[0],
            ask(second + "/healthz")[0], ask(first + "/session")[0], ask(second + "/session")[0])
        # What the second node passes on: a session of MCP, the stream of a phone, a refusal.
        mcp = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25"}}).encode()
        del auth["Authorization"]
        request = urllib.request.Request(second + "/mcp", hello, mcp)
        with urllib.request.urlopen(request, timeout=600) as response:
            mcp["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        tools = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode()
        print(*[len(json.loads(ask(node + "/mcp", tools, mcp)[1])["result"]["tools"]) > 3
            for node in (first, second)], ask(second + "/mcp/tools")[0],
            ask(second + "/relay/lease", b"{}")[0])
        for node in (first, second):
            # The bus connects in the background, and again after it was late.
            for _ in range(6_000):
                page = ask(node + "/metrics")[1].decode().splitlines()
                if "holdfast_node_bus 1" in page:
                    break
                time.sleep(0.1)
            print(*[line[len("holdfast_node_"):] for line in page if line.startswith("holdfast_node_")])
    elif step.isdigit():
        statuses = []
        while len(statuses) < 150 and int(step) not in statuses:
            statuses.append(post(second, "post %d" % len(statuses))[0])
            time.sleep(0.1)
        print(statuses[-1])
    else:
        print(until(second, 200), ask(second + "/session")[0], post(second, "after")[0])
    """

  @Test func `two nodes share shops and images, and one of them runs the other services`()
    async throws
  {
    try await playTwoNodes()
  }

  @Test(.enabled(if: NATSServer.isInstalled, NATSServer.remedy))
  func `two nodes that report over NATS share shops`() async throws {
    let server = NATSServer()
    try await server.start()
    try await playTwoNodes(bus: server.url)
    await server.kill()
  }

  @Test func `a bus that is no URL of NATS is an error of the start`() async throws {
    let scratch = try Scratch()
    var configuration = BackendConfiguration(dataDirectory: scratch.path)
    (configuration.databaseURL, configuration.bus) = (try await TestDatabase().url, "http://a")
    let backend = Backend(configuration)
    await #expect(throws: BackendError.self) { try await backend.start() }
  }

  /// Starts two nodes, the second one after it was refused without the secrets of the first.
  private func twoBackends(
    in scratch: Scratch, _ database: TestDatabase, bus: String?
  ) async throws -> (backends: [Backend], urls: [String]) {
    var backends: [Backend] = []
    var urls: [String] = []
    for name in ["a", "b"] {
      var configuration = BackendConfiguration(dataDirectory: scratch(name))
      (configuration.databaseURL, configuration.nodeName) = (database.url, name)
      configuration.nodeAddress = "127.0.0.1:0"
      configuration.bus = bus
      if name == "b" {
        let missing = Backend(configuration)
        await #expect(throws: BackendError.self, "other secrets") { try await missing.start() }
        try await copySecrets(in: scratch)
      }
      let backend = Backend(configuration)
      urls.append(try await backend.start().url)
      backends.append(backend)
    }
    return (backends, urls)
  }

  private func copySecrets(in scratch: Scratch) async throws {
    for file in ["secret", "session-key"] {
      try await Shell.run(["cp", "-p", scratch("a/\(file)"), scratch("b/\(file)")])
    }
  }

  private func playTwoNodes(bus: String? = nil) async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let token = try Tokens.open(in: scratch("a")).issue(
      user: "ann", name: "Ann", shops: [try #require(ShopID("bakery"))],
      ttl: .seconds(3_600))
    let (backends, urls) = try await twoBackends(in: scratch, database, bus: bus)
    func run(_ step: String) async throws -> String {
      try await Shell.run(["python3", "-c", Self.twoNodes] + urls + [token, step])
    }
    let both = try await run("both")
    let posts = (0..<5).map { "201 text \($0)\n" }.joined()
    #expect(
      both.hasPrefix(
        "101\n" + posts + "200 True b'F89a'\n200 503 200 426 426\nTrue True 200 401\n"),
      "\(both)")
    #expect(both.contains("lease 1 role 1 bus 1 passed_total{outcome=\"answered\"} 0"), "\(both)")
    #expect(both.contains("lease 1 role 0 bus 1 passed_total"), "\(both)")
    // A removal at one node holds at the other one.
    let shop = try #require(ShopID("bakery"))
    try await backends[0].removeMember("ann", of: shop)
    #expect(try await run("403").hasPrefix("403"))
    try await backends[1].readmitMember("ann", to: shop)
    #expect(try await run("201").hasPrefix("201"))
    let nodes = try BackendNode.all(of: database.url)
    #expect(nodes.map(\.name) == ["a", "b"])
    #expect(nodes.map(\.state) == [.alive, .alive])
    #expect(nodes.map(\.runsServicesOfOneNode) == [true, false])
    await backends[0].drainAndStop()
    #expect(try await run("after").hasPrefix("200 426 201"))
    await backends[1].drainAndStop()
    #expect(try BackendNode.all(of: database.url).isEmpty)
  }
}
