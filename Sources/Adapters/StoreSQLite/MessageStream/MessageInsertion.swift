import LinkCore
import LinkWire

/// Adds messages of one shop, one by one and without an array for each.
struct MessageInsertion {
  static let place = """
    INSERT INTO new_ids(shop, id, created_at) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM ids WHERE shop = ?1 AND id = ?2) ON CONFLICT DO NOTHING
    """
  static let content = """
    INSERT INTO messages(shop, \(Message.columns), epoch, offset)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  let database: Database
  let shop: Int64
  let place: Statement
  let content: Statement

  /// Adds a message; false when its id was there already.
  func insert(_ message: Message) throws(StoreFailure) -> Bool {
    place.bind(shop, at: 1)
    place.bind(message.id, at: 2)
    place.bind(message.createdAt.nanoseconds, at: 3)
    guard try database.finish(place) == 1 else { return false }
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
    return try database.finish(content) == 1
  }
}
