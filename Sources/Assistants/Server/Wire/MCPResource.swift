import HoldfastJSON
import HoldfastPages

/// A resource of this server: a page for the extension `io.modelcontextprotocol/ui` (MCP Apps,
/// version 2026-01-26).
///
/// The host of such a page shows it in a frame, and passes it the result of a tool. The page is the
/// same for all results, so that it is read without a login.
package enum MCPResource: String, Sendable, Hashable, Codable, CaseIterable {
  /// The page that draws an answer as charts. The raw value is its URI.
  case charts = "ui://holdfast/charts"

  /// The identifier of the extension.
  static let appExtension = "io.modelcontextprotocol/ui"
  /// The media type of a page that a host shows.
  package static let mimeType = "text/html;profile=mcp-app"

  /// The HTML document.
  package var text: String {
    switch self {
    case .charts: Page.charts.text
    }
  }

  /// Writes the description of the resource as an object.
  func writeDescription(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("uri", rawValue)
      $0.entry("name", "charts")
      $0.entry("title", "Charts of an answer")
      $0.entry(
        "description",
        "A page for people that draws the answer of get_summary or get_health_metrics. It holds no "
          + "health data.")
      $0.entry("mimeType", Self.mimeType)
      $0.object("annotations") { $0.entry("audience", ["user"]) }
      Self.writeMeta(to: &$0)
    }
  }

  /// Writes the content of the resource as an object.
  func writeContent(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("uri", rawValue)
      $0.entry("mimeType", Self.mimeType)
      $0.entry("text", text)
      Self.writeMeta(to: &$0)
    }
  }

  /// Writes what the page needs from its host: no other address, and a border.
  private static func writeMeta(to writer: inout JSONWriter) {
    writer.object("_meta") {
      $0.object("ui") {
        $0.object("csp") {
          $0.entry("connectDomains", [String]())
          $0.entry("resourceDomains", [String]())
        }
        $0.entry("prefersBorder", true)
      }
    }
  }
}

extension MCPTool {
  /// The page that draws the results of the tool, or `nil` if there is none.
  package var page: MCPResource? {
    switch self {
    case .getHealthMetrics, .getSummary: .charts
    case .directLogin, .listHealthTypes, .logout: nil
    }
  }

  /// Writes the reference to the page of the tool. Clients without the extension ignore it.
  func writePage(to writer: inout JSONWriter) {
    guard let page else { return }
    writer.object("_meta") {
      $0.object("ui") { $0.entry("resourceUri", page.rawValue) }
    }
  }
}

extension MCPResult {
  /// Writes the capabilities of the server into an open object.
  static func writeCapabilities(to writer: inout JSONWriter) {
    writer.object("tools") { $0.entry("listChanged", false) }
    writer.object("resources") {
      $0.entry("subscribe", false)
      $0.entry("listChanged", false)
    }
    writer.object("extensions") {
      $0.object(MCPResource.appExtension) { _ in }
    }
  }
}

extension RPCError {
  /// The longest part of an address that an error repeats, in characters.
  private static let mostOfAddress = 200

  /// Returns the error of a request for a resource that does not exist.
  ///
  /// MCP 2026-07-28 has no code of its own for it.
  package static func noResource(_ uri: String, in version: MCPVersion) -> RPCError {
    RPCError(
      version.hasSessions ? .resourceNotFound : .invalidParams,
      "Resource not found: \(uri.prefix(mostOfAddress))")
  }
}
