import HoldfastCore
import HoldfastMessageData

// The images of messages. A deleted image has no user. Its row remains until its content was removed.
extension LogTables {
  static let images = """
    CREATE TABLE images(
      id BLOB PRIMARY KEY, shop INTEGER NOT NULL, user TEXT, type TEXT NOT NULL,
      size INTEGER NOT NULL, created_at INTEGER NOT NULL, message INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX claimed ON images(shop, message) WHERE message IS NOT NULL;
    CREATE INDEX unclaimed ON images(user, created_at) WHERE message IS NULL;
    """

  /// Adds an image. Returns false if its user already has `most` unclaimed images.
  func addImage(_ image: StoredImage, atMost most: Int) throws(StoreFailure) -> Bool {
    if try self.image(image.id) != nil { return true }
    let own = try database.query(
      "SELECT count(*) FROM images WHERE user = ? AND message IS NULL", [.text(image.user)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard own.first ?? 0 < most else { return false }
    let shop = try enter(image.shop)
    try database.run(
      "INSERT INTO images(id, shop, user, type, size, created_at) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .uuid(image.id), .integer(shop.number), .text(image.user), .text(image.type.rawValue),
        .integer(Int64(image.size)), .time(image.createdAt),
      ])
    return true
  }

  /// Returns the time of the oldest unclaimed image of a user.
  func oldestUnclaimedImage(of user: String) throws(StoreFailure) -> Timestamp? {
    try database.query(
      """
      SELECT created_at FROM images WHERE user = ? AND message IS NULL
      ORDER BY created_at LIMIT 1
      """, [.text(user)]
    ) { row throws(StoreFailure) in try row.time(0) }.first
  }

  /// Returns an image, or `nil` if it is unknown or deleted.
  func image(_ id: MessageID) throws(StoreFailure) -> StoredImage? {
    try database.query(
      """
      SELECT shops.shop, images.user, type, size, images.created_at, messages.id
      FROM images JOIN shops ON number = images.shop
      LEFT JOIN messages ON messages.shop = images.shop AND messages.offset = message
      WHERE images.id = ? AND images.user IS NOT NULL
      """, [.uuid(id)]
    ) { row throws(StoreFailure) in
      let type = try row.text(2)
      guard let type = ImageType(rawValue: type) else {
        throw .corrupt(detail: "An image has the unknown type \(type).")
      }
      return StoredImage(
        id: id, shop: try row.shop(0), user: try row.text(1), type: type,
        size: Int(try row.integer(3)), createdAt: try row.time(4),
        message: try row.optionalUUID(5))
    }.first
  }

  /// Deletes an image.
  func deleteImage(_ id: MessageID) throws(StoreFailure) {
    try database.run(
      "UPDATE images SET user = NULL, message = NULL WHERE id = ?", [.uuid(id)])
  }

  /// Deletes the unclaimed images that were uploaded before a time.
  func deleteUnclaimedImages(before time: Timestamp) throws(StoreFailure) {
    try database.run(
      """
      UPDATE images SET user = NULL
      WHERE message IS NULL AND user IS NOT NULL AND created_at < ?
      """, [.time(time)])
  }

  /// Returns the deleted images whose content may remain.
  func deletedImages() throws(StoreFailure) -> [MessageID] {
    try database.query(
      "SELECT id FROM images WHERE message IS NULL AND user IS NULL ORDER BY id"
    ) { row throws(StoreFailure) in try row.uuid(0) }
  }

  /// Forgets deleted images whose content was removed.
  func forgetImages(_ ids: [MessageID]) throws(StoreFailure) {
    for id in ids {
      try database.run("DELETE FROM images WHERE id = ? AND user IS NULL", [.uuid(id)])
    }
  }

  // MARK: - Claims

  /// Claims the images of a text for a message at an offset.
  func claimImages(
    of text: String, by user: String, for offset: UInt64, _ shop: LogShop
  ) throws(StoreFailure) {
    for id in ImageReference.ids(in: text) {
      try database.run(
        """
        UPDATE images SET message = ?1
        WHERE id = ?2 AND shop = ?3 AND user = ?4 AND message IS NULL
        """, [.offset(offset), .uuid(id), .integer(shop.number), .text(user)])
    }
  }

  /// Deletes the images of a message to which its text does not refer any more. A `nil` text is that
  /// of a deleted message.
  func deleteImages(
    of offset: UInt64, without text: String?, _ shop: LogShop
  ) throws(StoreFailure) {
    let claimed = try database.query(
      "SELECT id FROM images WHERE shop = ? AND message = ? AND message IS NOT NULL",
      [.integer(shop.number), .offset(offset)]
    ) { row throws(StoreFailure) in try row.uuid(0) }
    guard !claimed.isEmpty else { return }
    let named = Set(text.map { ImageReference.ids(in: $0) } ?? [])
    for id in claimed where !named.contains(id) { try deleteImage(id) }
  }
}
