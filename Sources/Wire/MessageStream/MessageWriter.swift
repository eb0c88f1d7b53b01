import HoldfastCore
import HoldfastJSON

extension JSONWriter {
  /// Writes a message object, with its members in the order of the contract.
  ///
  /// A missing display name is written as an empty string, as plain servers do. A missing position
  /// is omitted.
  mutating func message(_ message: ShopMessage) {
    beginObject()
    member("id")
    id(message.id)
    member("shop_id")
    string(message.shop.text)
    member("user_id")
    string(message.user)
    member("username")
    string(message.username ?? "")
    member("message")
    string(message.text)
    member("created_at")
    time(message.createdAt)
    member("updated_at")
    if let updatedAt = message.updatedAt { time(updatedAt) } else { null() }
    member("is_edited")
    bool(message.isEdited)
    member("parent_id")
    if let parent = message.parent { id(parent) } else { null() }
    if let position = message.position {
      member("position")
      string(position.description)
    }
    endObject()
  }

  /// Returns an envelope with the data that `body` writes.
  static func envelope(
    status: Int, note: String, capacity: Int = 256, _ body: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.member("status")
    writer.int(status)
    writer.member("message")
    writer.string(note)
    writer.member("data")
    body(&writer)
    writer.endObject()
    return writer.bytes
  }

  /// Returns a capacity that is sufficient for most messages.
  static func capacity(for messages: [ShopMessage]) -> Int {
    messages.reduce(256) { $0 + $1.text.utf8.count + 400 }
  }
}
