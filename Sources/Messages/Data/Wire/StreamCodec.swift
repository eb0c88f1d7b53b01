import HoldfastJSON

/// The content of a text frame of the stream.
package enum StreamFrame: Sendable, Hashable {
  /// A message of the shop.
  case message(ShopMessage)
  /// A message of the shop with a new text. Its `changed` is the position of the edit.
  case edited(ShopMessage)
  /// The deletion of a message of the shop.
  case deleted(ShopDeletion)
  /// A notice that the server stops within this time. Clients should then reconnect.
  case draining(within: Duration)
  /// A frame to ignore: an object with an unknown `type` or `event`, or a short word such as the
  /// heartbeat of another vendor's server.
  case unknown(type: String)
}

/// A namespace for the encoding and decoding of text frames of the message stream.
package enum StreamCodec {
  /// Reads a frame in one pass. Unknown members are ignored.
  ///
  /// If a key is repeated, the last value is used, but an invalid earlier value makes the message
  /// invalid. A frame that has a string `type` or `event` and no `id` is a notice, regardless of
  /// its other members, except that of a deletion with a position. A message is an edit if its `event` is `edited`
  /// and it has a valid `changed`. A word that is not JSON, such as `ping`, is also a notice. An empty display
  /// name counts as absent. An `updated_at` that equals `created_at` counts as absent unless the
  /// message is edited. Throws an error if the frame exceeds `limits`, is not a JSON object, or is
  /// not a message of `shop`.
  package static func decode(
    _ frame: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> StreamFrame {
    guard frame.count <= limits.maxFrameBytes else { throw .frameTooLong(bytes: frame.count) }
    if isToken(frame) { return .unknown(type: String(decoding: frame, as: UTF8.self)) }
    let fields = try JSONReader.read(frame) { (reader) throws(JSONError) in
      var fields = MessageReader(shop: shop, limits: limits)
      try fields.readObject(from: &reader)
      return fields
    }
    guard !fields.hasID, let type = fields.type ?? fields.event else {
      let message = try fields.message()
      let isEdit = fields.event == editedEvent && message.changed != nil
      return isEdit ? .edited(message) : .message(message)
    }
    switch type {
    case drainingType:
      guard fields.hasWithin else { throw .missing(field: "within_ms") }
      guard let within = fields.within, within >= 0 else { throw .wrongType(field: "within_ms") }
      return .draining(within: .milliseconds(within))
    case deletedType where fields.hasPlace: return .deleted(try fields.deletion())
    case _: return .unknown(type: type)
    }
  }

  /// Returns a message in the form in which the server sends it, without an envelope or `type`.
  package static func encode(_ message: ShopMessage) -> [UInt8] {
    var writer = JSONWriter(capacity: message.text.utf8.count + 400)
    writer.message(message)
    return writer.bytes
  }

  /// Returns an event in the form in which the server sends it to clients that requested events. A
  /// new message has its ordinary form.
  package static func encode(_ event: ShopEvent) -> [UInt8] {
    switch event {
    case .posted(let message): return encode(message)
    case .edited(let message):
      var writer = JSONWriter(capacity: message.text.utf8.count + 450)
      writer.message(message, isEdit: true)
      return writer.bytes
    case .deleted(let deletion):
      var writer = JSONWriter(capacity: 300)
      writer.deletion(deletion, isNotice: true)
      return writer.bytes
    }
  }

  /// Returns the notice that announces a drain. `limit` is written in whole milliseconds and is at
  /// least 0.
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
  /// The type of a deletion's notice.
  static let deletedType = "deleted"
  /// The member `event` of an edited message.
  static let editedEvent = "edited"

  /// Returns whether a frame is one short ASCII word. Some servers send such words as heartbeats.
  ///
  /// Examples are `ping`, `keep-alive`, and Engine.IO's `2`.
  private static func isToken(_ frame: [UInt8]) -> Bool {
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
