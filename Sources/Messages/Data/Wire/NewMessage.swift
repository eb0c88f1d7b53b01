public import HoldfastCore
import HoldfastJSON

/// The body of `POST /shops/messages`.
public struct NewMessage: Sendable, Hashable {
  /// The shop to which the message is sent.
  public var shop: ShopID
  /// The content, with a text of 1 to `MessageLimits.maxCharacters` Unicode scalars.
  public var content: MessageContent

  /// Creates a message to send. The limits are checked when it is decoded.
  public init(shop: ShopID, content: MessageContent) {
    (self.shop, self.content) = (shop, content)
  }

  /// Creates a message to send from the parts of its content.
  public init(shop: ShopID, text: String, parent: MessageID? = nil) {
    self.init(shop: shop, content: MessageContent(text, parent: parent))
  }

  /// The text.
  public var text: String {
    get { content.text }
    set { content.text = newValue }
  }

  /// The message to which the new message replies.
  public var parent: MessageID? {
    get { content.parent }
    set { content.parent = newValue }
  }

  /// Returns the body. Members without a value are omitted.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: text.utf8.count + 200)
    writer.beginObject()
    writer.key("shop_id")
    writer.string(shop.text)
    writer.text(of: content)
    writer.attributes(of: content, omitsNull: true)
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body. Unknown members are ignored. If a member is repeated, the last one is used, but
  /// each value of the content must be valid.
  ///
  /// An empty text counts as missing. `maxFrameBytes` is not checked here, since the frame contains
  /// the complete message. Throws an error if a member is absent, has the wrong type or is out of
  /// bounds.
  public static func decode(
    _ body: [UInt8], limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> NewMessage {
    var (name, content, fault) = (Member.absent, MessageContent.Reader(), MessageError?.none)
    try JSONReader.read(body) { (reader) throws(JSONError) in
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.matches(key, "shop_id") {
          name = try Member(from: &reader)
        } else if let member = MessageContent.Member(key, in: reader) {
          try content.read(member, from: &reader, limits, noting: &fault)
        } else {
          try reader.skipValue()
        }
      }
    }
    guard let shop = ShopID(try name.required("shop_id")) else {
      throw .badIdentifier(field: "shop_id")
    }
    if let fault { throw fault }
    guard let content = content.content, !content.text.isEmpty else {
      throw .missing(field: MessageContent.Member.text.rawValue)
    }
    return NewMessage(shop: shop, content: content)
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
