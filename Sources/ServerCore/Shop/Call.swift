public import LinkCore
public import LinkWire

/// What a REST request asks for, read and checked as far as its text alone allows.
public enum Call: Sendable, Hashable, Codable {
  /// Store a message and tell everybody.
  case send(Draft)
  /// The newest 1,000 messages.
  case all(ShopID)
  /// One page of a shop.
  case page(ShopID, PageQuery)
  /// How the stream is.
  case streamHealth
  /// Cannot be served to any user.
  case refused(ShopRefusal)

  /// The route, as metrics and logs name it.
  public var route: ShopCallRoute {
    switch self {
    case .send: .send
    case .all: .all
    case .page: .page
    case .streamHealth: .streamHealth
    case .refused(let refusal): refusal.route
    }
  }
}

/// The routes, by the names that metrics and logs use.
public enum ShopCallRoute: String, Sendable, Hashable, Codable, CaseIterable {
  case send, all, page, stream, unknown
  /// How the stream is.
  case streamHealth = "stream_health"

  /// Whether a token is needed before anything is said about the request.
  public var isGuarded: Bool {
    switch self {
    case .send, .all, .page, .stream: true
    case .streamHealth, .unknown: false
    }
  }
}

/// A message as its author posted it.
public struct Draft: Sendable, Hashable, Codable {
  /// The shop it is about.
  public var shop: ShopID
  /// 1 to 10,000 Unicode scalars.
  public var text: String
  /// The message it answers.
  public var parent: MessageID?
  /// The `Idempotency-Key` header; the same key of the same user names the same message.
  public var key: UUID128?

  /// A post from its parts.
  public init(shop: ShopID, text: String, parent: MessageID? = nil, key: UUID128? = nil) {
    self.shop = shop
    self.text = text
    self.parent = parent
    self.key = key
  }

  /// Returns whether a stored message is what this post asks for.
  func asks(for message: Message) -> Bool {
    message.text == text && message.parent == parent
  }
}

/// Why a request cannot be served, found before any rule was asked.
public struct ShopRefusal: Error, Sendable, Hashable, Codable {
  /// Where the request went.
  public var route: ShopCallRoute
  /// 400, 404, 405, 413 or 426.
  public var status: Int
  /// Why, in a sentence for people.
  public var message: String
  /// The methods that the route knows; stated with 405 (RFC 9110 section 15.5.6).
  public var allow: String?

  /// A refusal from its parts.
  public init(route: ShopCallRoute, status: Int, message: String, allow: String? = nil) {
    self.route = route
    self.status = status
    self.message = message
    self.allow = allow
  }
}

/// What the process found in place of a token; the signature is checked there, the rest here.
public enum Credential: Sendable, Hashable, Codable {
  /// The request carried none.
  case missing
  /// Unreadable, of a foreign algorithm, or wrongly signed. The reason never quotes the token.
  case invalid(reason: String)
  /// Signed by us. Whether it is still valid, and for what, is decided by the rules.
  case valid(Claims)
}

/// One user's place in one shop.
public struct Membership: Sendable, Hashable, Comparable, Codable {
  /// The shop it is about.
  public var shop: ShopID
  /// The user, as `sub` of the token names it.
  public var user: String

  /// The place of a user in a shop.
  public init(shop: ShopID, user: String) {
    self.shop = shop
    self.user = user
  }

  /// Orders by shop, then by user.
  public static func < (left: Membership, right: Membership) -> Bool {
    (left.shop, left.user) < (right.shop, right.user)
  }
}
