public import LinkWire

/// What a REST request asks for, read and checked as far as its text alone allows.
public enum Call: Sendable, Hashable, Codable {
  case send(Draft)
  case all(ShopID)
  case page(ShopID, PageQuery)
  case health
  case streamHealth
  case metrics
  /// Cannot be served, whoever asks.
  case refused(Refusal)

  /// The route, as metrics and logs name it.
  public var route: Route {
    switch self {
    case .send: .send
    case .all: .all
    case .page: .page
    case .health: .health
    case .streamHealth: .streamHealth
    case .metrics: .metrics
    case .refused(let refusal): refusal.route
    }
  }
}

/// The routes, by the names that metrics and logs use.
public enum Route: String, Sendable, Hashable, Codable, CaseIterable {
  case send, all, page, stream, health, metrics, unknown
  case streamHealth = "stream_health"

  /// Whether a token is needed before anything is said about the request.
  public var isGuarded: Bool {
    switch self {
    case .send, .all, .page, .stream: true
    case .health, .streamHealth, .metrics, .unknown: false
    }
  }
}

/// A message as its author posted it.
public struct Draft: Sendable, Hashable, Codable {
  public var shop: ShopID
  public var text: String
  public var parent: MessageID?
  /// The `Idempotency-Key` header; the same key of the same user names the same message.
  public var key: UUID128?

  public init(shop: ShopID, text: String, parent: MessageID? = nil, key: UUID128? = nil) {
    self.shop = shop
    self.text = text
    self.parent = parent
    self.key = key
  }
}

/// Why a request cannot be served, found before any rule was asked.
public struct Refusal: Error, Sendable, Hashable, Codable {
  public var route: Route
  public var status: Int
  public var message: String
  /// The methods that the route knows; stated with 405 (RFC 9110 section 15.5.6).
  public var allow: String?

  public init(route: Route, status: Int, message: String, allow: String? = nil) {
    self.route = route
    self.status = status
    self.message = message
    self.allow = allow
  }
}

/// What the process found in place of a token; the signature is checked there, the rest here.
public enum Credential: Sendable, Hashable, Codable {
  case missing
  /// Unreadable, of a foreign algorithm, or wrongly signed. The reason never quotes the token.
  case invalid(reason: String)
  /// Signed by us. Whether it is still valid, and for what, is decided by the rules.
  case valid(Claims)
}

/// One user's place in one shop.
public struct Membership: Sendable, Hashable, Comparable, Codable {
  public var shop: ShopID
  public var user: String

  public init(shop: ShopID, user: String) {
    self.shop = shop
    self.user = user
  }

  public static func < (left: Membership, right: Membership) -> Bool {
    (left.shop, left.user) < (right.shop, right.user)
  }
}
