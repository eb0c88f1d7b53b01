import HoldfastJSON

/// A JSON-RPC 2.0 message that a client posts. The parameters are read later.
package enum RPCMessage: Sendable, Hashable {
  /// A request. It requires a response.
  case request(RPCID, method: String, params: RPCParams)
  /// A notification. It has no response.
  case notification(method: String, params: RPCParams)
  /// A response to a request from the server. This server sends no requests.
  case response

  /// The maximum size of a method name, in bytes. It is limited because errors repeat the name.
  package static let maxMethodBytes = 128

  /// Reads the body of a POST.
  ///
  /// Throws `parse` if the body is not JSON, and `invalidRequest` if it is a batch or not a
  /// message. The error includes the id if one was found, so that the client can match it with its
  /// request.
  package static func read(_ bytes: [UInt8]) throws(Fault) -> RPCMessage {
    var members = Members()
    var reader = JSONReader(bytes)
    do {
      switch try reader.peek() {
      case .object: try members.read(&reader)
      case .array:
        try reader.skipValue()
        members.fault = "a batch; send one message at a time"
      case .string, .number, .bool, .null:
        try reader.skipValue()
        members.fault = "not a JSON-RPC message"
      }
      try reader.finish()
    } catch {
      throw Fault(
        error: RPCError(.parse, "Parse error: \(error.detail) at byte \(error.offset)"), id: nil)
    }
    return try members.message()
  }

  /// Returns whether a body is a batch of messages.
  package static func isBatch(_ bytes: [UInt8]) -> Bool {
    var reader = JSONReader(bytes)
    return (try? reader.peek()) == .array
  }

  /// Returns the bodies of the messages in a batch.
  ///
  /// Throws `parse` if the body is not JSON, and `invalidRequest` if the batch is empty or has too
  /// many messages.
  package static func batch(_ bytes: [UInt8], atMost limit: Int) throws(Fault) -> [[UInt8]] {
    var bodies: [[UInt8]] = []
    var count = 0
    var reader = JSONReader(bytes)
    do {
      try reader.beginArray()
      while try reader.nextElement() {
        count += 1
        let body = try reader.rawValue()
        if count <= limit { bodies.append(body) }
      }
      try reader.finish()
    } catch {
      throw Fault(
        error: RPCError(.parse, "Parse error: \(error.detail) at byte \(error.offset)"), id: nil)
    }
    guard (1...limit).contains(count) else {
      let error = RPCError(.invalidRequest, "Invalid request: a batch has 1 to \(limit) messages")
      throw Fault(error: error, id: nil)
    }
    return bodies
  }

  /// The reason why a body is not a message.
  package struct Fault: Error, Sendable, Hashable {
    /// The error of the response.
    package var error: RPCError
    /// The id of the response, if it could be read.
    package var id: RPCID?
  }
}

/// The members of a message that have been read so far. If a member is repeated, the last one is
/// used.
private struct Members {
  var fault: String?
  private var hasVersion = false
  private var hasID = false
  private var id: RPCID?
  private var method: String?
  private var params = RPCParams()
  private var isResponse = false

  mutating func read(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "jsonrpc": hasVersion = try reader.textIfString() == "2.0"
      case "id":
        hasID = true
        id = try RPCID.read(&reader)
      case "method": method = try reader.textIfString() ?? ""
      case "params":
        // Some clients send `null` if a method has no parameters.
        let isLeftOut = try reader.peek() == .null
        let json = try reader.rawValue()
        params = isLeftOut ? RPCParams() : RPCParams(bytes: json)
      case "result", "error":
        isResponse = true
        try reader.skipValue()
      case _: try reader.skipValue()
      }
    }
  }

  func message() throws(RPCMessage.Fault) -> RPCMessage {
    if let fault { throw invalid(fault) }
    guard hasVersion else { throw invalid("jsonrpc must be \"2.0\"") }
    guard !hasID || id != nil || isResponse else {
      throw invalid("id must be a string or a whole number")
    }
    guard let method else {
      guard isResponse else { throw invalid("method is missing") }
      return .response
    }
    guard !method.isEmpty, method.utf8.count <= RPCMessage.maxMethodBytes else {
      throw invalid("method is empty or too long")
    }
    guard params.isObject else { throw invalid("params must be an object") }
    guard let id else { return .notification(method: method, params: params) }
    return .request(id, method: method, params: params)
  }

  private func invalid(_ detail: String) -> RPCMessage.Fault {
    RPCMessage.Fault(error: RPCError(.invalidRequest, "Invalid request: \(detail)"), id: id)
  }
}

/// The id that matches a JSON-RPC response to its request, or progress to its token.
///
/// MCP allows strings and whole numbers, but not `null` (MCP 2025-11-25, base protocol).
package enum RPCID: Sendable, Hashable, Codable {
  case string(String)
  case number(Int64)

  /// The maximum size of a string, in bytes of UTF-8. It is limited because ids are stored and
  /// returned.
  package static let maxBytes = 256

  /// Reads an id. Returns `nil` if the value is not an id.
  static func read(_ reader: inout JSONReader) throws(JSONError) -> RPCID? {
    switch try reader.peek() {
    case .string:
      let text = try reader.string()
      return text.utf8.count <= maxBytes ? .string(text) : nil
    case .number: return try reader.intIfWhole().map(RPCID.number)
    case .object, .array, .bool, .null:
      try reader.skipValue()
      return nil
    }
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .string(let text): writer.string(text)
    case .number(let number): writer.int(number)
    }
  }
}

/// The parameters of a message as JSON text. The text is read once the method is known.
package struct RPCParams: Sendable, Hashable, Codable {
  /// A complete JSON value whose syntax has been checked.
  var bytes: [UInt8]

  /// Creates empty parameters.
  package init() {
    bytes = Array("{}".utf8)
  }

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isObject: Bool { bytes.first == UInt8(ascii: "{") }
}

extension JSONReader {
  /// Reads a value of any type and returns its text.
  mutating func rawValue() throws(JSONError) -> [UInt8] {
    _ = try peek()
    let start = position
    try skipValue()
    return Array(bytes[start..<position])
  }

  /// Reads a value of any type. Returns `nil` unless it is a string.
  mutating func textIfString() throws(JSONError) -> String? {
    guard try peek() == .string else {
      try skipValue()
      return nil
    }
    return try string()
  }
}

/// A namespace for the parts of a `text/event-stream` (WHATWG HTML section 9.2).
package enum MCPEvents {
  /// Returns a JSON-RPC message as one event.
  package static func message(_ json: [UInt8]) -> [UInt8] {
    Array("event: message\r\ndata: ".utf8) + MCPLine.text(json) + [0x0D, 0x0A, 0x0D, 0x0A]
  }

  /// A comment, which clients ignore. It prevents intermediaries from closing an idle stream.
  package static let comment = Array(": wait\r\n\r\n".utf8)

  /// Returns a progress notification as one event.
  package static func progress(
    _ token: RPCID, waited: Int64, of limit: Int64, message: String
  ) -> [UInt8] {
    self.message(MCPLine.progress(token, waited: waited, of: limit, message: message))
  }
}

/// A namespace for messages that are one line each.
package enum MCPLine {
  /// Returns a JSON-RPC message without line breaks, which become spaces. JSON contains them only
  /// between tokens.
  package static func text(_ json: [UInt8]) -> [UInt8] {
    json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
  }

  /// Returns a progress notification. `waited` and `limit` are the time waited so far and the
  /// maximum duration of a call, in seconds.
  package static func progress(
    _ token: RPCID, waited: Int64, of limit: Int64, message: String
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("jsonrpc", "2.0")
    writer.entry("method", "notifications/progress")
    writer.key("params")
    writer.beginObject()
    writer.key("progressToken")
    token.write(to: &writer)
    writer.entry("progress", waited)
    writer.entry("total", limit)
    writer.entry("message", message)
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}
