public import HoldfastServerParts

/// The configuration of the MCP server.
///
/// The numbers were chosen for this package unless a source is named. Durations below 1 ms are
/// treated as 1 ms, and counts below 1 as 1.
public struct MCPPolicy: Sendable, Hashable {
  /// The hosts and web pages that the server admits.
  public var originPolicy = OriginPolicy()
  /// The address under which clients reach the server; `nil` if they do not sign in with OAuth.
  public var publicURL: PublicURL?

  /// The maximum number of sessions, and separately of conversations of the plain endpoints.
  public var maxSessions = 4_096
  /// The time after which an unused session is removed: the lifetime of a token (contract 1.7).
  public var idle = Duration.seconds(7_200)
  /// The maximum number of calls that wait for the relay. Further calls are refused.
  public var maxCalls = 1_024
  /// The maximum number of pending calls of one session. Further calls are refused.
  public var callsPerSession = 16
  /// The maximum number of sign-ins on the page that clients were asked for. Beyond it, the oldest
  /// one that was not completed ends.
  public var maxElicitations = 1_024
  /// The minimum average time between two sign-ins that clients of one address are asked for. In
  /// between, they are asked to log in with a tool.
  public var elicitationInterval = Duration.seconds(10)
  /// The number of such sign-ins of one address in quick succession after a pause.
  public var elicitationBurst = 20
  /// The time in which a person can sign in on the page. It equals the lifetime of a pairing code.
  public var elicitationLife = Duration.seconds(600)
  /// The `Retry-After` value of a response to a request that exceeds a bound.
  public var busyRetry = Duration.seconds(2)

  /// The interval of progress events on a slow call, for clients that request progress.
  public var progressInterval = Duration.seconds(5)
  /// The interval of comments on a silent stream: half of the idle time that proxies commonly
  /// allow.
  public var commentInterval = Duration.seconds(15)
  /// The time limit of a call that its progress events state. The relay enforces it (contract
  /// 1.9.5).
  public var callLimit = Duration.seconds(45)
  /// The maximum size of an event, in bytes. The Python SDK 2.3 reads no event above 1 MiB.
  public var maxEventBytes = 1_000_000
  /// The maximum total size of the responses to one batch, in bytes.
  ///
  /// The responses are held until the last one is complete. The limit is the maximum size of a
  /// phone's answer.
  public var maxBatchBytes = 8 << 20

  /// Creates a policy with the default values.
  public init() {}
}

extension MCPPolicy: ServerPolicy {
  package static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.idle, \.progressInterval, \.commentInterval, \.elicitationLife, \.elicitationInterval,
    ]
  }

  package static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.maxSessions, \.maxCalls, \.callsPerSession, \.maxElicitations, \.elicitationBurst,
    ]
  }
}
