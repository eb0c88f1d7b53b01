public import HoldfastCore
import HoldfastJSON

/// The body of `POST /shops/messages`.
public struct NewMessage: Sendable, Hashable {
  /// The shop to which the message is sent.
  public var shop: ShopID
  /// The text: 1 to `MessageLimits.maxCharacters` Unicode scalars.
  public var text: String
  /// The message to which the new message replies.
  public var parent: MessageID?

  /// Creates a message to send. The limits are checked when it is decoded.
  public init(shop: ShopID, text: String, parent: MessageID? = nil) {
    self.shop = shop
    self.text = text
    self.parent = parent
  }

  /// Returns the body. A missing parent is omitted.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: text.utf8.count + 200)
    writer.beginObject()
    writer.key("shop_id")
    writer.string(shop.text)
    writer.key("message")
    writer.string(text)
    if let parent {
      writer.key("parent_id")
      writer.string(parent.description)
    }
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body. Unknown members are ignored. If a member is repeated, the last one is used.
  ///
  /// An empty text counts as missing. `maxFrameBytes` is not checked here, since the frame contains
  /// the complete message. Throws an error if a member is absent, has the wrong type or is out of
  /// bounds.
  public static func decode(
    _ body: [UInt8], limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> NewMessage {
    let members = try JSONReader.read(body) { (reader) throws(JSONError) in
      var members: (shop: Member, text: Member, parent: Member) = (.absent, .absent, .absent)
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.matches(key, "shop_id") {
          members.shop = try Member(from: &reader)
        } else if reader.matches(key, "message") {
          members.text = try Member(from: &reader)
        } else if reader.matches(key, "parent_id") {
          members.parent = try Member(from: &reader)
        } else {
          try reader.skipValue()
        }
      }
      return members
    }
    guard let shop = ShopID(try members.shop.required("shop_id")) else {
      throw .badIdentifier(field: "shop_id")
    }
    let text = try members.text.required("message")
    if let fault = limits.fault(of: text) { throw fault }
    let parent = try members.parent.optional("parent_id")
    let parentID = parent.flatMap { UUID128($0) }
    guard (parent == nil) == (parentID == nil) else { throw .badIdentifier(field: "parent_id") }
    return NewMessage(shop: shop, text: text, parent: parentID)
  }
}

/// A member that should be a string.
enum Member {
  case absent
  case text(String)
  case otherType

  init(from reader: inout JSONReader) throws(JSONError) {
    switch try reader.peek() {
    case .string: self = .text(try reader.string())
    case .null:
      try reader.null()
      self = .absent
    case .object, .array, .number, .bool:
      try reader.skipValue()
      self = .otherType
    }
  }

  func optional(_ field: String) throws(MessageError) -> String? {
    switch self {
    case .absent: nil
    case .text(let text): text
    case .otherType: throw .wrongType(field: field)
    }
  }

  func required(_ field: String) throws(MessageError) -> String {
    guard let text = try optional(field), !text.isEmpty else { throw .missing(field: field) }
    return text
  }
}
