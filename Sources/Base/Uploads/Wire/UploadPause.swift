package import HoldfastCore

/// The pause for which a server has asked, as far as it binds uploads that were handed over before.
///
/// Several uploads are in progress at once. When the server answers one of them with a
/// `Retry-After`, the others may not have sent anything yet, because their payload is being
/// compressed or they wait for a secret. They end with the same failure, since the machine waits for
/// the end of each upload before it tries again. An upload that is handed over after the machine has
/// learned of the pause is not bound by it: the machine has waited as its policy says.
package struct UploadPause: Sendable, Hashable {
  /// The number of pauses, by which it is known what the machine has learned.
  package typealias Number = UInt64

  private var last: Number = 0
  /// The last pause that the machine has learned of.
  package private(set) var known: Number = 0
  private var status = 0
  private var detail = ""
  private var end = Instant.zero

  /// Creates the state of a server that has not asked for a pause.
  package init() {}

  /// Records a failure. Failures that ask for no pause, or concern only one batch, change nothing.
  package mutating func note(_ failure: LinkFailure, at now: Instant) {
    guard Self.isPause(failure), case .http(let status, let wait?, let detail) = failure else {
      return
    }
    last += 1
    let end = now.advanced(by: wait)
    guard end > self.end else { return }
    (self.status, self.detail, self.end) = (status, detail, end)
  }

  /// Returns the failure that ends an upload which is about to send a request; `nil` if it may.
  ///
  /// - Parameter known: The value of `known` when the upload was handed over.
  package func failure(since known: Number, at now: Instant) -> LinkFailure? {
    guard last > known, now < end else { return nil }
    return .http(status: status, retryAfter: now.duration(to: end), detail: detail)
  }

  /// Returns what the machine will know when it has received an outcome.
  package func number(after outcome: UploadOutcome) -> Number {
    if case .failed(let failure) = outcome, Self.isPause(failure) { last } else { known }
  }

  /// Records that the machine has received an outcome.
  package mutating func told(_ number: Number) { known = max(known, number) }

  private static func isPause(_ failure: LinkFailure) -> Bool {
    guard case .http(let status, let wait?, _) = failure else { return false }
    return wait > .zero && UploadReply.concernsAllBatches(status)
  }
}
