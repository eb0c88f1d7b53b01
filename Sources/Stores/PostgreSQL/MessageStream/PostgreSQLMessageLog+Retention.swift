package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

// The removal of the beginning of logs. Several nodes may do it: each removal is one transaction that
// needs the lease of its node, and the lock of the shop, as an append does. The database cleans its
// tables by itself.
extension PostgreSQLMessageLog: PrunableLog {
  package func extents(
    after shop: ShopID?, limit: Int
  ) async throws(StoreFailure) -> [LogExtent] {
    let rows = try await read([
      Command(
        """
        SELECT s.shop, coalesce(b.oldest, 1), coalesce(e."offset", 0),
          greatest(coalesce(e."offset", 0), coalesce(c.changed, 0))
        FROM (SELECT number, shop FROM shops WHERE shop > $1 ORDER BY shop LIMIT $2) s
        LEFT JOIN log_beginnings b ON b.shop = s.number
        LEFT JOIN LATERAL (
          SELECT "offset" FROM messages WHERE shop = s.number ORDER BY "offset" DESC LIMIT 1
        ) e ON true
        LEFT JOIN LATERAL (
          SELECT changed FROM messages WHERE shop = s.number AND changed IS NOT NULL
          ORDER BY changed DESC LIMIT 1
        ) c ON true
        ORDER BY s.shop
        """, [.text(shop?.text ?? ""), .integer(Int64(limit))])
    ])
    var extents: [LogExtent] = []
    for row in rows[0] {
      guard let shop = ShopID(try row.text(0)) else { throw row.garbage(0, expected: "a shop id") }
      extents.append(
        LogExtent(
          shop: shop, oldest: try row.optionalUnsigned(1) ?? 1,
          newestPost: try row.optionalUnsigned(2) ?? 0, head: try row.optionalUnsigned(3) ?? 0))
    }
    return extents
  }

  package func marks(
    of shop: ShopID, after version: UInt64, limit: Int
  ) async throws(StoreFailure) -> [LogMark] {
    let columns = """
      coalesce(updated_at, created_at), coalesce(octet_length(text), 0)
        + coalesce(octet_length(author), 0) + coalesce(octet_length(username), 0)
      """
    let room = "shop = (SELECT number FROM shops WHERE shop = $1)"
    let rows = try await read([
      Command(
        """
        SELECT version, time, bytes::bigint, is_changed FROM (
          (SELECT "offset", \(columns), false FROM messages
          WHERE \(room) AND "offset" > $2 AND changed IS NULL ORDER BY "offset" LIMIT $3)
          UNION ALL
          (SELECT changed, \(columns), true FROM messages
          WHERE \(room) AND changed > $2 ORDER BY changed LIMIT $3)
        ) m(version, time, bytes, is_changed) ORDER BY version LIMIT $3
        """,
        [
          .text(shop.text), .integer(Int64(clamping: version)), .integer(Int64(limit)),
        ])
    ])
    var marks: [LogMark] = []
    for row in rows[0] {
      marks.append(
        LogMark(
          version: try row.optionalUnsigned(0) ?? 0,
          time: try row.optionalTime(1),
          bytes: LogMark.overhead + (try row.optionalUnsigned(2) ?? 0),
          isChanged: try row.flag(3)))
    }
    return marks
  }

  package func remove(_ cut: LogCut) async throws(StoreFailure) -> Int {
    let removed = try await write(
      reading: [
        Command(
          "SELECT remove_log($1, $2, $3, $4)",
          [
            .text(cut.shop.text), .integer(Int64(clamping: cut.first)), .time(cut.now),
            .time(cut.keysSince),
          ])
      ]
    ) { found throws(StoreFailure) in
      guard let row = found[0].first else { throw .unanswered }
      return ([], [try row.integer(0)])
    }
    return Int(removed.first ?? 0)
  }

  package func tidy(keysBefore time: Timestamp) async throws(StoreFailure) -> Bool {
    let found = try await read([Command("SELECT 1::bigint FROM removed_keys LIMIT 1")])
    guard !found[0].isEmpty else { return false }
    try await write([
      Command("DELETE FROM removed_keys WHERE created_at < $1", [.time(time)])
    ])
    return false
  }
}
