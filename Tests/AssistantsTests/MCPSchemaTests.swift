import Foundation
import Testing

struct MCPSchemaTests {
  /// Returns the sorted names of the properties that a tool declares for its results.
  private static func names(_ tool: String) throws -> [String] {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.post(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, session: session)
    let body = try JSONSerialization.jsonObject(with: Data(stage[id].body.utf8))
    let result = try #require((body as? [String: Any])?["result"] as? [String: Any])
    let tools = try #require(result["tools"] as? [[String: Any]])
    let found = try #require(tools.first { $0["name"] as? String == tool })
    let output = try #require(found["outputSchema"] as? [String: Any])
    return try #require(output["properties"] as? [String: Any]).keys.sorted()
  }

  private static let refusal = ["error", "message", "success"]
  private static let freshness = [
    "answered_at", "as_of", "clock_difference_seconds", "clock_warning", "last_import", "note",
    "source", "time_zone",
  ]

  @Test(arguments: [
    ("logout", []),
    ("direct_login", ["access_token", "expires_in", "token_type", "user_id"]),
    ("list_health_types", ["count", "error_message", "types"] + freshness),
    ("get_summary", ["end_time", "error_message", "results", "start_time"] + freshness),
    (
      "get_health_metrics",
      [
        "applied", "columns", "common", "count", "end_time", "error_message", "group_by",
        "healthData", "is_aggregated", "last_samples", "next_start_time", "notes", "partial_rows",
        "rows", "start_time", "statistic_type", "trend", "truncated", "value_type",
      ] + freshness
    ),
  ])
  func `a tool declares every property that its results can have`(tool: String, own: [String])
    throws
  {
    #expect(try Self.names(tool) == (Self.refusal + own).sorted())
  }

  @Test func `a server reports its capabilities and instructions`() throws {
    var stage = MCPStage()
    let id = stage.post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#)
    let body = try JSONSerialization.jsonObject(with: Data(stage[id].body.utf8))
    let result = try #require((body as? [String: Any])?["result"] as? [String: Any])
    let capabilities = try #require(result["capabilities"] as? [String: [String: Any]])
    #expect(capabilities["tools"] as? [String: Bool] == ["listChanged": false])
    #expect(
      capabilities["resources"] as? [String: Bool] == ["subscribe": false, "listChanged": false])
    #expect(capabilities["extensions"]?.keys.sorted() == ["io.modelcontextprotocol/ui"])
    #expect((result["instructions"] as? String)?.isEmpty == false)
  }
}
