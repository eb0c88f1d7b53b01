public import HoldfastCore
public import HoldfastMessageData

/// A REST request, parsed and checked without the state of the server.
public enum Call: Sendable, Hashable, Codable {
  /// A request to store and broadcast a message.
  case send(Draft)
  /// A request to replace the text of a message.
  case edit(Revision)
  /// A request to delete a message, of this shop if one is given.
  case delete(MessageID, shop: ShopID? = nil)
  /// A request for the newest 1,000 messages.
  case all(ShopID)
  /// A request for one page of a shop's messages. If `events` is true, the client understands the
  /// members that describe edits and deletions.
  case page(ShopID, PageQuery, events: Bool = false)
  /// A request for the state of the message stream.
  case streamHealth
  /// A request that cannot be served to any user.
  case refused(ShopRefusal)

  /// The route, with its name in metrics and logs.
  public var route: ShopCallRoute {
    switch self {
    case .send: .send
    case .edit: .edit
    case .delete: .delete
    case .all: .all
    case .page: .page
    case .streamHealth: .streamHealth
    case .refused(let refusal): refusal.route
    }
  }
}

/// The routes, with their names in metrics and logs.
public enum ShopCallRoute: String, Sendable, Hashable, Codable, CaseIterable {
  case send, edit, delete, all, page, stream, unknown
  /// A request for the state of the message stream.
  case streamHealth = "stream_health"

  /// A Boolean value that indicates whether the route requires a token.
  public var isGuarded: Bool {
    switch self {
    case .send, .edit, .delete, .all, .page, .stream: true
    case .streamHealth, .unknown: false
    }
  }
}

/// A message in the form in which its author posts it.
public struct Draft: Sendable, Hashable, Codable {
  /// The shop of the message.
  public var shop: ShopID
  /// The content, whose text has 1 to 10,000 Unicode scalars.
  public var content: MessageContent
  /// The `Idempotency-Key` header field. If a user sends the same key again, it identifies the same
  /// message.
  public var key: UUID128?
  /// The ID of the message if it is new; `nil` for one that the server draws.
  public var id: MessageID?

  /// Creates a draft from its parts.
  public init(shop: ShopID, content: MessageContent, key: UUID128? = nil) {
    self.shop = shop
    self.content = content
    self.key = key
  }

  /// Returns whether a stored message can have been posted with this draft.
  func asks(for message: ShopMessage) -> Bool {
    content.canBecome(message.content, byEdit: message.changed != nil)
  }
}

/// A new text of a message, in the form in which its author sends it.
public struct Revision: Sendable, Hashable, Codable {
  /// The message to edit.
  public var id: MessageID
  /// The new text, with 1 to 10,000 Unicode scalars.
  public var text: String
  /// The `Idempotency-Key` header field. If a user sends the same key again, it identifies the same
  /// edit.
  public var key: UUID128?
  /// The shop in which the client expects the message; `nil` for any shop.
  public var shop: ShopID?

  /// Creates a revision from its parts.
  public init(id: MessageID, text: String, key: UUID128? = nil, shop: ShopID? = nil) {
    self.id = id
    self.text = text
    self.key = key
    self.shop = shop
  }
}

/// The reason why a request cannot be served, determined before any rule is applied.
public struct ShopRefusal: Error, Sendable, Hashable, Codable {
  /// The route of the request.
  public var route: ShopCallRoute
  /// The HTTP status: 400, 404, 405, 413 or 426.
  public var status: Int
  /// The reason, in one human-readable sentence.
  public var message: String
  /// The methods that the route accepts, for status 405 (RFC 9110 section 15.5.6).
  public var allow: String?

  /// Creates a refusal from its parts.
  public init(route: ShopCallRoute, status: Int, message: String, allow: String? = nil) {
    self.route = route
    self.status = status
    self.message = message
    self.allow = allow
  }
}

/// The membership of one user in one shop.
public struct Membership: Sendable, Hashable, Comparable, Codable {
  /// The shop.
  public var shop: ShopID
  /// The user, as named by the claim `sub` of the token.
  public var user: String

  /// Creates a membership.
  public init(shop: ShopID, user: String) {
    self.shop = shop
    self.user = user
  }

  /// Returns whether one membership precedes another, by shop and then by user.
  public static func < (left: Membership, right: Membership) -> Bool {
    (left.shop, left.user) < (right.shop, right.user)
  }
}
