/// Every number and switch of the assistants' side.
///
/// The numbers are ours unless a source is named; times below 1 ms count as 1 ms, counts below 1
/// as 1.
public struct MCPPolicy: Sendable, Hashable {
  /// Which hosts and web pages are let in.
  public var originPolicy = OriginPolicy()

  /// Sessions, and conversations of the plain endpoints, at once; each.
  public var maxSessions = 4_096
  /// A session that nobody used for this long is forgotten: a token's life (contract 1.7).
  public var idle = Duration.seconds(7_200)
  /// Calls that wait for the relay at once; one more is refused.
  public var maxCalls = 1_024
  /// Calls of one session that wait at once; one more is refused.
  public var callsPerSession = 16
  /// When to come again where a bound was reached.
  public var busyRetry = Duration.seconds(2)

  /// How often a slow call tells how it is, to whom asked for progress.
  public var progressInterval = Duration.seconds(5)
  /// How often a silent stream says something; half of what proxies commonly allow.
  public var commentInterval = Duration.seconds(15)
  /// What a call may take, as progress tells it; the relay ends it then (contract 1.9.5).
  public var callLimit = Duration.seconds(45)
  /// The longest event; the Python SDK 2.3 reads none above 1 MiB.
  public var maxEventBytes = 1_000_000
  /// The longest sum of the answers to one batch, which are held until the last is there; ours, the
  /// longest answer of a phone.
  public var maxBatchBytes = 8 << 20

  /// The numbers that stand at each.
  public init() {}
}

extension MCPPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.idle, \.progressInterval, \.commentInterval,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.maxSessions, \.maxCalls, \.callsPerSession,
    ]
  }
}
