/// The body of `POST /shops/messages`.
public struct NewMessage: Sendable, Hashable {
  public var shop: ShopID
  /// 1 to `MessageLimits.maxCharacters` Unicode scalars.
  public var text: String
  public var parent: MessageID?

  public init(shop: ShopID, text: String, parent: MessageID? = nil) {
    self.shop = shop
    self.text = text
    self.parent = parent
  }

  public func encode() -> [UInt8] { [] }

  public static func decode(
    _ body: [UInt8], limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> NewMessage { throw .malformed(detail: "") }
}
