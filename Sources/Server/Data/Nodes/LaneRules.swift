package import HoldfastCore

/// The attempts of one lane of a node to use the database, as a machine without a clock.
///
/// The first act on a connection is a commit of the lease, and then a look for the newest transaction
/// of the lane: a server that lacks it has lost commits. A transaction whose answer did not arrive
/// has an unknown outcome, which the next attempt looks up by its number.
package struct LaneRules: Sendable, Hashable {
  /// The waits between attempts. The first repeat follows soon, since a server that restarts is often
  /// back at once. With the last, a failover of some seconds is noticed without a noticeable delay.
  private static let pauses = Schedule.doubling(from: .milliseconds(50), to: .milliseconds(400))

  /// The newest attempt that was committed for certain; 0 for none.
  package private(set) var committed: Int64 = 0
  /// The newest attempt to begin a new epoch; 0 for none.
  private var epochAttempt: Int64 = 0
  /// The number of the first attempt of the present job.
  private var first: Int64 = 0
  /// The time at which the job is given up.
  private var end = Instant.zero
  /// The number of failed attempts of the job.
  private var failures = 0
  /// Whether an attempt of the job may have been committed.
  package private(set) var isUnknown = false

  /// Creates the rules of a lane without a job.
  package init() {}

  /// Begins a job.
  ///
  /// - Parameters:
  ///   - attempts: The number of the node's newest attempt.
  ///   - end: The time at which the job is given up.
  package mutating func begin(after attempts: Int64, until end: Instant) {
    (first, failures, isUnknown) = (attempts + 1, 0, false)
    self.end = end
  }

  /// Returns whether the job goes on. Without a lease, only the outcome of what was sent is worth
  /// waiting for.
  package func goesOn(hasLease: Bool) -> Bool { isUnknown || hasLease }

  /// The lowest number of an attempt that may have been committed, if the outcome must be looked up.
  package var lookedUp: Int64? { isUnknown ? max(first, epochAttempt + 1) : nil }

  /// Records that an attempt was committed.
  package mutating func commit(_ number: Int64) { committed = number }

  /// Records that the connection ended during the job itself.
  package mutating func breakOff(isEndOfLease: Bool) {
    // The server checks the lease before it begins.
    if !isEndOfLease { isUnknown = true }
  }

  /// Returns the wait before the next attempt; `nil` if the time is over.
  package mutating func pause(at now: Instant) -> Duration? {
    guard now < end else { return nil }
    failures += 1
    return min(Self.pauses.wait(after: failures), now.duration(to: end))
  }

  // MARK: - Lost commits

  /// Whether a new connection must be asked for the newest transaction of the lane.
  package var mustCompare: Bool { committed > 0 }

  /// Returns whether an epoch must begin, because a server lacks a transaction that was committed.
  ///
  /// - Parameters:
  ///   - found: The number of the newest transaction of the lane that the server has.
  ///   - hasEpoch: Whether the tables of the lane have an epoch. Otherwise nothing is to be done.
  package mutating func compare(with found: Int64, hasEpoch: Bool) -> Bool {
    guard found < committed else { return false }
    if !hasEpoch { committed = 0 }
    return hasEpoch
  }

  /// Records the number of an attempt to begin an epoch.
  package mutating func beginEpoch(_ number: Int64) { epochAttempt = number }
}

extension NodeLease {
  /// Returns whether a node may take the role of a node without a lease. After a change of the server
  /// another clock decides which leases have ended, and the nodes have to renew them first.
  package static func allowsRole(afterChange changed: Instant?, at now: Instant) -> Bool {
    changed.map { $0.duration(to: now) > term } ?? true
  }
}
