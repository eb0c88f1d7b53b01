import HoldfastBackend
import HoldfastCore
import HoldfastTestKit
import HoldfastWire
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
    let other = try Scratch()
    var second = configuration
    (second.dataDirectory, second.nodeName) = (other.path, "second")
    let refused = Backend(second)
    await #expect(throws: BackendError.self) { try await refused.start() }
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
}
