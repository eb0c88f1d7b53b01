import LinkJSON

/// One JSON-RPC 2.0 message that a client posts, its parameters not read yet.
package enum RPCMessage: Sendable, Hashable {
  /// Wants a response.
  case request(RPCID, method: String, params: RPCParams)
  /// Wants none.
  case notification(method: String, params: RPCParams)
  /// Answers a request of ours; this server makes none.
  case response

  /// The longest name of a method in bytes; ours, since it is repeated in errors.
  package static let maxMethodBytes = 128

  /// Reads the body of a POST.
  ///
  /// Throws `parse` when it is no JSON, `invalidRequest` when it is a batch or no message; beside
  /// it the id, as far as one was found, so that the error can be matched.
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
        members.fault = "no JSON-RPC message"
      }
      try reader.finish()
    } catch {
      throw Fault(
        error: RPCError(.parse, "Parse error: \(error.detail) at byte \(error.offset)"), id: nil)
    }
    return try members.message()
  }

  /// Whether a body is a batch of messages.
  package static func isBatch(_ bytes: [UInt8]) -> Bool {
    var reader = JSONReader(bytes)
    return (try? reader.peek()) == .array
  }

  /// Returns the bodies of the messages in a batch.
  ///
  /// Throws `parse` when it is no JSON, `invalidRequest` when it is empty or has too many messages.
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

  /// Why a body is no message.
  package struct Fault: Error, Sendable, Hashable {
    /// What to answer.
    package var error: RPCError
    /// The id to answer, if it could be read.
    package var id: RPCID?
  }
}

/// The members of a message as they come; a repeated one counts as it stands last.
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
        // Some clients write `null` where a method has no parameters.
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
      throw invalid("method is no name")
    }
    guard params.isObject else { throw invalid("params must be an object") }
    guard let id else { return .notification(method: method, params: params) }
    return .request(id, method: method, params: params)
  }

  private func invalid(_ detail: String) -> RPCMessage.Fault {
    RPCMessage.Fault(error: RPCError(.invalidRequest, "Invalid request: \(detail)"), id: id)
  }
}
