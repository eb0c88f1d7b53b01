package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

// The images of messages. A deleted image has no user. Its row remains until its content was removed.
extension PostgreSQLMessageLog {
  package func addImage(
    _ image: StoredImage, atMost most: Int
  ) async throws(StoreFailure) -> Bool {
    let added = try await write(
      reading: [
        Command(
          """
          SELECT (SELECT 1::bigint FROM images WHERE id = $1 AND author IS NOT NULL),
            (SELECT count(*) FROM images WHERE author = $2 AND message IS NULL)
          """, [.uuid(image.id), .text(image.user)])
      ]
    ) { found throws(StoreFailure) in
      guard let row = found[0].first else { throw .unanswered }
      if try row.optionalInteger(0) != nil { return ([], [1]) }
      guard try row.integer(1) < most else { return ([], [0]) }
      return (
        [
          Command(
            """
            INSERT INTO images(id, shop, author, type, size, created_at)
            VALUES ($1, (shop_numbers(ARRAY[$2]))[1], $3, $4, $5, $6)
            """,
            [
              .uuid(image.id), .text(image.shop.text), .text(image.user),
              .text(image.type.rawValue), .integer(Int64(image.size)), .time(image.createdAt),
            ])
        ], [1]
      )
    }
    return added == [1]
  }

  package func oldestUnclaimedImage(of user: String) async throws(StoreFailure) -> Timestamp? {
    let rows = try await read([
      Command(
        """
        SELECT created_at FROM images WHERE author = $1 AND message IS NULL
        ORDER BY created_at LIMIT 1
        """, [.text(user)])
    ])
    return try rows[0].first?.time(0)
  }

  package func image(_ id: MessageID) async throws(StoreFailure) -> StoredImage? {
    let rows = try await read([
      Command(
        """
        SELECT s.shop, i.author, i.type, i.size, i.created_at, m.id
        FROM images i JOIN shops s ON s.number = i.shop
        LEFT JOIN messages m ON m.shop = i.shop AND m."offset" = i.message
        WHERE i.id = $1 AND i.author IS NOT NULL
        """, [.uuid(id)])
    ])
    guard let row = rows[0].first else { return nil }
    guard let shop = ShopID(try row.text(0)) else { throw row.garbage(0, expected: "a shop id") }
    guard let type = ImageType(rawValue: try row.text(2)) else {
      throw row.garbage(2, expected: "a type of image")
    }
    return StoredImage(
      id: id, shop: shop, user: try row.text(1), type: type, size: Int(try row.integer(3)),
      createdAt: try row.time(4), message: try row.optionalUUID(5))
  }

  package func deleteImage(_ id: MessageID) async throws(StoreFailure) {
    try await write([
      Command("UPDATE images SET author = NULL, message = NULL WHERE id = $1", [.uuid(id)])
    ])
  }

  package func deleteUnclaimedImages(before time: Timestamp) async throws(StoreFailure) {
    try await write([
      Command(
        """
        UPDATE images SET author = NULL
        WHERE message IS NULL AND author IS NOT NULL AND created_at < $1
        """, [.time(time)])
    ])
  }

  package func deletedImages() async throws(StoreFailure) -> [MessageID] {
    let rows = try await read([
      Command("SELECT id FROM images WHERE message IS NULL AND author IS NULL ORDER BY id")
    ])
    var ids: [MessageID] = []
    for row in rows[0] { ids.append(try row.uuid(0)) }
    return ids
  }

  package func forgetImages(_ ids: [MessageID]) async throws(StoreFailure) {
    guard !ids.isEmpty else { return }
    try await write([
      Command("DELETE FROM images WHERE id = ANY($1) AND author IS NULL", [.uuids(ids)])
    ])
  }
}

// The contents of images, so that each node has them.
extension PostgreSQLMessageLog {
  /// Stores the content of an image durably.
  package func setContent(_ content: [UInt8], of id: MessageID) async throws(StoreFailure) {
    try await writeContents([
      Command(
        """
        INSERT INTO image_contents(id, content) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE
        SET content = excluded.content, stored_at = excluded.stored_at
        """, [.uuid(id), .blob(content)])
    ])
  }

  /// Returns the length of an image's content and a part of it; `nil` if there is no content.
  package func content(
    of id: MessageID, _ part: Range<Int>
  ) async throws(StoreFailure) -> (length: Int, part: [UInt8])? {
    let rows = try await readContents(
      Command(
        """
        SELECT octet_length(content)::bigint, substr(content, $2, $3) FROM image_contents
        WHERE id = $1
        """,
        [
          .uuid(id), .small(Int32(clamping: part.lowerBound + 1)),
          .small(Int32(clamping: part.count)),
        ]
      ))
    guard let row = rows.first else { return nil }
    return (Int(try row.integer(0)), Array(try row.optionalBlob(1) ?? []))
  }

  /// Removes the contents of images.
  package func removeContents(_ ids: [MessageID]) async throws(StoreFailure) {
    try await writeContents([
      Command("DELETE FROM image_contents WHERE id = ANY($1)", [.uuids(ids)])
    ])
  }

  /// Removes the contents that belong to no image and are older than `age`. A node may have ended
  /// between the two.
  package func removeLeftoverContents(olderThan age: Duration) async throws(StoreFailure) {
    try await writeContents([
      Command(
        """
        DELETE FROM image_contents c
        WHERE stored_at < clock_timestamp() - $1 * interval '1 second'
          AND NOT EXISTS (SELECT 1 FROM images i WHERE i.id = c.id)
        """, [.integer(age.components.seconds)])
    ])
  }
}
