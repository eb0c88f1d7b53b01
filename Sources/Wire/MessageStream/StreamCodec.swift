import LinkJSON

/// What one text frame of the stream says.
package enum StreamFrame: Sendable, Hashable {
  /// A message of the shop.
  case message(Message)
  /// The server stops within this time: connect again.
  case draining(within: Duration)
  /// A frame with a `type` or an `event` that this version does not know, or a word, such as a
  /// heartbeat of another maker; to be ignored.
  case unknown(type: String)
}

/// Text frames of the message stream <-> values.
package enum StreamCodec {
  /// Reads a frame in one pass; unknown members are ignored.
  ///
  /// Of repeated keys the last counts, though a bad earlier one still spoils the message. A frame
  /// with a string `type` or `event` and no `id` is a notice, whatever else it holds, and so is a
  /// word outside JSON: `ping`. An empty display name is none; an `updated_at` equal to `created_at`
  /// is none unless the message is edited. Throws when the frame is longer than `limits` allow, no
  /// JSON object or no message of `shop`.
  package static func decode(
    _ frame: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> StreamFrame {
    guard frame.count <= limits.maxFrameBytes else { throw .frameTooLong(bytes: frame.count) }
    if isWord(frame) { return .unknown(type: String(decoding: frame, as: UTF8.self)) }
    let fields = try JSONReader.read(frame) { (reader) throws(JSONError) in
      var fields = MessageReader(shop: shop, limits: limits)
      try fields.readObject(from: &reader)
      return fields
    }
    guard !fields.hasID, let type = fields.type ?? fields.event else {
      return .message(try fields.message())
    }
    guard type == drainingType else { return .unknown(type: type) }
    guard fields.hasWithin else { throw .missing(field: "within_ms") }
    guard let within = fields.within, within >= 0 else { throw .wrongType(field: "within_ms") }
    return .draining(within: .milliseconds(within))
  }

  /// Writes a message as the server sends it: no envelope, no `type`.
  package static func encode(_ message: Message) -> [UInt8] {
    var writer = JSONWriter(capacity: message.text.utf8.count + 400)
    writer.message(message)
    return writer.bytes
  }

  /// Writes the notice before a drain; `limit` in whole milliseconds, not below zero.
  package static func encodeDraining(within limit: Duration) -> [UInt8] {
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.key("type")
    writer.string(drainingType)
    writer.key("within_ms")
    let (seconds, attoseconds) = max(limit, .zero).components
    writer.int(Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000))
    writer.endObject()
    return writer.bytes
  }

  private static let drainingType = "draining"

  /// Whether a frame is one short word of ASCII, as heartbeats are: `ping`, `keep-alive`,
  /// Engine.IO's `2`.
  private static func isWord(_ frame: [UInt8]) -> Bool {
    (1...32).contains(frame.count)
      && frame.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: ":"):
          true
        case _: false
        }
      }
  }
}
