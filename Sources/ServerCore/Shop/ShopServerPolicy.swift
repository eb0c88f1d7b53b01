import LinkCore
public import LinkWire

/// The configuration of the shop server.
///
/// The requirements (contract 2.2) define five sockets for each user, a ping interval of 54 s and a
/// pong wait of 60 s. All other numbers were chosen so that a small machine stays responsive at
/// every bound. A server treats durations below 1 ms as 1 ms, and counts below 1 as 1.
public struct ShopServerPolicy: Sendable, Hashable {
  /// The protocol variant that the server uses.
  public enum Dialect: Sendable, Hashable {
    /// Positions, heads and idempotency keys; `since` returns the oldest messages first.
    case positions
    /// A 001 server without these: `since` is newest first, and REST responses have no `username`.
    case plain
  }

  /// The protocol variant; `positions` unless the server imitates a plain one.
  public var dialect = Dialect.positions
  /// Whether the stream is enabled. If false, every upgrade is answered with 503.
  public var offersStream = true
  /// The bounds of one message: 10,000 characters, and 10,240 bytes as a frame.
  public var limits = MessageLimits()

  /// The maximum number of backlog messages that an upgrade may request.
  ///
  /// A client that missed more receives none of them and fetches pages, one of which holds as many.
  public var backlogLimit = 100
  /// The maximum size of a backlog's frames in bytes; half of the bound for a slow reader.
  public var maxBacklogBytes = 131_072

  /// The maximum number of sockets of one user; the next is refused with 429.
  public var socketsPerUser = 5
  /// The maximum number of sockets, including waiting ones; the next is refused with 503.
  public var maxConnections = 10_000
  /// The maximum number of requests that wait for the store; the next is answered with 503.
  public var maxRequests = 1_024
  /// The maximum number of posts of one shop that wait for the store; the next gets a 503.
  public var maxPostsPerShop = 256
  /// The maximum size of the frames that are stored together, in bytes, but at least one post.
  ///
  /// It is a quarter of the bound for a slow reader, since all messages of a commit are broadcast
  /// at once.
  public var maxCommitBytes = 65_536
  /// The maximum number of shops whose head is cached; beyond it, idle shops are removed.
  public var maxIdleRooms = 4_096

  /// The minimum average time between two posts of one user (20 posts per second).
  public var postInterval = Duration.milliseconds(50)
  /// The number of posts that a user may send at once after a pause.
  public var postBurst = 40
  /// The maximum number of users whose rate is tracked; beyond it, a new user is answered with 429.
  public var maxWatchedUsers = 100_000

  /// The time between two pings to an open socket.
  public var pingInterval = Duration.seconds(54)
  /// The time without any received byte after which a socket is dropped.
  public var pongWait = Duration.seconds(60)
  /// The time that a close frame may stay unanswered before the connection is dropped.
  public var closeWait = Duration.seconds(5)

  /// The time between the draining frame and the close frames.
  public var drainGrace = Duration.seconds(1)
  /// The time limit of a drain.
  public var drainLimit = Duration.seconds(10)

  /// The `Retry-After` value for a socket beyond `socketsPerUser`.
  public var socketRetry = Duration.seconds(5)
  /// The `Retry-After` value after a bound was reached or the store failed.
  public var busyRetry = Duration.seconds(2)
  /// The tolerance for `nbf` if the clock of a token's issuer is ahead of the server's.
  ///
  /// RFC 7519 section 4.1.5 allows a small leeway, since issuers set the current time.
  public var clockLeeway = Duration.seconds(5)

  /// Creates a policy with the default values.
  public init() {}

  /// The intervals of the server's sockets.
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
