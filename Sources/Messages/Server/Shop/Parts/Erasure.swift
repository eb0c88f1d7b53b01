import HoldfastCore

/// A kind of data that edited and deleted messages leave in the files of the server.
public enum MessageTrace: Sendable, Hashable, Codable, CaseIterable {
  /// Their texts, in the files of the store.
  case texts
  /// The files of their images.
  case images
}

/// The removal of one kind of trace from the files.
struct Erasure: Sendable {
  /// The time of the next removal, or `nil` if there is nothing to remove.
  private var due: Instant?
  private var isUnderWay = false
  /// The number of failures since the last success.
  private var failures = 0

  /// The time at which `begin` must be called; `nil` while a removal is under way.
  var deadline: Instant? { isUnderWay ? nil : due }

  /// Sets the latest time of the next removal.
  mutating func plan(at time: Instant) { due = due.map { min($0, time) } ?? time }

  /// Begins a removal if one is due. Returns false if none is.
  mutating func begin(at now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    (due, isUnderWay) = (nil, true)
    return true
  }

  mutating func succeed() { (isUnderWay, failures) = (false, 0) }

  /// Plans another removal. The time until then doubles with each failure, from `first` to `most`.
  mutating func fail(at now: Instant, first: Duration, most: Duration) {
    isUnderWay = false
    failures += 1
    plan(at: now.advanced(by: Schedule.doubling(from: first, to: most).wait(after: failures)))
  }

  /// Drops what is planned and under way.
  mutating func stop() { (due, isUnderWay) = (nil, false) }
}
