import LinkJSON

/// Pieces of a `text/event-stream` (WHATWG HTML section 9.2).
package enum MCPEvents {
  /// A JSON-RPC message as one event; line ends, which JSON has only between values, become spaces.
  package static func message(_ json: [UInt8]) -> [UInt8] {
    var out = Array("event: message\r\ndata: ".utf8)
    out.reserveCapacity(json.count + 32)
    for byte in json { out.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
    out += [0x0D, 0x0A, 0x0D, 0x0A]
    return out
  }

  /// Something that readers pass over, so that nobody in between takes the stream for dead.
  package static let comment = Array(": wait\r\n\r\n".utf8)

  /// How far a call is, to whoever asked to be told: seconds waited, and at most how many it takes.
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
    return self.message(writer.bytes)
  }
}
