import HoldfastJSON

/// The error of a JSON-RPC response (JSON-RPC 2.0 section 5.1).
package struct RPCError: Error, Sendable, Hashable, Codable {
  /// The kind of error, with the code of JSON-RPC or MCP.
  package enum Code: Int, Sendable, Codable, CaseIterable {
    /// The body is not JSON.
    case parse = -32700
    /// The JSON is not a request, or the request is not valid at this point.
    case invalidRequest = -32600
    /// The method is unknown.
    case methodNotFound = -32601
    /// The parameters are not valid for the method.
    case invalidParams = -32602
    /// The server has an internal error.
    case internalError = -32603
    /// The resource does not exist (MCP 2025-11-25 and older).
    case resourceNotFound = -32002
    /// A header field contradicts the body (MCP 2026-07-28).
    case headerMismatch = -32020
    /// The requested version is not supported (MCP 2026-07-28).
    case unsupportedVersion = -32022
    /// The user must open a page first (MCP 2025-11-25).
    case elicitationRequired = -32042
    /// The request was cancelled. The code is taken from LSP.
    case cancelled = -32800
  }

  /// The kind of error.
  package var code: Code
  /// A human-readable message.
  package var message: String
  /// The requested version, for `unsupportedVersion`.
  package var requestedVersion: String?
  /// The request to the user, for `elicitationRequired`.
  package var elicitation: MCPElicitation?

  /// Creates an error.
  package init(_ code: Code, _ message: String, requestedVersion: String? = nil) {
    self.code = code
    self.message = message
    self.requestedVersion = requestedVersion
  }

  /// Returns the response with the error. `id` is `nil` if the request's id could not be read.
  package func response(to id: RPCID?) -> [UInt8] {
    var writer = JSONWriter(capacity: 160)
    writer.beginObject()
    writer.entry("jsonrpc", "2.0")
    writer.key("id")
    if let id { id.write(to: &writer) } else { writer.null() }
    writer.key("error")
    writer.beginObject()
    writer.entry("code", code.rawValue)
    writer.entry("message", message)
    if let requestedVersion {
      writer.key("data")
      writer.beginObject()
      writer.key("supported")
      writer.beginArray()
      // Only versions without sessions define this error, so it lists only those versions, as
      // `server/discover` does.
      for version in MCPVersion.allCases where !version.hasSessions {
        writer.string(version.rawValue)
      }
      writer.endArray()
      writer.entry("requested", requestedVersion)
      writer.endObject()
    }
    if let elicitation {
      writer.key("data")
      writer.object {
        $0.array("elicitations") { elicitation.write(to: &$0, withID: true) }
      }
    }
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}
