import HoldfastCore
import HoldfastMessageData

/// A shop with the number that stands for it in the rows of the log.
struct LogShop {
  let name: ShopID
  let number: Int64
}

/// A row of the log: a message or what remains of it.
struct LogRow {
  enum Content {
    case message(ShopMessage)
    case deletion(ShopDeletion)
  }

  /// The offset of the post.
  let offset: UInt64
  /// The offset of the newest edit or deletion.
  let changed: UInt64?
  let content: Content

  /// The columns in the order in which `init(_:shop:epoch:)` reads them.
  static let columns = """
    offset, changed, id, user, username, text, created_at, updated_at, is_edited, parent
    """

  init(_ row: Row, shop: ShopID, epoch: String) throws(StoreFailure) {
    offset = try row.unsigned(0)
    changed = try row.optionalInteger(1) == nil ? nil : row.unsigned(1)
    guard let changed, try row.optionalText(5) == nil else {
      content = .message(try Self.message(row, shop: shop, epoch: epoch))
      return
    }
    content = .deletion(
      ShopDeletion(
        id: try row.uuid(2), shop: shop, position: ShopPosition(epoch: epoch, offset: offset),
        changed: ShopPosition(epoch: epoch, offset: changed)))
  }

  /// Reads a row of a message that was not deleted.
  static func message(
    _ row: Row, shop: ShopID, epoch: String
  ) throws(StoreFailure) -> ShopMessage {
    var message = ShopMessage(
      id: try row.uuid(2), shop: shop, user: try row.text(3),
      username: try row.optionalText(4), text: try row.text(5), createdAt: try row.time(6),
      updatedAt: try row.optionalTime(7), isEdited: try row.flag(8),
      parent: try row.optionalUUID(9),
      position: ShopPosition(epoch: epoch, offset: try row.unsigned(0)))
    if try row.optionalInteger(1) != nil {
      message.changed = ShopPosition(epoch: epoch, offset: try row.unsigned(1))
    }
    return message
  }
}

extension SQLValue {
  static func offset(_ value: UInt64) -> SQLValue { .integer(Int64(bitPattern: value)) }
}
