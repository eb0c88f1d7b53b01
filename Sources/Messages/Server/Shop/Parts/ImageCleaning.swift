import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

/// The removals of old images from the store, and whether the store takes images.
///
/// A removal also shows whether a store that failed can be written again.
struct ImageCleaning: Sendable {
  /// The reason for the last failure of the store, or `nil` after a success.
  private(set) var failure: StoreFailure?
  /// The time of the next removal.
  private var due: Instant
  /// The removal under way, if there is one.
  private var underWay: StoreToken?

  init(at now: Instant) { due = now }

  var isUnderWay: Bool { underWay != nil }

  /// The time at which `begin` must be called; `nil` while a removal is under way.
  var deadline: Instant? { isUnderWay ? nil : due }

  /// Begins a removal if one is due. Returns false if none is.
  mutating func begin(
    at now: Instant, interval: Duration, _ number: () -> StoreToken
  ) -> StoreToken? {
    guard let deadline, now >= deadline else { return nil }
    due = now.advanced(by: interval)
    underWay = number()
    return underWay
  }

  /// Sets the latest time of the next removal.
  mutating func plan(at time: Instant) { due = min(due, time) }

  /// Ends the removal with this token. Returns false if it is that of other work.
  mutating func end(_ token: StoreToken) -> Bool {
    guard token == underWay else { return false }
    underWay = nil
    return true
  }

  /// Records that old images were removed.
  mutating func clean() {
    // The removal does not read all images and all of the log.
    if case .corrupt? = failure { return }
    failure = nil
  }

  /// Records that the store took an image.
  mutating func succeed() { failure = nil }

  /// Records a failure of the store, which is tried again at a time.
  mutating func fail(_ failure: StoreFailure, retryAt time: Instant) {
    self.failure = failure
    plan(at: time)
  }

  /// Drops the removal under way.
  mutating func stop() { underWay = nil }
}
