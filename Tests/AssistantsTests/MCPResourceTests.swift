import Foundation
import HoldfastAssistants
import Testing

/// Tests of the page that draws answers, as a resource of both servers.
@Suite struct MCPResourceTests {
  private static let uri = "ui://holdfast/charts"
  private static let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
  private static let meta =
    #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
    + #""io.modelcontextprotocol/clientCapabilities":{}}"#

  private static func object(_ text: String) throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return try #require(json as? [String: Any])
  }

  /// Returns the response of a session to a request.
  private static func ask(
    _ method: String, _ params: String = "{}", in version: String
  ) throws -> [String: Any] {
    var stage = MCPStage()
    let session = stage.initialize(version)
    let body = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
    let id = stage.post(body, session: session)
    return try object(stage[id].body)
  }

  /// Returns the response to a request of 2026-07-28, with its status.
  private static func askStateless(
    _ method: String, _ params: String = "", name: String? = nil
  ) throws -> (response: [String: Any], status: Int?) {
    var stage = MCPStage()
    let members = params.isEmpty ? meta : params + "," + meta
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(members)}}"#
    ) {
      ($0.fields.version, $0.fields.rpcMethod) = ("2026-07-28", method)
      $0.fields.rpcName = name
    }
    return (try object(stage[id].body), stage[id].reply?.status)
  }

  private static func check(read response: [String: Any]) throws {
    let result = try #require(response["result"] as? [String: Any])
    let contents = try #require(result["contents"] as? [[String: Any]])
    #expect(contents.count == 1)
    #expect(contents.first?["uri"] as? String == uri)
    #expect(contents.first?["mimeType"] as? String == "text/html;profile=mcp-app")
    let text = contents.first?["text"] as? String ?? ""
    #expect(text.hasPrefix("<!doctype html>") && text.hasSuffix("</html>\n"))
    #expect(text.utf8.count < 100_000)
  }

  @Test(arguments: versions)
  func `a session lists the page and reads it`(version: String) throws {
    let list = try Self.ask("resources/list", in: version)
    let resources = try #require((list["result"] as? [String: Any])?["resources"])
    let listed = try #require(resources as? [[String: Any]])
    #expect(listed.map { $0["uri"] as? String } == [Self.uri])
    let audience = listed.first?["annotations"] as? [String: [String]]
    #expect(audience == ["audience": ["user"]])
    let templates = try Self.ask("resources/templates/list", in: version)
    #expect(
      ((templates["result"] as? [String: Any])?["resourceTemplates"] as? [Any])?.isEmpty == true)
    try Self.check(read: Self.ask("resources/read", #"{"uri":"\#(Self.uri)"}"#, in: version))
  }

  @Test func `a request without a session reads the page, and names it in its header`() throws {
    let params = #""uri":"\#(Self.uri)""#
    let read = try Self.askStateless("resources/read", params, name: Self.uri)
    #expect(read.status == 200)
    try Self.check(read: read.response)
    let result = try #require(read.response["result"] as? [String: Any])
    #expect(result["resultType"] as? String == "complete")
    #expect(result["ttlMs"] as? Int == 0)
    #expect(result["cacheScope"] as? String == "private")
    for name in [nil, "ui://holdfast/other"] {
      let refused = try Self.askStateless("resources/read", params, name: name)
      #expect(refused.status == 400)
      #expect((refused.response["error"] as? [String: Any])?["code"] as? Int == -32020)
    }
    #expect(try Self.askStateless("resources/list").status == 200)
    #expect(try Self.askStateless("resources/templates/list").status == 200)
  }

  @Test func `another address is refused with the code of the version`() throws {
    let other = String(repeating: "x", count: 300)
    for version in Self.versions {
      let refused = try Self.ask("resources/read", #"{"uri":"\#(other)"}"#, in: version)
      let error = try #require(refused["error"] as? [String: Any])
      #expect(error["code"] as? Int == -32002)
      #expect((error["message"] as? String)?.hasSuffix(": " + other.prefix(200)) == true)
    }
    let refused = try Self.askStateless("resources/read", #""uri":"\#(other)""#, name: other)
    #expect(refused.status == 400)
    #expect((refused.response["error"] as? [String: Any])?["code"] as? Int == -32602)
    let none = try Self.ask("resources/read", in: "2025-11-25")
    #expect((none["error"] as? [String: Any])?["code"] as? Int == -32602)
  }

  @Test func `the tools with numbers name the page, and all others have no metadata`() throws {
    let list = try Self.ask("tools/list", in: "2025-06-18")
    let tools = try #require((list["result"] as? [String: Any])?["tools"] as? [[String: Any]])
    for tool in tools {
      let name = tool["name"] as? String ?? ""
      let isDrawn = name == "get_summary" || name == "get_health_metrics"
      let found = tool["_meta"] as? [String: [String: String]]
      #expect(found == (isDrawn ? ["ui": ["resourceUri": Self.uri]] : nil))
    }
  }

  @Test(arguments: ["2025-11-25", "2026-07-28"])
  func `the page is read over lines`(version: String) throws {
    let isNew = version == "2026-07-28"
    var stage = isNew ? MCPLineStage() : MCPLineStage.greeted(version)
    let params = #""uri":"\#(Self.uri)""# + (isNew ? "," + Self.meta : "")
    stage.say(
      MCPLineStage.request(1, "resources/read", "{\(params)}"),
      MCPLineStage.request(2, "resources/list", isNew ? "{\(Self.meta)}" : "{}"))
    let lines = stage.take()
    #expect(lines.count == 2)
    try Self.check(read: Self.object(lines.first ?? ""))
    #expect(lines.last?.contains(Self.uri) == true)
  }
}
