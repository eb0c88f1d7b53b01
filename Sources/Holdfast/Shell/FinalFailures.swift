import HoldfastCore

/// The failures for which a feature tries nothing again, so that no command can succeed.
struct FinalFailures: Sendable {
  /// The failure of the link.
  private(set) var link: LinkFailure?
  /// The failure of the store.
  private(set) var store: StoreFailure?

  /// Records a status: the failure of a link that has ended, or `nil` while the link is tried.
  mutating func note(link failure: LinkFailure?) { link = failure }

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
