import HoldfastCore
import HoldfastRelayServer

/// A request of an assistant, read without regard to the transport that carried it.
enum MCPRequest {
  /// A request whose result is known.
  case result(MCPResult)
  /// A call of a tool.
  case call(MCPTool, MCPArguments)
  /// A call of a tool that does not exist.
  case unknownTool(String)

  /// Reads a request other than `initialize`.
  ///
  /// Throws `methodNotFound` if the version has no such method, and `invalidParams` if the call of
  /// a tool cannot be read.
  init(
    _ method: String, _ params: MCPParams, in version: MCPVersion,
    from provider: MCPProvider = .phone
  ) throws(RPCError) {
    switch method {
    case "ping" where version.hasSessions: self = .result(.pong)
    case "server/discover" where !version.hasSessions: self = .result(.discovered)
    case "tools/list": self = .result(.tools)
    case "resources/list": self = .result(.resources)
    case "resources/templates/list": self = .result(.resourceTemplates)
    case "resources/read":
      guard let uri = params.uri else { throw RPCError(.invalidParams, "uri is missing") }
      guard let resource = MCPResource(rawValue: uri) else { throw .noResource(uri, in: version) }
      self = .result(.resource(resource))
    case "tools/call":
      guard let name = params.name else { throw RPCError(.invalidParams, "name is missing") }
      guard let arguments = params.arguments else {
        throw RPCError(.invalidParams, "arguments must be an object")
      }
      self = provider.tool(named: name).map { .call($0, arguments) } ?? .unknownTool(name)
    case _: throw RPCError(.methodNotFound, "Method not found: \(method)")
    }
  }
}

extension MCPCallResult {
  /// The result of the call of a tool that a server does not have.
  static func unknownTool(_ name: String, of provider: MCPProvider) -> MCPCallResult {
    let known = provider.tools.map(\.rawValue).joined(separator: ", ")
    return .refused(
      "unknown_tool", "Unknown tool: \(name.prefix(64)). The tools are \(known).")
  }

  /// Returns the JSON-RPC response with the result, or with a shorter result if the response has
  /// more than `room` bytes.
  func response(to id: RPCID, in version: MCPVersion, within room: Int) -> [UInt8] {
    func response(_ result: MCPCallResult) -> [UInt8] {
      MCPResult.called(result).response(to: id, in: version)
    }
    var json = response(self)
    if json.count > room, let once = once(in: version) { json = response(once) }
    if json.count > room { json = response(MCPCallResult(.answerTooLarge(limit: room))) }
    return json
  }
}

extension MCPParams {
  /// Returns whether a header field `Mcp-Name` repeats what the request is about.
  func isNamed(_ name: String?, by method: String) -> Bool {
    switch method {
    case "tools/call": name == self.name
    case "resources/read": name == uri
    case _: true
    }
  }

  /// Returns the text of the version that the metadata of a request without a session names.
  func statedVersion() throws(RPCError) -> String {
    guard let meta, let version = meta.protocolVersion, meta.hasCapabilities else {
      throw RPCError(.invalidParams, "_meta must hold protocolVersion and clientCapabilities")
    }
    return version
  }
}

extension MCPVersion {
  /// Returns the version without sessions that a text names.
  static func stateless(_ text: String) throws(RPCError) -> MCPVersion {
    guard let version = MCPVersion(rawValue: text), !version.hasSessions else {
      let known = MCPVersion.allCases.map(\.rawValue).joined(separator: ", ")
      throw RPCError(
        .unsupportedVersion, "Unsupported protocol version; this server speaks \(known)",
        requestedVersion: String(text.prefix(64)))
    }
    return version
  }
}

// The errors of both transports.
extension RPCError {
  static var noVersion: RPCError { RPCError(.invalidParams, "protocolVersion is missing") }
  static var idInUse: RPCError { RPCError(.invalidRequest, "id is in use") }
  static var initializeInBatch: RPCError {
    RPCError(.invalidRequest, "Invalid request: initialize in a batch")
  }
  static var batch: RPCError {
    RPCError(
      .invalidRequest,
      "Invalid request: a batch, which only protocol version 2025-03-26 has; send one message at a "
        + "time")
  }
}
