import HoldfastJSON

/// A request to the user of a client to open a page (MCP 2025-11-25, Elicitation, "URL mode").
package struct MCPElicitation: Sendable, Hashable, Codable {
  /// The id of the request, which is also in the address of the page.
  package var id: String
  /// The address of the page.
  package var url: String
  /// The sentence that the client shows its user.
  package var message: String

  /// Creates a request.
  package init(id: String, url: String, message: String) {
    self.id = id
    self.url = url
    self.message = message
  }

  /// Writes the parameters of `elicitation/create`. Only version 2025-11-25 has the id.
  func write(to writer: inout JSONWriter, withID hasID: Bool) {
    writer.object {
      $0.entry("mode", "url")
      if hasID { $0.entry("elicitationId", id) }
      $0.entry("url", url)
      $0.entry("message", message)
    }
  }
}
