extension MovedTable {
  /// The epoch of the log.
  package static let logEpoch = MovedTable("log epoch", [.text], isSingle: true)
  /// Shop, offset, place, ID, author, name, text, times of creation and of the newest edit, whether it
  /// was edited, parent, idempotency key, and the offset of the newest change.
  package static let messages = MovedTable(
    "messages",
    [
      .text, .integer, .integer, .uuid, .text, .text, .text, .integer, .integer, .flag, .uuid,
      .uuid, .integer,
    ])
  /// Shop, idempotency key, offset of the message, and offset of its newest change then.
  package static let edits = MovedTable("edit keys", [.text, .uuid, .integer, .integer])
  /// ID, shop, author, type, size, time of creation, and offset of the message.
  package static let images = MovedTable(
    "images", [.uuid, .text, .text, .text, .integer, .integer, .integer])
  /// ID and content. In a data directory each is a file.
  package static let imageContents = MovedTable("image contents", [.uuid, .bytes], isLarge: true)
  /// Shop, and offset of the oldest event that is kept, for shops whose beginning was removed.
  package static let logBeginnings = MovedTable("beginnings of logs", [.text, .integer])
  /// Shop, idempotency key, and time of creation of recent messages that were removed.
  package static let removedKeys = MovedTable(
    "keys of removed messages", [.text, .uuid, .integer])

  /// The tables of the message log.
  package static let logTables = [
    logEpoch, messages, edits, images, imageContents, logBeginnings, removedKeys,
  ]
}
