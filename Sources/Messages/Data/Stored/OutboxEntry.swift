public import HoldfastCore

/// A change by the user that the server has not confirmed or that failed: a new message, an edit or
/// a deletion.
public struct OutboxEntry: Sendable, Hashable {
  /// The idempotency key, which is created once and sent with every attempt.
  public var id: UUID128
  /// The shop to which the entry is sent.
  public var shop: ShopID
  /// The content as the user wrote it. The text is empty for a deletion.
  public var content: MessageContent
  /// The time at which the user made the change, by the phone's wall clock. It determines the order
  /// of the entries on the screen.
  public var createdAt: Timestamp
  /// The send state: queued or failed.
  public var state: State
  /// The kind of change.
  public var action: Action
  /// The image that is sent with a new message.
  public var image: OutboxImage?

  /// The send state. The user can retry or discard a failed entry.
  public typealias State = SendState

  /// A kind of change.
  public enum Action: Sendable, Hashable, Codable {
    /// A new message.
    case post
    /// A new text for a message of the user.
    case edit(MessageID)
    /// The deletion of a message.
    case delete(MessageID)

    /// The message that is edited or deleted; `nil` for a new message.
    public var target: MessageID? {
      switch self {
      case .post: nil
      case .edit(let id), .delete(let id): id
      }
    }
  }

  /// Creates an entry. By default, it is a new message, and no attempt has been made.
  public init(
    id: UUID128, shop: ShopID, content: MessageContent, createdAt: Timestamp,
    state: State = .queued(tries: 0), action: Action = .post, image: OutboxImage? = nil
  ) {
    self.id = id
    self.shop = shop
    self.content = content
    self.createdAt = createdAt
    self.state = state
    self.action = action
    self.image = image
  }

  /// Creates an entry from the parts of its content.
  public init(
    id: UUID128, shop: ShopID, text: String, parent: MessageID? = nil, createdAt: Timestamp,
    state: State = .queued(tries: 0), action: Action = .post, image: OutboxImage? = nil
  ) {
    self.init(
      id: id, shop: shop, content: MessageContent(text, parent: parent), createdAt: createdAt,
      state: state, action: action, image: image)
  }

  /// The text as the user wrote it; empty for a deletion.
  public var text: String {
    get { content.text }
    set { content.text = newValue }
  }

  /// The message to which a new message replies.
  public var parent: MessageID? {
    get { content.parent }
    set { content.parent = newValue }
  }

  /// The message that the entry edits or deletes; `nil` for a new message.
  public var target: MessageID? { action.target }

  /// Whether the entry has an image that was not uploaded yet.
  public var awaitsUpload: Bool { image.map { $0.url == nil } ?? false }

  /// The text that is sent: the user's text and, on a line of its own, the reference to the image.
  public var postedText: String { posted.text }

  /// The content that is sent, with the reference to the image in its text.
  public var posted: MessageContent {
    var posted = content
    if let url = image?.url {
      posted.text += (text.isEmpty ? "" : "\n") + ImageReference.text(for: url)
    }
    return posted
  }
}

/// The image of an entry, without its bytes.
public struct OutboxImage: Sendable, Hashable, Codable {
  /// The type, as its first bytes say.
  public var type: ImageType
  /// The size in bytes.
  public var size: Int
  /// The URL with which the message refers to the image; `nil` until it was uploaded.
  public var url: String?
  /// The time at which the upload ended, by the phone's wall clock.
  public var uploadedAt: Timestamp?

  /// Creates a value. By default, nothing was uploaded.
  public init(
    type: ImageType, size: Int, url: String? = nil, uploadedAt: Timestamp? = nil
  ) {
    self.type = type
    self.size = size
    self.url = url
    self.uploadedAt = uploadedAt
  }
}

// The coded form has the members of the content beside the others. Members that earlier versions did not have are left out if they have their
// defaults, so that a journal of an earlier version can be read, and its steps do not change.
extension OutboxEntry: Codable {
  private enum Key: CodingKey { case id, shop, createdAt, state, action, image }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    id = try values.decode(UUID128.self, forKey: .id)
    shop = try values.decode(ShopID.self, forKey: .shop)
    content = try MessageContent(from: decoder)
    createdAt = try values.decode(Timestamp.self, forKey: .createdAt)
    state = try values.decode(State.self, forKey: .state)
    action = try values.decodeIfPresent(Action.self, forKey: .action) ?? .post
    image = try values.decodeIfPresent(OutboxImage.self, forKey: .image)
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encode(shop, forKey: .shop)
    try content.encode(to: encoder)
    try values.encode(createdAt, forKey: .createdAt)
    try values.encode(state, forKey: .state)
    if action != .post { try values.encode(action, forKey: .action) }
    try values.encodeIfPresent(image, forKey: .image)
  }
}
