/// The rules that decide whether a link is alive, and the consequences if it is not.
public struct LivenessPolicy: Sendable, Hashable {
  /// The longest time without a received byte before the link counts as lost; `nil` for no limit.
  public var silence: Duration?
  /// The interval of this end's keep-alive pings; `nil` for probes only.
  public var ping: Duration?
  /// The ping interval while the link's quality is degraded; `nil` for no difference.
  ///
  /// A value has no effect if it is shorter than `ping` or not shorter than `silence`.
  public var degradedPing: Duration?
  /// The ping interval while the quality is poor; `nil` for the interval of degraded quality.
  public var poorPing: Duration?
  /// The shortest time-out of a pong. Any received byte counts as a response.
  public var pongTimeout: Duration
  /// The number of smoothed round trips (RFC 6298) that a pong may take if they last longer than
  /// `pongTimeout`. This keeps a slow link from being ended.
  public var pongRoundTrips: Int
  /// The number of unanswered pings in a row that ends the link.
  ///
  /// The time-out of each ping is one `pongTimeout` longer than that of the previous one, up to
  /// `pongRoundTrips` times `pongTimeout`. This keeps a slow link from being ended too early.
  public var pongTries: Int
  /// The rule that ends a link without valid data; `nil` for none.
  public var idle: IdleRule?

  public init(
    silence: Duration?, ping: Duration?, degradedPing: Duration? = nil, poorPing: Duration? = nil,
    pongTimeout: Duration, pongRoundTrips: Int, pongTries: Int = 1, idle: IdleRule? = nil
  ) {
    self.silence = silence
    self.ping = ping
    self.degradedPing = degradedPing
    self.poorPing = poorPing
    self.pongTimeout = pongTimeout
    self.pongRoundTrips = pongRoundTrips
    self.pongTries = pongTries
    self.idle = idle
  }

  /// Returns the interval of pings for a quality.
  func ping(in quality: LinkQuality) -> Duration? {
    let slower: Duration? =
      switch quality {
      case .good: nil
      case .degraded: degradedPing
      case .poor: poorPing ?? degradedPing
      }
    guard let ping, let slower, slower > ping, silence.map({ slower < $0 }) ?? true else {
      return ping
    }
    return slower
  }

  /// Returns the time-out of a pong.
  ///
  /// - Parameters:
  ///   - missed: The number of unanswered pings in a row before this one.
  ///   - roundTrip: The expected response time; `nil` if unknown.
  func pongTimeout(missed: Int, roundTrip: Duration?) -> Duration {
    let longest = pongTimeout * pongRoundTrips
    let usual = max(pongTimeout, (roundTrip ?? .zero) * pongRoundTrips)
    // A slow response in the past, for example in a tunnel, must not hide a dead link for minutes.
    return min(usual + pongTimeout * missed, longest)
  }
}

/// A rule that closes a link after a time without valid data.
public struct IdleRule: Sendable, Hashable {
  /// The longest time without valid data. It must be more than zero.
  public var after: Duration
  /// The state of the link afterwards.
  public var then: Then

  /// The state of a link after it was idle.
  public enum Then: String, Sendable, Hashable, CaseIterable {
    case idle
    case standby
  }

  public init(after: Duration, then: Then) {
    self.after = after
    self.then = then
  }
}
