import HoldfastCore
import HoldfastSocket

/// The failures for which a feature tries nothing again, so that no command can succeed.
struct FinalFailures: Sendable {
  /// The failure of the store.
  private(set) var store: StoreFailure?
  private var final = FinalFailure()

  /// The failure of the link; `nil` while a restart is pending.
  var link: LinkFailure? { final.current }

  /// Records a status: the failure of a link that has ended, or `nil` while the link is tried.
  mutating func note(link failure: LinkFailure?) { final.recorded = failure }

  /// Begins a restart, to which the recorded failures do not apply.
  mutating func beginRestart() {
    final.beginRestart()
    store = nil
  }

  /// Ends a restart.
  mutating func endRestart() { final.endRestart() }

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
