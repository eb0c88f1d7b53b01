package import HoldfastCore

/// The failure with which a link has ended, so that no retry can cure it.
///
/// While a restart is pending, failures are only recorded: a failure can belong to a status that the
/// machine reported before it received the restart.
package struct FinalFailure: Sendable {
  /// The failure that was recorded last; `nil` while the link works or is retried.
  package var recorded: LinkFailure?
  /// The number of restarts that the machine has not processed yet.
  private var restarts = 0

  /// Creates the value of a link that has not ended.
  package init() {}

  /// The failure that applies; `nil` if there is none, or while a restart is pending.
  package var current: LinkFailure? { restarts > 0 ? nil : recorded }

  /// Begins a restart of the link.
  package mutating func beginRestart() { restarts += 1 }

  /// Ends a restart, which the machine has processed. The failure that was recorded last applies
  /// again.
  package mutating func endRestart() { restarts -= 1 }
}
