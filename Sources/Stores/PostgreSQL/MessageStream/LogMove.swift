import HoldfastServerData

extension MovedSQL {
  /// The tables of the message log.
  static let log = [
    MovedSQL(
      .logEpoch, select: "SELECT epoch FROM log", insert: "UPDATE log SET epoch = ($1::bytea[])[1]"),
    MovedSQL(.messages, in: "messages", by: "shop", "offset"),
    MovedSQL(.edits, in: "edits", by: "shop", "key", "offset"),
    MovedSQL(.images, in: "images", by: "id"),
    MovedSQL(.imageContents, in: "image_contents", by: "id"),
    MovedSQL(.logBeginnings, in: "log_beginnings", by: "shop"),
    MovedSQL(.removedKeys, in: "removed_keys", by: "shop", "key"),
  ]
}
