package import HoldfastCore

/// The instant at which a command gives up a transfer. Its progress defers it.
package struct ProgressDeadline: Sendable, Hashable {
  /// The current end of the wait.
  package private(set) var end: Instant
  private let limit: Duration
  /// The number of bytes that were sent or begun so far. A repetition is no progress.
  private var reached = 0

  /// The rate, in bytes a second, at which a request may be sent. Project choice: as slow as a bad
  /// mobile network.
  package static let slowest = 16_384

  /// Creates a deadline.
  ///
  /// - Parameter limit: The maximum duration without progress.
  package init(_ limit: Duration, from now: Instant) {
    self.limit = limit
    end = now.advanced(by: limit)
  }

  /// Defers the end if a transfer went on.
  ///
  /// - Parameters:
  ///   - sent: The number of bytes that were sent.
  ///   - pending: The number of bytes of the request that begins now.
  package mutating func take(sent: Int, pending: Int, at now: Instant) {
    guard sent + pending > reached else { return }
    reached = sent + pending
    let rest = Duration.seconds(pending) / Self.slowest
    end = max(end, now.advanced(by: limit + rest))
  }
}
