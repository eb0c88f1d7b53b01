public import HoldfastCore

/// A deleted message: its identifiers and positions, without any content.
public struct ShopDeletion: Sendable, Hashable, Codable {
  /// The id of the message.
  public var id: MessageID
  /// The room that contained the message.
  public var shop: ShopID
  /// The position of the post.
  public var position: ShopPosition
  /// The position of the deletion.
  public var changed: ShopPosition

  /// Creates a deletion without validation.
  public init(id: MessageID, shop: ShopID, position: ShopPosition, changed: ShopPosition) {
    self.id = id
    self.shop = shop
    self.position = position
    self.changed = changed
  }
}

/// An event of a shop's log.
public enum ShopEvent: Sendable, Hashable, Codable {
  /// A new message.
  case posted(ShopMessage)
  /// A message with a new text.
  case edited(ShopMessage)
  /// The deletion of a message.
  case deleted(ShopDeletion)

  /// The event's own position in the log.
  public var position: ShopPosition? {
    switch self {
    case .posted(let message): message.position
    case .edited(let message): message.changed
    case .deleted(let deletion): deletion.changed
    }
  }
}
