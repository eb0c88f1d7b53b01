public import Foundation
public import HoldfastCore
public import HoldfastMessageData
import HoldfastSocket

/// The configuration of a shop's stream.
public struct StreamConfiguration: Sendable {
  /// The URL of the server: `https://host[:port]`, or `http://` for the loopback interface. A path
  /// is used as a prefix.
  public var server: String
  /// The shop whose messages are streamed.
  public var shop: ShopID
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The place of the token in requests.
  public var authentication: Authentication
  /// Whether the stream uses a socket. If it is false, the stream only polls.
  public var realtime: Bool
  /// Whether the stream only sends messages.
  ///
  /// If it is true, the stream fetches no messages, and makes one request for each message that it
  /// sends.
  public var sendsOnly = false
  /// Whether `http://` may be used for a server on another device. Everyone on the network path can
  /// then read the messages and the token.
  ///
  /// A network that the app supplies must allow it too.
  public var allowsPlaintext = false
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  ///
  /// The journal contains messages, but never tokens. Earlier journals at this path are kept as
  /// FILE.old1, FILE.old2, and so on.
  public var journal: String?

  /// The place of the token in a request.
  ///
  /// A shop's server reads no greeting, so the token is part of each request.
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// The header `Authorization: Bearer …`.
    case header
    /// The query `?token=…`, for libraries and proxies that drop the header.
    case query

    var placement: TokenPlacement {
      switch self {
      case .header: .header
      case .query: .query
      }
    }
  }

  /// Creates a configuration. The default policy is `messageStream`.
  public init(
    server: String, shop: ShopID, policy: LinkPolicy = .messageStream,
    authentication: Authentication = .header, realtime: Bool = true, journal: String? = nil
  ) {
    self.server = server
    self.shop = shop
    self.policy = policy
    self.authentication = authentication
    self.realtime = realtime
    self.journal = journal
  }

  /// Creates a configuration with the URL of a server.
  public init(
    server: URL, shop: ShopID, policy: LinkPolicy = .messageStream,
    authentication: Authentication = .header, realtime: Bool = true, journal: String? = nil
  ) {
    self.init(
      server: server.absoluteString, shop: shop, policy: policy, authentication: authentication,
      realtime: realtime, journal: journal)
  }

  func url(_ route: ShopRoute) -> String { ServerURL.http(server, route.path) }

  func socketURL(_ route: ShopRoute) -> String { ServerURL.socket(server, route.path) }
}
