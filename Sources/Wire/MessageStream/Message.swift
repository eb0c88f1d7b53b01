public import LinkCore

/// Identifies one message; assigned by the server.
public typealias MessageID = UUID128

/// Names a shop: a room of messages. A UUID in production; any path-safe word is accepted.
public struct ShopID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The id as given, letter case kept.
  public let text: String

  /// Takes 1 to 128 of the characters `A-Z a-z 0-9 . _ -`; `nil` for anything else.
  ///
  /// Nor for `.` and `..`, which a path would lose (RFC 3986 section 5.2.4).
  public init?(_ text: some StringProtocol) {
    guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed),
      text != ".", text != ".."
    else { return nil }
    self.text = String(text)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    case _: false
    }
  }

  /// The id as given.
  public var description: String { text }

  /// By text.
  public static func < (left: ShopID, right: ShopID) -> Bool { left.text < right.text }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = ShopID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a shop id")
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// Where a message stands in a shop's log: offsets count 1, 2, 3… within one epoch.
///
/// On the wire `epoch:offset`. A new epoch means that the server's log began anew, and no offset of
/// the old one says anything.
public struct Position: Sendable, Hashable, Codable, CustomStringConvertible {
  /// 1 to 64 characters of `A-Z a-z 0-9 - _`.
  public var epoch: String
  /// From 1; 0 stands for an empty log.
  public var offset: UInt64

  /// A position; nothing is checked.
  public init(epoch: String, offset: UInt64) {
    self.epoch = epoch
    self.offset = offset
  }

  /// The form on the wire.
  public var description: String { "\(epoch):\(offset)" }
}

/// One message of a shop, as server and client agree on it.
public struct Message: Sendable, Hashable, Codable {
  /// Given by the server.
  public var id: MessageID
  /// The room that it stands in.
  public var shop: ShopID
  /// The author; an opaque word (a Firebase UID in the original system).
  public var user: String
  /// The author's display name; REST answers of a plain server leave it out.
  public var username: String?
  /// At most `MessageLimits.maxCharacters` Unicode scalars when it was read from the wire.
  public var text: String
  /// By the server's clock.
  public var createdAt: Timestamp
  /// The last edit; `nil` if there was none.
  public var updatedAt: Timestamp?
  /// Whether the text is not the first one.
  public var isEdited: Bool
  /// The message that it answers.
  public var parent: MessageID?
  /// Where it stands in the log; `nil` from a server without positions.
  public var position: Position?

  /// A message; nothing is checked.
  public init(
    id: MessageID, shop: ShopID, user: String, username: String?, text: String,
    createdAt: Timestamp, updatedAt: Timestamp? = nil, isEdited: Bool = false,
    parent: MessageID? = nil, position: Position? = nil
  ) {
    self.id = id
    self.shop = shop
    self.user = user
    self.username = username
    self.text = text
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.isEdited = isEdited
    self.parent = parent
    self.position = position
  }

  /// About how many bytes of memory it takes: its texts, and 256 for all else.
  public var footprint: Int {
    256 + text.utf8.count + user.utf8.count + (username?.utf8.count ?? 0)
  }

  /// Its place in the timeline: by time of creation, equal times by id.
  @inlinable
  public var key: TimelineKey { TimelineKey(createdAt: createdAt, id: id) }
}

/// The order of a timeline: `createdAt`, then `id`.
public struct TimelineKey: Sendable, Hashable, Comparable, Codable {
  /// The message's time of creation.
  public var createdAt: Timestamp
  /// Tells messages of one instant apart.
  public var id: MessageID

  /// The place of a message with this time and id.
  public init(createdAt: Timestamp, id: MessageID) {
    self.createdAt = createdAt
    self.id = id
  }

  /// Earlier first, then the smaller id.
  public static func < (left: TimelineKey, right: TimelineKey) -> Bool {
    (left.createdAt, left.id) < (right.createdAt, right.id)
  }
}
