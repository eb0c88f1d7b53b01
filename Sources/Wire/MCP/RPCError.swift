import LinkJSON

/// The error of a JSON-RPC response (JSON-RPC 2.0 section 5.1).
package struct RPCError: Error, Sendable, Hashable, Codable {
  /// What kind of error it is; the numbers are JSON-RPC's and MCP's.
  package enum Code: Int, Sendable, Codable, CaseIterable {
    /// The body is no JSON.
    case parse = -32700
    /// The JSON is no request, or not one that fits here.
    case invalidRequest = -32600
    /// The method is unknown.
    case methodNotFound = -32601
    /// The method does not take these parameters.
    case invalidParams = -32602
    /// The fault is on this side.
    case internalError = -32603
    /// A header says something else than the body (MCP 2026-07-28).
    case headerMismatch = -32020
    /// No such version is spoken here (MCP 2026-07-28).
    case unsupportedVersion = -32022
    /// The request was cancelled; the code that LSP gives it.
    case cancelled = -32800
  }

  /// What kind of error it is.
  package var code: Code
  /// For people.
  package var message: String
  /// With `unsupportedVersion`: which one was asked for.
  package var requestedVersion: String?

  /// An error of a kind with its sentence.
  package init(_ code: Code, _ message: String, requestedVersion: String? = nil) {
    self.code = code
    self.message = message
    self.requestedVersion = requestedVersion
  }

  /// The response that carries it; `nil` where the request's id could not be read.
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
      // Those of the error's own era, which `server/discover` names too.
      for version in MCPVersion.allCases where !version.hasSessions {
        writer.string(version.rawValue)
      }
      writer.endArray()
      writer.entry("requested", requestedVersion)
      writer.endObject()
    }
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}
