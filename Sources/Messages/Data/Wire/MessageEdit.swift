public import HoldfastCore
import HoldfastJSON

/// The body of `PUT /shops/messages`.
public struct MessageEdit: Sendable, Hashable {
  /// The message to edit.
  public var id: MessageID
  /// The new text: 1 to `MessageLimits.maxCharacters` Unicode scalars.
  public var text: String
  /// The shop in which the message is expected; `nil` for any shop. Other servers may ignore it.
  public var shop: ShopID?

  /// Creates an edit to send. The limits are checked when it is decoded.
  public init(id: MessageID, text: String, shop: ShopID? = nil) {
    self.id = id
    self.text = text
    self.shop = shop
  }

  /// Returns the body.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: text.utf8.count + 200)
    writer.beginObject()
    writer.key("message_id")
    writer.string(id.description)
    writer.key("message")
    writer.string(text)
    if let shop {
      writer.key("shop_id")
      writer.string(shop.text)
    }
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body. Unknown members are ignored. If a member is repeated, the last one is used.
  ///
  /// An empty text counts as missing. Throws an error if a member is absent, has the wrong type or
  /// is out of bounds.
  public static func decode(
    _ body: [UInt8], limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> MessageEdit {
    let members = try JSONReader.read(body) { (reader) throws(JSONError) in
      var members: (id: Member, text: Member, shop: Member) = (.absent, .absent, .absent)
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.matches(key, "message_id") {
          members.id = try Member(from: &reader)
        } else if reader.matches(key, "message") {
          members.text = try Member(from: &reader)
        } else if reader.matches(key, "shop_id") {
          members.shop = try Member(from: &reader)
        } else {
          try reader.skipValue()
        }
      }
      return members
    }
    guard let id = MessageID(try members.id.required("message_id")) else {
      throw .badIdentifier(field: "message_id")
    }
    let text = try members.text.required("message")
    if let fault = limits.fault(of: text) { throw fault }
    let named = try members.shop.optional("shop_id")
    let shop = named.flatMap { ShopID($0) }
    guard (named == nil) == (shop == nil) else { throw .badIdentifier(field: "shop_id") }
    return MessageEdit(id: id, text: text, shop: shop)
  }
}
