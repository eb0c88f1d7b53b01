import LinkCore
import LinkJSON

extension JSONWriter {
  /// Writes a message object, its members in the order of the contract.
  ///
  /// No display name is the empty string, as plain servers write it; no position is no member.
  mutating func message(_ message: Message) {
    beginObject()
    key("id")
    string(message.id.description)
    key("shop_id")
    string(message.shop.text)
    key("user_id")
    string(message.user)
    key("username")
    string(message.username ?? "")
    key("message")
    string(message.text)
    key("created_at")
    plain(RFC3339.bytes(of: message.createdAt))
    key("updated_at")
    if let time = message.updatedAt { plain(RFC3339.bytes(of: time)) } else { null() }
    key("is_edited")
    bool(message.isEdited)
    key("parent_id")
    string(message.parent?.description)
    if let position = message.position {
      key("position")
      string(position.description)
    }
    endObject()
  }

  /// Writes an answer's envelope around the data that `body` writes.
  static func envelope(
    status: Int, note: String, capacity: Int = 256, _ body: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.key("status")
    writer.int(status)
    writer.key("message")
    writer.string(note)
    writer.key("data")
    body(&writer)
    writer.endObject()
    return writer.bytes
  }

  /// A capacity that most messages fit.
  static func capacity(for messages: [Message]) -> Int {
    messages.reduce(256) { $0 + $1.text.utf8.count + 400 }
  }
}
