import HoldfastCore

/// A route of the server, identified by its path.
package enum ShopRoute: Sendable, Hashable {
  /// `POST /api/v1/auth/shops/messages` sends a message, and `PUT` edits one.
  case send
  /// `DELETE /api/v1/auth/shops/messages/{message_id}`
  case message(MessageID)
  /// `GET /api/v1/auth/shops/{shop_id}/messages`
  case all(ShopID)
  /// `GET /api/v1/auth/shops/{shop_id}/messages/paginated`
  case paginated(ShopID)
  /// `GET /api/v1/auth/shops/{shop_id}/messages/stream`, the WebSocket upgrade
  case stream(ShopID)
  /// `GET /api/v1/health/websocket`
  case streamHealth

  /// Creates the route of a percent-decoded path without its query. Returns `nil` for any other
  /// path.
  ///
  /// The match is exact. It is case-sensitive, and allows no empty segments, dot segments or
  /// trailing slash.
  package init?(path: String) {
    // Splitting bytes is faster than splitting characters.
    let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map(Substring.init)
    switch segments.count {
    case 5 where path == Self.streamHealth.path: self = .streamHealth
    case 6 where path == Self.send.path: self = .send
    case 7, 8:
      guard path.hasPrefix(Self.base) else { return nil }
      if segments.count == 7, segments[5] == "messages", let id = MessageID(segments[6]) {
        self = .message(id)
        return
      }
      guard segments[6] == "messages", let shop = ShopID(segments[5]) else { return nil }
      guard segments.count == 8 else { self = .all(shop); return }
      switch segments[7] {
      case "paginated": self = .paginated(shop)
      case "stream": self = .stream(shop)
      case _: return nil
      }
    case _: return nil
    }
  }

  /// The path. Shop ids need no percent-encoding.
  package var path: String {
    switch self {
    case .send: "\(Self.base)messages"
    case .message(let id): "\(Self.base)messages/\(id)"
    case .all(let shop): "\(Self.base)\(shop)/messages"
    case .paginated(let shop): "\(Self.base)\(shop)/messages/paginated"
    case .stream(let shop): "\(Self.base)\(shop)/messages/stream"
    case .streamHealth: "/api/v1/health/websocket"
    }
  }

  private static let base = "/api/v1/auth/shops/"
}

/// A route of the server's images, identified by its path.
package enum ImageRoute: Sendable, Hashable {
  /// `POST /api/v1/auth/shops/messages/image/upload`, and the requests about resumable uploads
  case upload
  /// `GET` and `DELETE /api/v1/auth/shops/messages/image/{image_id}`
  case image(MessageID)

  /// Creates the route of a percent-decoded path without its query. Returns `nil` for any other
  /// path.
  package init?(path: String) {
    guard path.hasPrefix(Self.base) else { return nil }
    let name = path.dropFirst(Self.base.count)
    guard name != "upload" else { self = .upload; return }
    guard let id = MessageID(name) else { return nil }
    self = .image(id)
  }

  /// The path.
  package var path: String {
    switch self {
    case .upload: "\(Self.base)upload"
    case .image(let id): "\(Self.base)\(id)"
    }
  }

  /// The beginning of the paths.
  static let base = "/api/v1/auth/shops/messages/image/"
}
