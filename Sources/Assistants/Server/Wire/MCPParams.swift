import HoldfastJSON
package import HoldfastRelayData

/// The parameters of the methods that this server supports.
package struct MCPParams: Sendable, Hashable {
  /// The protocol version that a client requests with `initialize`.
  package private(set) var protocolVersion: String?
  /// The tool's name in `tools/call`.
  package private(set) var name: String?
  /// The resource's URI in `resources/read`.
  package private(set) var uri: String?
  /// The arguments of `tools/call`, or `nil` if they are not an object.
  package private(set) var arguments: MCPArguments? = MCPArguments()
  /// The id of the request that `notifications/cancelled` cancels.
  package private(set) var requestID: RPCID?
  /// The client's name and version in `initialize`.
  package private(set) var client: AssistantName?
  /// Whether a client declares with `initialize` that it can ask its user to open a page.
  package private(set) var elicitsURL = false
  /// The state of an earlier result that asked for input (MCP 2026-07-28).
  package private(set) var requestState: String?
  /// Whether the user refused the input that was asked for, or sent the client away.
  package private(set) var refusesInput = false
  /// The metadata of the request.
  package private(set) var meta: Meta?

  /// The content of the member `_meta`.
  package struct Meta: Sendable, Hashable {
    /// The version of this request (MCP 2026-07-28).
    package var protocolVersion: String?
    /// Whether the client lists its capabilities. MCP 2026-07-28 requires this in each request.
    package var hasCapabilities = false
    /// Whether the client can ask its user to open a page (MCP 2026-07-28).
    package var elicitsURL = false
    /// The token for progress notifications.
    package var progressToken: RPCID?
    /// The client's name and version (MCP 2026-07-28).
    package var client: AssistantName?
  }

  private static let prefix = "io.modelcontextprotocol/"

  /// Reads the parameters of a message. Unused members are ignored.
  package init(_ params: RPCParams) {
    var reader = JSONReader(params.bytes)
    do {
      try read(&reader)
    } catch {
      // No error can occur, because the syntax was checked together with the message.
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
      case "uri": uri = try reader.textIfString()
      case "requestId": requestID = try RPCID.read(&reader)
      case "arguments":
        let isLeftOut = try reader.peek() == .null
        let json = try reader.rawValue()
        arguments = isLeftOut ? MCPArguments() : MCPArguments(json)
      case "clientInfo": client = try Self.client(&reader)
      case "capabilities": elicitsURL = try Self.has(["elicitation", "url"], &reader)
      case "requestState": requestState = try reader.textIfString()
      case "inputResponses": refusesInput = try Self.isRefusal(&reader)
      case "_meta": try readMeta(&reader)
      case _: try reader.skipValue()
      }
    }
  }

  /// Reads a value, and returns whether it has objects under these names, each in the one before.
  private static func has(
    _ path: ArraySlice<String>, _ reader: inout JSONReader
  ) throws(JSONError) -> Bool {
    var found = path.isEmpty
    guard let name = path.first, try reader.peek() == .object else {
      found = try reader.peek() == .object && found
      try reader.skipValue()
      return found
    }
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if reader.text(of: key) == name {
        found = try has(path.dropFirst(), &reader)
      } else {
        try reader.skipValue()
      }
    }
    return found
  }

  /// Reads the responses to requests for input, and returns whether one of them is a refusal.
  private static func isRefusal(_ reader: inout JSONReader) throws(JSONError) -> Bool {
    var isRefusal = false
    guard try reader.peek() == .object else {
      try reader.skipValue()
      return false
    }
    try reader.beginObject()
    while try reader.nextKey() != nil {
      guard try reader.peek() == .object else {
        try reader.skipValue()
        continue
      }
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard reader.text(of: key) == "action" else {
          try reader.skipValue()
          continue
        }
        let action = try reader.textIfString()
        if action == "decline" || action == "cancel" { isRefusal = true }
      }
    }
    return isRefusal
  }

  /// Reads the name and the version of an implementation. Returns `nil` if there is no name.
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
        found.elicitsURL = try Self.has(["elicitation", "url"], &reader)
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
  /// The revision without handshakes and sessions, in which each request is self-contained.
  case july2026 = "2026-07-28"

  /// Whether the version is negotiated with `initialize`, which starts a session.
  package var hasSessions: Bool { self < .july2026 }

  /// Whether clients of this version read `structuredContent`. Clients of older versions read only
  /// the text.
  package var takesStructured: Bool { self >= .june2025 }

  /// The newest version that can be negotiated with `initialize`. It is offered to clients that
  /// request an unknown version.
  package static let newestWithSessions = MCPVersion.november2025

  /// Returns the negotiated version for a client that requests the version `text`.
  package static func agreed(on text: String) -> MCPVersion {
    MCPVersion(rawValue: text).flatMap { $0.hasSessions ? $0 : nil } ?? newestWithSessions
  }

  /// Returns whether one version is older than another.
  package static func < (left: MCPVersion, right: MCPVersion) -> Bool {
    left.rawValue < right.rawValue
  }
}
