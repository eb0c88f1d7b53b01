/// What proves life, and what its absence means.
public struct LivenessPolicy: Sendable, Hashable {
  /// Without a byte for this long the link is dead; `nil` for no such rule.
  public var silence: Duration?
  /// Our own ping goes out after this long without one; `nil` for none but probes.
  public var ping: Duration?
  /// The least time a pong may take; any byte counts as an answer.
  public var pongTimeout: Duration
  /// A pong may take so many round trips (smoothed, RFC 6298) if that is longer: slow is not dead.
  public var pongRoundTrips: Int
  /// Ends a link without valid data for a while; `nil` for none.
  public var idle: IdleRule?

  public init(
    silence: Duration?, ping: Duration?, pongTimeout: Duration, pongRoundTrips: Int,
    idle: IdleRule? = nil
  ) {
    self.silence = silence
    self.ping = ping
    self.pongTimeout = pongTimeout
    self.pongRoundTrips = pongRoundTrips
    self.idle = idle
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
