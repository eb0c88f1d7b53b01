import LinkJSON

/// What ties a JSON-RPC response to its request, and progress to whom it is for.
///
/// MCP allows strings and whole numbers, and never null (MCP 2025-11-25, base protocol).
package enum RPCID: Sendable, Hashable, Codable {
  case string(String)
  case number(Int64)

  /// The longest string in UTF-8 bytes; ours, since it is kept and sent back.
  package static let maxBytes = 256

  /// Takes an id; `nil` for anything that cannot be one.
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
