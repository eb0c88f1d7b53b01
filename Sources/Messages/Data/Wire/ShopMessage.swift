public import HoldfastCore

/// The identifier of a message, assigned by the server.
public typealias MessageID = UUID128

/// The identifier of a shop. A shop is a room of messages.
///
/// In production it is a UUID, but any path-safe string is accepted.
public struct ShopID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The id as it was received, in its original letter case.
  public let text: String

  /// Creates an id from 1 to 128 of the characters `A-Z a-z 0-9 . _ -`.
  ///
  /// Returns `nil` for anything else, and for `.` and `..`, which are removed from paths (RFC 3986
  /// section 5.2.4).
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

  /// Creates the id of a shop whose id is a UUID.
  package init(_ id: UUID128) { text = id.description }

  /// The id as it was received.
  public var description: String { text }

  /// Returns whether the text of one id precedes that of another.
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

/// The position of an event in a shop's log: of a post, an edit or a deletion. Offsets count
/// 1, 2, 3… within one epoch.
///
/// It is sent as `epoch:offset`. A new epoch means that the server's log has started over. Offsets
/// of the old epoch are then meaningless.
public struct ShopPosition: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The epoch: 1 to 64 of the characters `A-Z a-z 0-9 - _`.
  public var epoch: String
  /// The offset. The first event has offset 1, and the position of an empty log has offset 0.
  public var offset: UInt64

  /// Creates a position without validation.
  public init(epoch: String, offset: UInt64) {
    self.epoch = epoch
    self.offset = offset
  }

  /// The position in the form in which it is sent.
  public var description: String { "\(epoch):\(offset)" }
}

/// A message of a shop, used by the server and the client.
public struct ShopMessage: Sendable, Hashable {
  /// The id, assigned by the server.
  public var id: MessageID
  /// The room that contains the message.
  public var shop: ShopID
  /// The author, as an opaque string such as a Firebase UID.
  public var user: String
  /// The author's display name. REST answers of a plain server omit it.
  public var username: String?
  /// What the author has decided.
  public var content: MessageContent
  /// The time of creation, according to the server's clock.
  public var createdAt: Timestamp
  /// The time of the last edit, or `nil` if there was none.
  public var updatedAt: Timestamp?
  /// Whether the text was edited.
  public var isEdited: Bool
  /// The position in the log, or `nil` if the server does not support positions.
  public var position: ShopPosition?
  /// The position of the newest edit in the log. `nil` if there was none, or if events were not
  /// requested.
  public var changed: ShopPosition?

  /// Creates a message without validation.
  public init(
    id: MessageID, shop: ShopID, user: String, username: String?, content: MessageContent,
    createdAt: Timestamp, updatedAt: Timestamp? = nil, isEdited: Bool = false,
    position: ShopPosition? = nil, changed: ShopPosition? = nil
  ) {
    self.id = id
    self.shop = shop
    self.user = user
    self.username = username
    self.content = content
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.isEdited = isEdited
    self.position = position
    self.changed = changed
  }

  /// Creates a message from the parts of its content, without validation.
  public init(
    id: MessageID, shop: ShopID, user: String, username: String?, text: String,
    createdAt: Timestamp, updatedAt: Timestamp? = nil, isEdited: Bool = false,
    parent: MessageID? = nil, position: ShopPosition? = nil, changed: ShopPosition? = nil
  ) {
    self.init(
      id: id, shop: shop, user: user, username: username,
      content: MessageContent(text, parent: parent), createdAt: createdAt, updatedAt: updatedAt,
      isEdited: isEdited, position: position, changed: changed)
  }

  /// The text.
  @inlinable public var text: String {
    get { content.text }
    set { content.text = newValue }
  }

  /// The message to which this message replies.
  @inlinable public var parent: MessageID? {
    get { content.parent }
    set { content.parent = newValue }
  }

  /// The position of the newest event of the message: of its newest edit, or else of its post.
  public var version: ShopPosition? { changed ?? position }

  /// The approximate memory use of the message, in bytes: the size of its texts, and 256 for
  /// everything else.
  public var footprint: Int {
    256 + text.utf8.count + user.utf8.count + (username?.utf8.count ?? 0)
  }

  /// The key that orders the message in a timeline.
  @inlinable
  public var key: TimelineKey { TimelineKey(createdAt: createdAt, id: id) }
}

// The coded form has the members of the content beside the others.
extension ShopMessage: Codable {
  private enum Key: CodingKey {
    case id, shop, user, username, createdAt, updatedAt, isEdited, position, changed
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    self.init(
      id: try values.decode(MessageID.self, forKey: .id),
      shop: try values.decode(ShopID.self, forKey: .shop),
      user: try values.decode(String.self, forKey: .user),
      username: try values.decodeIfPresent(String.self, forKey: .username),
      content: try MessageContent(from: decoder),
      createdAt: try values.decode(Timestamp.self, forKey: .createdAt),
      updatedAt: try values.decodeIfPresent(Timestamp.self, forKey: .updatedAt),
      isEdited: try values.decode(Bool.self, forKey: .isEdited),
      position: try values.decodeIfPresent(ShopPosition.self, forKey: .position),
      changed: try values.decodeIfPresent(ShopPosition.self, forKey: .changed))
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encode(shop, forKey: .shop)
    try values.encode(user, forKey: .user)
    try values.encodeIfPresent(username, forKey: .username)
    try content.encode(to: encoder)
    try values.encode(createdAt, forKey: .createdAt)
    try values.encodeIfPresent(updatedAt, forKey: .updatedAt)
    try values.encode(isEdited, forKey: .isEdited)
    try values.encodeIfPresent(position, forKey: .position)
    try values.encodeIfPresent(changed, forKey: .changed)
  }
}

/// The key that orders a timeline: `createdAt`, then `id`.
public struct TimelineKey: Sendable, Hashable, Comparable, Codable {
  /// The message's time of creation.
  public var createdAt: Timestamp
  /// The message's id. It orders messages with the same time.
  public var id: MessageID

  /// Creates the key of a message.
  public init(createdAt: Timestamp, id: MessageID) {
    self.createdAt = createdAt
    self.id = id
  }

  /// Returns whether one key precedes another, by time and then by id.
  public static func < (left: TimelineKey, right: TimelineKey) -> Bool {
    (left.createdAt, left.id) < (right.createdAt, right.id)
  }
}
