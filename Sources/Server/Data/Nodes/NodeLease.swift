package import HoldfastCore

/// The right of a node to use the database, as a machine without a clock.
///
/// The node renews the lease every 2 s with a commit. The database lets it end 10 s later by its own
/// clock. The node trusts it for 8 s from the moment before it sent the renewal, by the clock since
/// boot, which counts through a suspend.
package struct NodeLease: Sendable, Hashable {
  /// The time between two renewals.
  package static let interval = Duration.seconds(2)
  /// The time for which the node trusts a renewal, from before it was sent.
  package static let trust = Duration.seconds(8)
  /// The time for which the database keeps a lease.
  package static let term = Duration.seconds(10)

  /// A fact for the lease.
  package enum Input: Sendable, Hashable {
    /// The database confirmed a renewal that was sent at a time.
    case renewed(sent: Instant)
    /// A renewal failed. The lease goes on until its end.
    case failed(String)
    /// The database refused the node. The lease ends at once; it comes back when the reason is gone.
    case taken(String)
    /// The node gave the lease back.
    case left
  }

  private var trustedUntil: Instant?
  private var problem: String?
  private var ending: String?
  private var nextRenewal: Instant?

  /// Creates a lease that the node does not have yet.
  package init() {}

  /// Takes an input.
  package mutating func handle(_ input: Input, at now: Instant) {
    switch input {
    case .renewed(let sent):
      guard ending == nil else { return }
      trustedUntil = max(trustedUntil ?? sent, sent.advanced(by: Self.trust))
      nextRenewal = max(nextRenewal ?? sent, sent.advanced(by: Self.interval))
      problem = nil
    case .failed(let detail): problem = detail
    case .taken(let detail):
      (problem, trustedUntil) = (detail, nil)
      nextRenewal = now.advanced(by: Self.interval)
    case .left: (ending, trustedUntil) = ("The node has left the database.", nil)
    }
  }

  /// Returns whether the node may use the database.
  package func isValid(at now: Instant) -> Bool { trustedUntil.map { now < $0 } ?? false }

  /// Whether the lease will not come back.
  package var hasEnded: Bool { ending != nil }

  /// Returns the time of the next renewal; `nil` if there will be none.
  package func renewal(at now: Instant) -> Instant? {
    guard ending == nil else { return nil }
    return max(nextRenewal ?? now, now)
  }

  /// Returns why the node may not use the database; `nil` if it may.
  package func reason(at now: Instant) -> String? {
    if isValid(at: now) { return nil }
    if let ending { return ending }
    let cause = problem.map { " (\($0))" } ?? ""
    return
      "This node has no lease from the database\(cause). It tries again every 2 seconds; check "
      + "that the database accepts connections and commits."
  }
}
