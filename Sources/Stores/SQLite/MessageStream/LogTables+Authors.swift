package import HoldfastCore
package import HoldfastFeaturePorts

// The messages and images of one author.
extension LogTables {
  /// The number of messages of a part of a search.
  private static let partOfSearch = 20_000

  func messages(
    by user: String, after place: LogPlace?
  ) throws(StoreFailure) -> AuthoredMessages {
    let start = place ?? LogPlace(shop: .min, offset: .min)
    let end = try end(ofPartAfter: start)
    let bound = end ?? LogPlace(shop: .max, offset: .max)
    let messages = try database.query(
      """
      SELECT m.id, s.shop FROM messages m INDEXED BY offsets JOIN shops s ON s.number = m.shop
      WHERE (m.shop, m.offset) > (?1, ?2) AND (m.shop, m.offset) <= (?3, ?4) AND m.user = ?5
      """,
      [
        .integer(start.shop), .integer(start.offset), .integer(bound.shop),
        .integer(bound.offset), .text(user),
      ]
    ) { row throws(StoreFailure) in
      AuthoredMessages.Message(id: try row.uuid(0), shop: try row.shop(1))
    }
    return AuthoredMessages(messages: messages, end: end)
  }

  /// Returns the end of a part; `nil` if it is the last one.
  private func end(ofPartAfter start: LogPlace) throws(StoreFailure) -> LogPlace? {
    try database.query(
      """
      SELECT shop, offset FROM messages WHERE (shop, offset) > (?1, ?2)
      ORDER BY shop, offset LIMIT 1 OFFSET ?3
      """,
      [.integer(start.shop), .integer(start.offset), .integer(Self.partOfSearch - 1)]
    ) { row throws(StoreFailure) in
      LogPlace(shop: try row.integer(0), offset: try row.integer(1))
    }.first
  }

  func deleteUnclaimedImages(of user: String) throws(StoreFailure) {
    try database.run(
      "UPDATE images SET user = NULL WHERE user = ? AND message IS NULL", [.text(user)])
  }
}

extension SQLiteFile: AuthoredLog where T == LogTables {
  package func messages(
    by user: String, after place: LogPlace?
  ) throws(StoreFailure) -> AuthoredMessages {
    try read { tables throws(StoreFailure) in try tables.messages(by: user, after: place) }
  }

  package func deleteUnclaimedImages(of user: String) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.deleteUnclaimedImages(of: user) }
  }
}
