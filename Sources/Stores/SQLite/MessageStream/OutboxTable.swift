import HoldfastCore
import HoldfastMessageData

// The outbox of a shop. In `action`, NULL stands for a new message.
extension TimelineTables {
  private enum Action: Int64 {
    case edit = 1
    case delete
  }

  func outbox() throws(StoreFailure) -> [OutboxEntry] {
    let added = "action, target, image_type, image_size, image_url, image_uploaded_at"
    return try database.query(
      """
      SELECT id, text, parent, created_at, tries, failure,
        \(version > 2 ? added : "NULL, NULL, NULL, NULL, NULL, NULL")
      FROM outbox WHERE shop = ? ORDER BY turn
      """, [.text(shop.text)]
    ) { row throws(StoreFailure) in
      let state: OutboxEntry.State
      if let tries = try row.optionalInteger(4) {
        state = .queued(tries: Int(tries))
      } else {
        state = .failed(reason: try row.text(5))
      }
      return OutboxEntry(
        id: try row.uuid(0), shop: shop, text: try row.text(1), parent: try row.optionalUUID(2),
        createdAt: try row.time(3), state: state, action: try action(row), image: try image(row))
    }
  }

  private func action(_ row: Row) throws(StoreFailure) -> OutboxEntry.Action {
    guard let number = try row.optionalInteger(6) else { return .post }
    switch Action(rawValue: number) {
    case .edit: return .edit(try row.uuid(7))
    case .delete: return .delete(try row.uuid(7))
    case nil:
      throw .corrupt(detail: "An entry of the outbox of the shop \(shop) has an unknown kind.")
    }
  }

  private func image(_ row: Row) throws(StoreFailure) -> OutboxImage? {
    guard let text = try row.optionalText(8) else { return nil }
    guard let type = ImageType(rawValue: text) else {
      throw .corrupt(detail: "An image in the outbox of the shop \(shop) has an unknown type.")
    }
    return OutboxImage(
      type: type, size: Int(try row.unsigned(9)), url: try row.optionalText(10),
      uploadedAt: try row.optionalTime(11))
  }

  /// Adds an entry at the end, or updates an existing entry in place.
  func put(_ entry: OutboxEntry) throws(StoreFailure) {
    let (tries, failure): (SQLValue, SQLValue) =
      switch entry.state {
      case .queued(let tries): (.integer(tries), .null)
      case .failed(let reason): (.null, .text(reason))
      }
    let image = entry.image
    try database.run(
      """
      INSERT INTO outbox(shop, id, text, parent, created_at, tries, failure, action, target,
        image_type, image_size, image_url, image_uploaded_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (shop, id) DO UPDATE SET text = excluded.text, parent = excluded.parent,
        created_at = excluded.created_at, tries = excluded.tries, failure = excluded.failure,
        action = excluded.action, target = excluded.target, image_type = excluded.image_type,
        image_size = excluded.image_size, image_url = excluded.image_url,
        image_uploaded_at = excluded.image_uploaded_at
      """,
      [
        .text(shop.text), .uuid(entry.id), .text(entry.text), .uuid(entry.parent),
        .time(entry.createdAt), tries, failure, number(of: entry.action), .uuid(entry.target),
        image.map { .text($0.type.rawValue) } ?? .null, image.map { .integer($0.size) } ?? .null,
        image?.url.map { .text($0) } ?? .null, .time(image?.uploadedAt),
      ])
  }

  private func number(of action: OutboxEntry.Action) -> SQLValue {
    switch action {
    case .post: .null
    case .edit: .integer(Action.edit.rawValue)
    case .delete: .integer(Action.delete.rawValue)
    }
  }

  func remove(_ entry: UUID128) throws(StoreFailure) {
    try database.run(
      "DELETE FROM outbox WHERE shop = ? AND id = ?", [.text(shop.text), .uuid(entry)])
  }
}
