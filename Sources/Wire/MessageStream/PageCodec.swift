/// Answers of the paginated route <-> pages.
public enum PageCodec {
  public static func decode(
    _ body: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> Page { throw .malformed(detail: "") }

  public static func encode(_ page: Page, query: PageQuery, total: UInt64) -> [UInt8] { [] }
}
