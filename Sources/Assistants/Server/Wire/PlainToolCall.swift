import HoldfastJSON

/// The body of the original app's `POST /mcp/call` in either of its two forms.
package enum PlainToolCall: Sendable, Hashable {
  /// `{"method":"initialize"}`. A proxy sends it to check whether its version is supported.
  case initialize
  /// `{"method":"call_tool","params":{"name":…,"arguments":…}}`, or an object with only the name
  /// and the arguments.
  case tool(name: String, MCPArguments)

  /// Reads a body. A thrown error contains a sentence that describes the fault.
  package static func read(_ bytes: [UInt8]) throws(MCPArguments.Fault) -> PlainToolCall {
    var found = Found()
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      guard try reader.peek() == .object else { throw JSONError("no object", at: 0) }
      try found.read(&reader)
      try reader.finish()
    } catch {
      throw MCPArguments.Fault("The body is not a JSON object: \(error.detail)")
    }
    switch found.method {
    case "initialize": return .initialize
    case nil, "call_tool", "tools/call": break
    case _: throw MCPArguments.Fault("method must be initialize or call_tool")
    }
    guard let name = found.name else { throw MCPArguments.Fault("name is missing") }
    guard let arguments = found.arguments else {
      throw MCPArguments.Fault("arguments must be an object")
    }
    return .tool(name: name, arguments)
  }

  private struct Found {
    var method: String?
    var name: String?
    var arguments: MCPArguments? = MCPArguments()

    mutating func read(_ reader: inout JSONReader) throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        switch reader.text(of: key) {
        case "method": method = try reader.textIfString()
        case "name": name = try reader.textIfString()
        case "arguments":
          let isLeftOut = try reader.peek() == .null
          let json = try reader.rawValue()
          arguments = isLeftOut ? MCPArguments() : MCPArguments(json)
        case "params" where try reader.peek() == .object: try read(&reader)
        case _: try reader.skipValue()
        }
      }
    }
  }

  /// Returns the answer to `initialize`. No version is too old.
  package static func welcome() -> [UInt8] {
    var writer = JSONWriter(capacity: 120)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("isOutdated", false)
    writer.entry("message", MCPResult.instructions)
    writer.endObject()
    return writer.bytes
  }

  /// Returns the answer with a tool's result. A refusal is repeated at the top level, as in the
  /// original app.
  package static func answer(_ result: MCPCallResult, refusal name: String?) -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    result.write(to: &writer)
    if let name {
      writer.entry("success", false)
      writer.entry("error", name)
    }
    writer.endObject()
    return writer.bytes
  }

  /// Returns the body of an HTTP error, in the form that the original app's proxy reads.
  package static func detail(_ name: String, _ sentence: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 160)
    writer.beginObject()
    writer.key("detail")
    writer.beginObject()
    writer.entry("error", name)
    writer.entry("message", sentence)
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}
