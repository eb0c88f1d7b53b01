/// A machine with several timers, which are the cases of one enumeration.
///
/// Each deadline follows from the machine's state, so no timer is started or stopped, and none can be
/// forgotten in one of two lists.
package protocol TimedMachine: Machine {
  /// The timers, in the order in which those of the same time expire.
  associatedtype Timer: CaseIterable & Sendable
  /// The time and the effects of one call.
  associatedtype Step

  /// Returns the time at which a timer expires; `nil` while it does not run.
  func due(_ timer: Timer) -> Instant?

  /// Does what has to be done when a timer has expired.
  mutating func expire(_ timer: Timer, _ step: inout Step)
}

extension TimedMachine {
  /// The time at which the first timer expires; `nil` while none runs.
  @inlinable package var firstDue: Instant? {
    Timer.allCases.reduce(nil) { Instant.earlier($0, due($1)) }
  }

  /// Expires each timer whose time has come, in their order.
  @inlinable package mutating func expireTimers(at now: Instant, _ step: inout Step) {
    for timer in Timer.allCases {
      if let due = due(timer), due <= now { expire(timer, &step) }
    }
  }
}
