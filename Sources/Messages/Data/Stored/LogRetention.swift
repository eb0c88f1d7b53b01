public import HoldfastCore

// The values by which a log is shortened. Only its beginning is ever removed: the messages whose
// newest events lie before an offset. So whoever knows every event up to that offset misses nothing.

/// The extent of the log of one shop.
public struct LogExtent: Sendable, Hashable {
  /// The room of the log.
  public var shop: ShopID
  /// The offset of the oldest event that is kept; 1 if none was removed.
  public var oldest: UInt64
  /// The offset of the newest post, which is never removed; 0 if nothing was ever posted.
  public var newestPost: UInt64
  /// The offset of the newest event.
  public var head: UInt64

  /// Creates an extent.
  public init(shop: ShopID, oldest: UInt64, newestPost: UInt64, head: UInt64) {
    (self.shop, self.oldest, self.newestPost, self.head) = (shop, oldest, newestPost, head)
  }
}

/// The newest event of a stored message, and the room that the message takes.
public struct LogMark: Sendable, Hashable {
  /// The offset of the newest event of the message.
  public var version: UInt64
  /// The time of that event; `nil` for a deletion, which has none.
  public var time: Timestamp?
  /// The number of bytes that count for the message.
  public var bytes: UInt64
  /// Whether the newest event is an edit or a deletion.
  public var isChanged: Bool

  /// Creates a mark.
  public init(version: UInt64, time: Timestamp?, bytes: UInt64, isChanged: Bool) {
    (self.version, self.time, self.bytes, self.isChanged) = (version, time, bytes, isChanged)
  }

  /// The number of bytes that count for a message beside its text, its author and the author's name.
  ///
  /// A row with its entries in six indices takes about 220 bytes in SQLite, and B-trees whose keys
  /// arrive in no order are filled to about 70 %.
  public static let overhead: UInt64 = 256
}

/// A request to remove the beginning of a shop's log.
public struct LogCut: Sendable, Hashable {
  /// The room of the log.
  public var shop: ShopID
  /// The offset of the oldest event that is kept.
  public var first: UInt64
  /// The present time.
  public var now: Timestamp
  /// The time since which keys of removed posts are remembered: a repetition of such a post is
  /// refused as that of a deleted message.
  public var keysSince: Timestamp

  /// Creates a request.
  public init(shop: ShopID, first: UInt64, now: Timestamp, keysSince: Timestamp) {
    (self.shop, self.first, self.now, self.keysSince) = (shop, first, now, keysSince)
  }
}
