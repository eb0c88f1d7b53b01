import HoldfastCore

/// The failures for which a feature tries nothing again, so that no command can succeed.
struct FinalFailures: Sendable {
  /// The failure of the link; `nil` while a restart is pending.
  var link: LinkFailure? { restarts > 0 ? nil : recorded }
  /// The failure of the store.
  private(set) var store: StoreFailure?
  /// The failure of the link that was recorded last.
  private var recorded: LinkFailure?
  /// The number of restarts that the machine has not processed yet.
  private var restarts = 0

  /// Records a status: the failure of a link that has ended, or `nil` while the link is tried.
  mutating func note(link failure: LinkFailure?) { recorded = failure }

  /// Begins a restart, to which the recorded failures do not apply, as in an `UpdateChannel`.
  mutating func beginRestart() { (restarts, store) = (restarts + 1, nil) }

  /// Ends a restart. The failure of the link that was recorded last applies again.
  mutating func endRestart() { restarts -= 1 }

  /// Records a failure of the store, unless storing is retried.
  mutating func note(store failure: StoreFailure) {
    switch failure {
    case .corrupt, .fromTheFuture: store = failure
    case .locked, .full, .denied, .other: break
    }
  }

  /// Records that the store works again.
  mutating func noteStoreRecovered() { store = nil }
}
