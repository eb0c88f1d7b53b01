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
  static let columns = "\(ShopMessage.columns), offset, changed"

  init(_ row: Row, shop: ShopID, epoch: String) throws(StoreFailure) {
    offset = try row.unsigned(8)
    changed = try row.optionalInteger(9) == nil ? nil : row.unsigned(9)
    guard let changed, try row.optionalText(3) == nil else {
      content = .message(try Self.message(row, shop: shop, epoch: epoch))
      return
    }
    content = .deletion(
      ShopDeletion(
        id: try row.uuid(0), shop: shop, position: ShopPosition(epoch: epoch, offset: offset),
        changed: ShopPosition(epoch: epoch, offset: changed)))
  }

  /// Reads a row of a message that was not deleted.
  static func message(
    _ row: Row, shop: ShopID, epoch: String
  ) throws(StoreFailure) -> ShopMessage {
    var message = try ShopMessage(row, shop: shop)
    message.position = ShopPosition(epoch: epoch, offset: try row.unsigned(8))
    if try row.optionalInteger(9) != nil {
      message.changed = ShopPosition(epoch: epoch, offset: try row.unsigned(9))
    }
    return message
  }
}

extension SQLValue {
  static func offset(_ value: UInt64) -> SQLValue { .integer(Int64(bitPattern: value)) }
}
