extension MovedTable {
  /// The epoch of the log.
  package static let logEpoch = MovedTable("log epoch", [.text("epoch")], isSingle: true)
  /// The messages. A column is null unless the message has such a value. `offset` is the position of
  /// the post, `place` its number among the posts of the shop, `key` its idempotency key, and
  /// `changed` the position of the newest edit or deletion.
  package static let messages = MovedTable(
    "messages",
    [
      .numbered("shop"), .integer("offset"), .integer("place"), .uuid("id"), .text("user"),
      .text("username"), .text("text"), .integer("created_at"), .integer("updated_at"),
      .flag("is_edited"), .uuid("parent"), .uuid("key"), .integer("changed"),
    ])
  /// The idempotency keys of edits, with the offset of the message, and of its newest change then.
  package static let edits = MovedTable(
    "edit keys", [.numbered("shop"), .uuid("key"), .integer("offset"), .integer("changed")])
  /// The images. `message` is the offset of the message that refers to the image.
  package static let images = MovedTable(
    "images",
    [
      .uuid("id"), .numbered("shop"), .text("user"), .text("type"), .integer("size"),
      .integer("created_at"), .integer("message"),
    ])
  /// The contents of images. In a data directory each is a file.
  package static let imageContents = MovedTable(
    "image contents", [.uuid("id"), .bytes("content")], isLarge: true)
  /// The offsets of the oldest events that are kept, for shops whose beginning was removed.
  package static let logBeginnings = MovedTable(
    "beginnings of logs", [.numbered("shop"), .integer("oldest")])
  /// The idempotency keys of recent messages that were removed, and when they were created.
  package static let removedKeys = MovedTable(
    "keys of removed messages", [.numbered("shop"), .uuid("key"), .integer("created_at")])

  /// The tables of the message log.
  package static let logTables = [
    logEpoch, messages, edits, images, imageContents, logBeginnings, removedKeys,
  ]
}
