public import HoldfastSocket
public import LinkCore
public import LinkWire

/// The options of one shop's stream.
public struct StreamConfiguration: Sendable {
  /// `https://host[:port]`, or `http://` to loopback; a path is kept as a prefix.
  public var server: String
  /// The shop whose messages are wanted.
  public var shop: ShopID
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The place of the token in requests.
  public var authentication: Authentication
  /// Whether to use the socket, or polling alone.
  public var realtime: Bool
  /// Whether the stream only sends: it fetches no messages, and needs one request for each message
  /// to send.
  public var sendsOnly = false
  /// A file that records every decision for `holdfast replay`; `nil` for none. It holds messages,
  /// never tokens. An earlier journal there is kept as FILE.old1, and so on.
  public var journal: String?

  /// The place of the token in a request.
  public typealias Authentication = TokenPlacement

  /// A configuration; by default with the policy of seed 001.
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

  func url(_ route: ShopRoute) -> String { ServerURL.http(server, route.path) }

  func socketURL(_ route: ShopRoute) -> String { ServerURL.socket(server, route.path) }
}
