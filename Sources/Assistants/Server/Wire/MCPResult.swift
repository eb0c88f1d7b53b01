import HoldfastJSON

/// The result of a request. Each case is the result of one method.
package enum MCPResult: Sendable, Hashable, Codable {
  /// The result of `initialize`.
  case initialized(MCPVersion)
  /// The result of `server/discover`.
  case discovered
  /// The result of `ping`.
  case pong
  /// The result of `tools/list`.
  case tools
  /// The result of `resources/list`.
  case resources
  /// The result of `resources/templates/list`. There are no templates.
  case resourceTemplates
  /// The result of `resources/read`.
  case resource(MCPResource)
  /// The result of `tools/call`.
  case called(MCPCallResult)
  /// The result of `tools/call` if the user must open a page first (MCP 2026-07-28). The client
  /// sends the state with its next try.
  case inputRequired(MCPElicitation, state: String)

  /// The name of this server.
  static let serverName = "holdfast"
  static let serverTitle = "Holdfast health data"
  /// The version of this package's programs.
  package static let serverVersion = "0.1.0"
  static let instructions =
    "Health data of a person, read from their phone while it is connected. Start with direct_login."

  /// Returns the complete JSON-RPC response of a server.
  package func response(
    to id: RPCID, in version: MCPVersion, from provider: MCPProvider = .phone
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024)
    writer.beginObject()
    writer.entry("jsonrpc", "2.0")
    writer.key("id")
    id.write(to: &writer)
    writer.key("result")
    writer.beginObject()
    write(to: &writer, from: provider)
    if !version.hasSessions { writeStateless(to: &writer) }
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  private func write(to writer: inout JSONWriter, from provider: MCPProvider) {
    switch self {
    case .initialized(let version):
      writer.entry("protocolVersion", version.rawValue)
      Self.writeSelf(to: &writer, provider)
      writer.key("serverInfo")
      Self.writeInfo(to: &writer, in: version)
    case .discovered:
      let versions = MCPVersion.allCases.filter { !$0.hasSessions }
      writer.entry("supportedVersions", versions.map { $0.rawValue })
      Self.writeSelf(to: &writer, provider)
    case .pong: break
    case .tools:
      writer.array("tools") {
        for tool in provider.tools { tool.write(to: &$0, from: provider) }
      }
    case .resources:
      writer.array("resources") {
        for resource in MCPResource.allCases { resource.writeDescription(to: &$0) }
      }
    case .resourceTemplates: writer.entry("resourceTemplates", [String]())
    case .resource(let resource):
      writer.array("contents") { resource.writeContent(to: &$0) }
    case .called(let result): result.write(to: &writer)
    case .inputRequired(let elicitation, let state):
      writer.key("inputRequests")
      writer.object {
        $0.key("sign_in")
        $0.object {
          $0.entry("method", "elicitation/create")
          $0.key("params")
          elicitation.write(to: &$0, withID: false)
        }
      }
      writer.entry("requestState", state)
    }
  }

  /// Writes the members that MCP 2026-07-28 adds to all results, and those that it adds to
  /// cacheable results.
  private func writeStateless(to writer: inout JSONWriter) {
    switch self {
    case .discovered, .tools, .resources, .resourceTemplates, .resource:
      writer.entry("ttlMs", 0)
      writer.entry("cacheScope", "private")
    case .initialized, .pong, .called, .inputRequired: break
    }
    writer.entry("resultType", isComplete ? "complete" : "input_required")
    writer.key("_meta")
    writer.beginObject()
    writer.key("io.modelcontextprotocol/serverInfo")
    Self.writeInfo(to: &writer, in: .july2026, withIcon: self == .discovered)
    writer.endObject()
  }

  /// Whether the request needs nothing more from the client.
  private var isComplete: Bool {
    switch self {
    case .initialized, .discovered, .pong, .tools, .resources, .resourceTemplates, .resource,
      .called:
      true
    case .inputRequired: false
    }
  }

  private static func writeSelf(to writer: inout JSONWriter, _ provider: MCPProvider) {
    writer.object("capabilities") { writeCapabilities(to: &$0) }
    writer.entry("instructions", provider.instructions)
  }

  /// Writes the description of the server, with the members that a version defines.
  private static func writeInfo(
    to writer: inout JSONWriter, in version: MCPVersion, withIcon hasIcon: Bool = true
  ) {
    writer.object {
      $0.entry("name", serverName)
      if version >= .june2025 { $0.entry("title", serverTitle) }
      $0.entry("version", serverVersion)
      guard hasIcon, version >= .november2025 else { return }
      $0.array("icons") {
        $0.object {
          $0.entry("src", "data:image/png;base64," + icon)
          $0.entry("mimeType", "image/png")
          $0.entry("sizes", ["32x32"])
        }
      }
    }
  }

  /// The icon: a pulse on a green disk, as a PNG of 32 by 32 pixels. PNG is the only format that
  /// all clients with icons support.
  static let icon =
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAACVBMVEUAAAAvfWv///+YQixNAAAAAXRSTlMAQObYZgAA"
    + "AHhJREFUeNpN0LsNwCAMBFAoGCGZhxFSYCRWYJ6QDZLipow/yODqyTrLmBBWRaKsIK7ZsFYSXIxDUGZEQhxpGuJI"
    + "19AOKHgIQ8Y2VMdnAJ63o4RTANzSqQydou+1cYJjMJJBd1F3yNJoyPrUpvf44/0cP9BPXp9g9QNG8kgfBZ3HXQAA"
    + "AABJRU5ErkJggg=="
}

extension MCPTool {
  fileprivate func write(to writer: inout JSONWriter, from provider: MCPProvider) {
    writer.beginObject()
    writer.entry("name", rawValue)
    writer.entry("title", title)
    writer.entry("description", summary)
    writeSchemas(to: &writer, from: provider)
    writer.key("annotations")
    writer.beginObject()
    writer.entry("readOnlyHint", questionKind != nil)
    writer.entry("destructiveHint", false)
    writer.entry("openWorldHint", false)
    writer.endObject()
    writePage(to: &writer)
    writer.endObject()
  }

  fileprivate func writeSchemas(to writer: inout JSONWriter, from provider: MCPProvider) {
    writer.key("inputSchema")
    provider.input(of: self).write(to: &writer)
    writer.key("outputSchema")
    provider.output(of: self).write(to: &writer)
  }

  /// Returns the answer to the original app's `GET /mcp/tools`.
  package static func plainList() -> [UInt8] {
    var writer = JSONWriter(capacity: 8_192)
    writer.beginObject()
    writer.key("metadata")
    writer.beginObject()
    writer.entry("description", MCPResult.instructions)
    writer.endObject()
    writer.key("tools")
    writer.beginArray()
    for tool in allCases {
      writer.beginObject()
      writer.entry("name", tool.rawValue)
      writer.entry("summary", tool.title)
      writer.entry("description", tool.summary)
      tool.writeSchemas(to: &writer, from: .phone)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}
