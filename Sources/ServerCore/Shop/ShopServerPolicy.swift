import LinkCore
public import LinkWire

/// Every number and switch of the shop server.
///
/// Defaults: the seed's five sockets a user, ping 54 s and pong wait 60 s (contract 2.2); the rest
/// is ours, chosen so that a small machine stays responsive at every bound. A server takes times
/// below 1 ms as 1 ms and counts below 1 as 1.
public struct ShopServerPolicy: Sendable, Hashable {
  /// How the server presents itself.
  public enum Dialect: Sendable, Hashable {
    /// Positions, heads, idempotency keys, `since` oldest first.
    case positions
    /// A 001 server without them: `since` newest first, no `username` in REST answers.
    case plain
  }

  /// Positions, unless a plain server is to be played.
  public var dialect = Dialect.positions
  /// False makes every upgrade answer 503, as a server with the stream switched off does.
  public var offersStream = true
  /// Bounds of one message: 10,000 characters, 10,240 bytes as a frame.
  public var limits = MessageLimits()

  /// Messages that an upgrade may ask to be sent first; who missed more is sent none of them and
  /// asks for pages (one of which holds as many).
  public var backlogLimit = 100
  /// Bytes of their frames together; half of what may wait for a slow reader.
  public var maxBacklogBytes = 131_072

  /// Sockets one user may hold at once; the next is refused with 429.
  public var socketsPerUser = 5
  /// Sockets in total, waiting ones included; the next is refused with 503.
  public var maxConnections = 10_000
  /// Requests that wait for the store at once; the next is answered 503.
  public var maxRequests = 1_024
  /// Posts of one shop that wait for the store at once; the next is answered 503.
  public var maxPostsPerShop = 256
  /// Bytes of their frames that go to the store together, at least one post; a quarter of what may
  /// wait for a slow reader, since all that share a commit are broadcast in one go.
  public var maxCommitBytes = 65_536
  /// Shops of which the head is remembered; beyond, the idle ones are forgotten.
  public var maxIdleRooms = 4_096

  /// Steady rate of posts a user: one every this long (20 a second).
  public var postInterval = Duration.milliseconds(50)
  /// Posts a user may make at once after a pause.
  public var postBurst = 40
  /// Users whose rate is watched at once; beyond, a new user is answered 429.
  public var maxWatchedUsers = 100_000

  /// How often an open socket is pinged.
  public var pingInterval = Duration.seconds(54)
  /// A socket from which no byte came for this long is dropped.
  public var pongWait = Duration.seconds(60)
  /// How long a close frame may stay unanswered before the connection is dropped.
  public var closeWait = Duration.seconds(5)

  /// Between the draining frame and the close frames.
  public var drainGrace = Duration.seconds(1)
  /// From the start of a drain to the end of waiting.
  public var drainLimit = Duration.seconds(10)

  /// `Retry-After` of a refused sixth socket.
  public var socketRetry = Duration.seconds(5)
  /// `Retry-After` when a bound was reached or the store failed.
  public var busyRetry = Duration.seconds(2)
  /// How far the clock of a token's issuer may be ahead of this server's, for `nbf`; RFC 7519
  /// section 4.1.5 allows a small leeway, since issuers set the present time.
  public var clockLeeway = Duration.seconds(5)

  /// The defaults that stand at each number.
  public init() {}

  /// The intervals of its sockets.
  var timing: SocketLife.Timing {
    SocketLife.Timing(pingInterval: pingInterval, pongWait: pongWait, closeWait: closeWait)
  }
}

extension ShopServerPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.postInterval, \.pingInterval, \.pongWait, \.closeWait, \.drainGrace, \.drainLimit,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.socketsPerUser, \.maxConnections, \.maxRequests, \.maxPostsPerShop, \.maxIdleRooms,
      \.postBurst, \.maxWatchedUsers, \.backlogLimit, \.maxBacklogBytes,
      \.maxCommitBytes,
    ]
  }
}
