import HoldfastCore
public import HoldfastMessageData
import HoldfastServerParts

/// The configuration of the shop server.
///
/// The requirements (contract 2.2) define five sockets for each user, a ping interval of 54 s and a
/// pong wait of 60 s. All other numbers were chosen so that a small machine stays responsive at
/// every bound. Durations below 1 ms are treated as 1 ms, and counts below 1 as 1.
public struct ShopServerPolicy: Sendable, Hashable {
  /// The protocol variant that the server uses.
  public enum Dialect: Sendable, Hashable {
    /// The protocol with positions, heads and idempotency keys. `since` returns the oldest messages
    /// first.
    case positions
    /// The protocol of requirements 001 without these. `since` returns the newest messages first,
    /// and REST responses have no `username`.
    case plain
  }

  /// The protocol variant. It is `positions` unless the server imitates a plain server.
  public var dialect = Dialect.positions
  /// Whether the stream is enabled. If false, every upgrade is answered with 503.
  public var offersStream = true
  /// The limits of one message: 10,000 characters, and 10,240 bytes as a frame.
  public var limits = MessageLimits()

  /// The maximum number of backlog messages that an upgrade may request.
  ///
  /// A client that missed more messages receives no backlog. It fetches pages, each of which holds
  /// the same number of messages.
  public var backlogLimit = 100
  /// The maximum total size of a backlog's frames, in bytes. It is half of the bound for a slow
  /// reader.
  public var maxBacklogBytes = 131_072

  /// The maximum number of sockets of one user. Further sockets are refused with 429.
  public var socketsPerUser = 5
  /// The maximum number of sockets, including waiting ones. Further sockets are refused with 503.
  public var maxConnections = 10_000
  /// The maximum number of requests that wait for the store. Further requests are refused with 503.
  public var maxRequests = 1_024
  /// The maximum number of posts of one shop that wait for the store. Further posts are refused
  /// with 503.
  public var maxPostsPerShop = 256
  /// The maximum total size of the frames in one commit, in bytes. A commit contains at least one
  /// post.
  ///
  /// It is a quarter of the bound for a slow reader, because all messages of a commit are broadcast
  /// together.
  public var maxCommitBytes = 65_536
  /// The maximum number of shops whose head is cached. Beyond it, idle shops are removed.
  public var maxIdleRooms = 4_096

  /// The time after its creation during which a message may be edited, or `nil` for no limit.
  public var editWindow: Duration?
  /// The time after an edit or a deletion until the store removes the old text from its files.
  ///
  /// Edits and deletions in the meantime share one removal. Together with the removal itself it
  /// must stay below 5 s, after which no file contains the text.
  public var forgetDelay = Duration.seconds(3)
  /// The time after which the removal of texts or images is tried again if it failed. It doubles
  /// with each further failure.
  public var forgetRetry = Duration.milliseconds(500)
  /// The maximum of that time. A removal that waits for another program blocks the store for up to
  /// its busy time-out of 2 s, so at this maximum it takes at most 1/30 of the store's time.
  public var forgetRetryLimit = Duration.seconds(60)

  /// The minimum average time between two posts, edits or deletions of one user (20 per second).
  public var postInterval = Duration.milliseconds(50)
  /// The number of these that a user may send in quick succession after a pause.
  public var postBurst = 40
  /// The maximum number of users whose rate is tracked. Beyond it, further users are refused with
  /// 429.
  public var maxWatchedUsers = 100_000

  /// Whether other nodes write the same log. The heads of rooms are then compared with the log.
  public var sharesLog = false
  /// The time between two comparisons of heads with the log. A report that was lost is made good
  /// after at most this time. A comparison of 10,000 rooms takes the database about 20 ms, so at
  /// this interval 0.5 % of a core.
  public var headCheck = Duration.seconds(5)
  /// The time between two comparisons while no reports of other nodes arrive.
  public var headCheckAlone = Duration.seconds(1)
  /// The time without a lease after which a node closes its sockets. A failover of the database
  /// takes a few seconds, and clients that reconnect meanwhile gain nothing.
  public var cutOffGrace = Duration.seconds(30)

  /// The time between two pings to an open socket.
  public var pingInterval = Duration.seconds(54)
  /// The time without any received byte after which a socket is dropped.
  public var pongWait = Duration.seconds(60)
  /// The time limit for the answer to a close frame, after which the connection is dropped.
  public var closeWait = Duration.seconds(5)

  /// The time between the draining frame and the close frames.
  public var drainGrace = Duration.seconds(1)
  /// The time limit of a drain.
  public var drainLimit = Duration.seconds(10)

  /// The `Retry-After` value of the refusal of a socket beyond `socketsPerUser`.
  public var socketRetry = Duration.seconds(5)
  /// The `Retry-After` value of a refusal because a bound was reached or the store failed.
  public var busyRetry = Duration.seconds(2)
  /// The tolerance for `nbf` if the clock of a token's issuer is ahead of the server's clock.
  ///
  /// RFC 7519 section 4.1.5 allows a small leeway. Issuers often set `nbf` to the current time.
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
      \.postInterval, \.forgetDelay, \.forgetRetry, \.forgetRetryLimit, \.pingInterval,
      \.pongWait, \.closeWait, \.drainGrace, \.drainLimit, \.headCheck, \.headCheckAlone,
      \.cutOffGrace,
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
