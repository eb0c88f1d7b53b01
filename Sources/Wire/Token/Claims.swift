public import LinkCore

/// What a token says about its bearer.
public struct Claims: Sendable, Hashable {
  /// `sub`.
  public var user: String
  /// `name`; empty when the token has none.
  public var name: String
  public var shops: [ShopID]
  /// `exp`.
  public var expiresAt: Timestamp

  public init(user: String, name: String, shops: [ShopID], expiresAt: Timestamp) {
    self.user = user
    self.name = name
    self.shops = shops
    self.expiresAt = expiresAt
  }

  public static func decode(json payload: [UInt8]) throws(MessageError) -> Claims {
    throw .malformed(detail: "")
  }

  public func encode() -> [UInt8] { [] }
}
