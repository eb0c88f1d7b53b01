import HoldfastCore
import HoldfastMessageData

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

  /// Reads the first eight columns of a row. The store itself reads the position.
  init(_ row: Row, shop: ShopID) throws(StoreFailure) {
    self.init(
      id: try row.uuid(0), shop: shop, user: try row.text(1), username: try row.optionalText(2),
      text: try row.text(3), createdAt: try row.time(4), updatedAt: try row.optionalTime(5),
      isEdited: try row.flag(6), parent: try row.optionalUUID(7))
  }
}

extension Statement {
  /// Binds the values for `ShopMessage.columns` to parameters in a row.
  func bind(_ message: ShopMessage, from first: Int32) {
    bind(message.id, at: first)
    bind(message.user, at: first + 1)
    bind(message.username, at: first + 2)
    bind(message.text, at: first + 3)
    bind(message.createdAt.nanoseconds, at: first + 4)
    bind(message.updatedAt?.nanoseconds, at: first + 5)
    bind(Int64(message.isEdited ? 1 : 0), at: first + 6)
    bind(message.parent, at: first + 7)
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
///
/// Values that rarely change stay bound, so only the newest operation of a connection may be used.
final class MessageInsertion {
  static let newID = """
    INSERT INTO new_ids(shop, id, created_at) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM ids WHERE shop = ?1 AND id = ?2) ON CONFLICT DO NOTHING
    """
  static let content = """
    INSERT INTO messages(
      shop, \(ShopMessage.columns), epoch, offset, changed_epoch, changed_offset)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  private let database: Database
  private let newID: Statement
  private let content: Statement
  /// The epoch that is bound, since most messages have the same.
  private var epoch: String?
  /// Whether the columns that most messages lack are bound to nothing.
  private var isBare = false

  init(database: Database, shop: Int64) throws(StoreFailure) {
    self.database = database
    newID = try database.statement(Self.newID)
    content = try database.statement(Self.content)
    newID.bind(shop, at: 1)
    content.bind(shop, at: 1)
    content.bindNothing(at: 10)
  }

  /// Adds a message. Returns false if its ID already exists.
  func insert(_ message: ShopMessage) throws(StoreFailure) -> Bool {
    newID.bind(message.id, at: 2)
    newID.bind(message.createdAt.nanoseconds, at: 3)
    guard try database.finish(newID) == 1 else { return false }
    content.bind(message.id, at: 2)
    content.bind(message.user, at: 3)
    content.bind(message.username, at: 4)
    content.bind(message.createdAt.nanoseconds, at: 6)
    if message.position?.epoch != epoch {
      epoch = message.position?.epoch
      content.bind(epoch, at: 10)
    }
    content.bind((message.position?.offset).map { Int64(bitPattern: $0) }, at: 11)
    bindRest(of: message)
    return try database.finish(content, content.step(lending: message.text, at: 5)) == 1
  }

  /// Binds the columns that most messages lack.
  private func bindRest(of message: ShopMessage) {
    let wasBare = isBare
    isBare =
      message.updatedAt == nil && !message.isEdited && message.parent == nil
      && message.changed == nil
    guard !isBare || !wasBare else { return }
    content.bind(message.updatedAt?.nanoseconds, at: 7)
    content.bind(Int64(message.isEdited ? 1 : 0), at: 8)
    content.bind(message.parent, at: 9)
    content.bind(message.changed?.epoch, at: 12)
    content.bind((message.changed?.offset).map { Int64(bitPattern: $0) }, at: 13)
  }
}
