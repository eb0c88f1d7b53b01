/// What proves life, and what its absence means.
public struct LivenessPolicy: Sendable, Hashable {
  /// Without a byte for this long the link is dead; `nil` for no such rule.
  public var silence: Duration?
  /// Our own ping goes out after this long without one; `nil` for none but probes.
  public var ping: Duration?
  /// The same while the link's quality is degraded; `nil` for no difference. What is shorter than
  /// `ping`, or not shorter than `silence`, makes no difference either.
  public var degradedPing: Duration?
  /// The same while it is poor; `nil` for that of a degraded one.
  public var poorPing: Duration?
  /// The least time a pong may take; any byte counts as an answer.
  public var pongTimeout: Duration
  /// A pong may take so many round trips (smoothed, RFC 6298) if that is longer: slow is not dead.
  public var pongRoundTrips: Int
  /// This many pings in a row without an answer end the link. Each has one `pongTimeout` more than
  /// the one before, at most `pongRoundTrips` of them: a link is slow before it counts as dead.
  public var pongTries: Int
  /// Ends a link without valid data for a while; `nil` for none.
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

  /// The time between pings.
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

  /// How long a pong may take.
  ///
  /// - Parameters:
  ///   - missed: pings before it that were not answered in time.
  ///   - roundTrip: what an answer is expected to take; `nil` if that is not known.
  func pongTimeout(missed: Int, roundTrip: Duration?) -> Duration {
    let longest = pongTimeout * pongRoundTrips
    let usual = max(pongTimeout, (roundTrip ?? .zero) * pongRoundTrips)
    // What once took long, as through a tunnel, may not hide a dead link for minutes.
    return min(usual + pongTimeout * missed, longest)
  }
}

/// After `after` without valid data the link is closed.
public struct IdleRule: Sendable, Hashable {
  /// The longest silence; more than zero.
  public var after: Duration
  /// Where the link goes then.
  public var then: Then

  /// Where an idle link goes.
  public enum Then: String, Sendable, Hashable, CaseIterable {
    case idle
    case standby
  }

  public init(after: Duration, then: Then) {
    self.after = after
    self.then = then
  }
}
