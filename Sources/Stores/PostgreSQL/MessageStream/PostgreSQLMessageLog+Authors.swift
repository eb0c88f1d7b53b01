package import HoldfastCore
package import HoldfastFeaturePorts
import HoldfastMessageData

// The messages and images of one author. The database keeps removed rows until it cleans its tables.
extension PostgreSQLMessageLog: AuthoredLog {
  /// The number of messages of a part of a search.
  private static let partOfSearch: Int64 = 20_000

  package func messages(
    by user: String, after place: LogPlace?
  ) async throws(StoreFailure) -> AuthoredMessages {
    let start = place ?? LogPlace(shop: 0, offset: 0)
    // The rows of the part are counted once, and both answers are of one snapshot.
    let rows = try await read([
      Command(
        """
        SELECT shop::bigint, "offset" FROM messages WHERE (shop, "offset") > ($1, $2)
        ORDER BY shop, "offset" LIMIT 1 OFFSET $3
        """,
        [
          .small(Int32(clamping: start.shop)), .integer(start.offset),
          .integer(Self.partOfSearch - 1),
        ]),
      Command(
        """
        SELECT s.shop, m.id FROM (
          SELECT shop, id, author FROM messages WHERE (shop, "offset") > ($1, $2)
          ORDER BY shop, "offset" LIMIT $3) m
        JOIN shops s ON s.number = m.shop WHERE m.author = $4
        """,
        [
          .small(Int32(clamping: start.shop)), .integer(start.offset),
          .integer(Self.partOfSearch), .text(user),
        ]),
    ])
    var found = AuthoredMessages(messages: [], end: nil)
    for row in rows[1] {
      guard let shop = ShopID(try row.text(0)) else { throw row.garbage(0, expected: "a shop id") }
      found.messages.append(AuthoredMessages.Message(id: try row.uuid(1), shop: shop))
    }
    if let row = rows[0].first {
      found.end = LogPlace(shop: try row.integer(0), offset: try row.integer(1))
    }
    return found
  }

  package func deleteUnclaimedImages(of user: String) async throws(StoreFailure) {
    try await write([
      Command(
        "UPDATE images SET author = NULL WHERE author = $1 AND message IS NULL", [.text(user)])
    ])
  }
}
