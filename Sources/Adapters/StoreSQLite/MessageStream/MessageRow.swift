import HoldfastCore
import HoldfastWire

extension ShopMessage {
  /// The columns that both stores use for a message, in the order in which `init(_:shop:)` reads
  /// them.
  static let columns = "id, user, username, text, created_at, updated_at, is_edited, parent"

  /// Returns the same columns, qualified by a table's name or alias.
  static func columns(of name: String) -> String {
    columns.split(separator: ", ").map { "\(name).\($0)" }.joined(separator: ", ")
  }

  /// The definitions of the same columns for `CREATE TABLE`.
  static let columnTypes = """
    id BLOB NOT NULL, user TEXT NOT NULL, username TEXT, text TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER, is_edited INTEGER NOT NULL, parent BLOB
    """

  /// The values for `columns`, in the same order.
  var values: [SQLValue] {
    [
      .uuid(id), .text(user), .text(username), .text(text), .time(createdAt), .time(updatedAt),
      .integer(isEdited ? 1 : 0), .uuid(parent),
    ]
  }

  /// Reads the first eight columns of a row. The store itself reads the position.
  init(_ row: Row, shop: ShopID) throws(StoreFailure) {
    self.init(
      id: try row.uuid(0), shop: shop, user: try row.text(1), username: try row.optionalText(2),
      text: try row.text(3), createdAt: try row.time(4), updatedAt: try row.optionalTime(5),
      isEdited: try row.flag(6), parent: try row.optionalUUID(7))
  }
}

extension Row {
  /// Reads a position from a column with an epoch and the next column with an offset.
  func position(_ column: Int32) throws(StoreFailure) -> ShopPosition? {
    guard let epoch = try optionalText(column) else { return nil }
    return ShopPosition(epoch: epoch, offset: UInt64(bitPattern: try integer(column + 1)))
  }

  func shop(_ column: Int32) throws(StoreFailure) -> ShopID {
    guard let shop = ShopID(try text(column)) else { throw garbage(column, expected: "a shop id") }
    return shop
  }
}

extension Int {
  /// The number, limited to the valid range of `LIMIT`: at least 0, and small enough to add 1.
  var asLimit: Int { Swift.min(Swift.max(self, 0), Int(Int32.max) - 1) }
}

/// An operation that inserts messages of one shop, without allocating an array for each message.
struct MessageInsertion {
  static let newID = """
    INSERT INTO new_ids(shop, id, created_at) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM ids WHERE shop = ?1 AND id = ?2) ON CONFLICT DO NOTHING
    """
  static let content = """
    INSERT INTO messages(
      shop, \(ShopMessage.columns), epoch, offset, changed_epoch, changed_offset)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  let database: Database
  let shop: Int64
  let newID: Statement
  let content: Statement

  /// Adds a message. Returns false if its ID already exists.
  func insert(_ message: ShopMessage) throws(StoreFailure) -> Bool {
    newID.bind(shop, at: 1)
    newID.bind(message.id, at: 2)
    newID.bind(message.createdAt.nanoseconds, at: 3)
    guard try database.finish(newID) == 1 else { return false }
    content.bind(shop, at: 1)
    content.bind(message.id, at: 2)
    content.bind(message.user, at: 3)
    content.bind(message.username, at: 4)
    content.bind(message.text, at: 5)
    content.bind(message.createdAt.nanoseconds, at: 6)
    content.bind(message.updatedAt?.nanoseconds, at: 7)
    content.bind(Int64(message.isEdited ? 1 : 0), at: 8)
    content.bind(message.parent, at: 9)
    content.bind(message.position?.epoch, at: 10)
    content.bind((message.position?.offset).map { Int64(bitPattern: $0) }, at: 11)
    content.bind(message.changed?.epoch, at: 12)
    content.bind((message.changed?.offset).map { Int64(bitPattern: $0) }, at: 13)
    return try database.finish(content) == 1
  }
}
