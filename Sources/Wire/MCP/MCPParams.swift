import LinkJSON

/// What the methods that this server knows may find among their parameters.
package struct MCPParams: Sendable, Hashable {
  /// Of `initialize`: what the client would like to speak.
  package private(set) var protocolVersion: String?
  /// Of `tools/call`: which tool.
  package private(set) var name: String?
  /// Of `tools/call`: `nil` when they are no object.
  package private(set) var arguments: MCPArguments? = MCPArguments()
  /// Of `notifications/cancelled`: which request.
  package private(set) var requestID: RPCID?
  /// Of `initialize`: what the client calls itself.
  package private(set) var client: AssistantName?
  /// Of any request.
  package private(set) var meta: Meta?

  /// The member `_meta`.
  package struct Meta: Sendable, Hashable {
    /// The version that this request speaks (MCP 2026-07-28).
    package var protocolVersion: String?
    /// Whether the client says what it can (MCP 2026-07-28 wants it in each request).
    package var hasCapabilities = false
    /// Where progress is wanted.
    package var progressToken: RPCID?
    /// What the client calls itself (MCP 2026-07-28).
    package var client: AssistantName?
  }

  private static let prefix = "io.modelcontextprotocol/"

  /// Reads what a message brought; members that nobody asks for are passed over.
  package init(_ params: RPCParams) {
    var reader = JSONReader(params.bytes)
    do {
      try read(&reader)
    } catch {
      // The grammar was checked with the message: there is nothing that could be thrown.
      self = MCPParams()
    }
  }

  private init() {}

  private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "protocolVersion": protocolVersion = try reader.textIfString()
      case "name": name = try reader.textIfString()
      case "requestId": requestID = try RPCID.read(&reader)
      case "arguments":
        let isLeftOut = try reader.peek() == .null
        let json = try reader.rawValue()
        arguments = isLeftOut ? MCPArguments() : MCPArguments(json)
      case "clientInfo": client = try Self.client(&reader)
      case "_meta": try readMeta(&reader)
      case _: try reader.skipValue()
      }
    }
  }

  /// Reads the name and the version of an implementation; `nil` if it has no name.
  private static func client(_ reader: inout JSONReader) throws(JSONError) -> AssistantName? {
    guard try reader.peek() == .object else {
      try reader.skipValue()
      return nil
    }
    var (name, version): (String?, String?) = (nil, nil)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "name": name = try reader.textIfString()
      case "version": version = try reader.textIfString()
      case _: try reader.skipValue()
      }
    }
    return AssistantName(name, version: version)
  }

  private mutating func readMeta(_ reader: inout JSONReader) throws(JSONError) {
    guard try reader.peek() == .object else { return try reader.skipValue() }
    var found = Meta()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case Self.prefix + "protocolVersion": found.protocolVersion = try reader.textIfString()
      case Self.prefix + "clientCapabilities":
        found.hasCapabilities = try reader.peek() == .object
        try reader.skipValue()
      case Self.prefix + "clientInfo": found.client = try Self.client(&reader)
      case "progressToken": found.progressToken = try RPCID.read(&reader)
      case _: try reader.skipValue()
      }
    }
    meta = found
  }
}

/// A revision of the Model Context Protocol, named by its date.
package enum MCPVersion: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
  case november2024 = "2024-11-05"
  case march2025 = "2025-03-26"
  case june2025 = "2025-06-18"
  case november2025 = "2025-11-25"
  /// Without a handshake and without sessions: each request says all that is needed.
  case july2026 = "2026-07-28"

  /// Whether `initialize` agrees on it and a session follows.
  package var hasSessions: Bool { self < .july2026 }

  /// Whether its clients read `structuredContent`; others read the text alone.
  package var takesStructured: Bool { self >= .june2025 }

  /// The newest that `initialize` can agree on; offered to whoever asks for one that is not known.
  package static let newestWithSessions = MCPVersion.november2025

  /// What `initialize` agrees on when a client offers `text`.
  package static func agreed(on text: String) -> MCPVersion {
    MCPVersion(rawValue: text).flatMap { $0.hasSessions ? $0 : nil } ?? newestWithSessions
  }

  /// Older first.
  package static func < (left: MCPVersion, right: MCPVersion) -> Bool {
    left.rawValue < right.rawValue
  }
}
