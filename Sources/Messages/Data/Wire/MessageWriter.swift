import HoldfastCore
import HoldfastJSON

extension JSONWriter {
  /// Writes a message object, with its members in the order of the contract.
  ///
  /// A missing display name is written as an empty string, as plain servers do. Missing positions
  /// are omitted.
  ///
  /// - Parameter isEdit: Whether the object is the event of an edit.
  mutating func message(_ message: ShopMessage, isEdit: Bool = false) {
    beginObject()
    member("id")
    id(message.id)
    member("shop_id")
    string(message.shop.text)
    member("user_id")
    string(message.user)
    member("username")
    string(message.username ?? "")
    text(of: message.content)
    member("created_at")
    time(message.createdAt)
    member("updated_at")
    if let updatedAt = message.updatedAt { time(updatedAt) } else { null() }
    member("is_edited")
    bool(message.isEdited)
    attributes(of: message.content, omitsNull: false)
    if let position = message.position {
      member("position")
      string(position.description)
    }
    if let changed = message.changed {
      member("changed")
      string(changed.description)
    }
    if isEdit {
      member("event")
      string(StreamCodec.editedEvent)
    }
    endObject()
  }

  /// Writes a deletion.
  ///
  /// - Parameter isNotice: Whether the object is a notice of the stream, with its type and its shop.
  mutating func deletion(_ deletion: ShopDeletion, isNotice: Bool = false) {
    beginObject()
    if isNotice {
      member("type")
      string(StreamCodec.deletedType)
    }
    member("message_id")
    id(deletion.id)
    if isNotice {
      member("shop_id")
      string(deletion.shop.text)
    }
    member("position")
    string(deletion.position.description)
    member("changed")
    string(deletion.changed.description)
    endObject()
  }

  /// Returns a capacity that is sufficient for most messages.
  static func capacity(for messages: [ShopMessage]) -> Int {
    messages.reduce(256) { $0 + $1.text.utf8.count + 400 }
  }
}
