import Holdfast
import HoldfastCore

/// The phase of a model, in words.
struct OpeningText: Sendable, Hashable {
  let title: Phrase
  /// Whether something is in progress.
  let isBusy: Bool
  /// Whether `retry()` of the model can help.
  let canRetry: Bool

  /// Creates the text of a phase; `nil` if the feature is open.
  init?(_ phase: OpeningPhase) {
    switch phase {
    case .open: return nil
    case .opening: (title, isBusy, canRetry) = (Phrase("opening.opening"), true, false)
    case .failed(let error):
      (title, isBusy) = (Self.title(of: error), false)
      canRetry = error != .closed
    }
  }

  private static func title(of error: OpenError) -> Phrase {
    switch error {
    case .store(let failure): Phrase(failure)
    case .closed: Phrase("opening.closed")
    case .network, .configuration, .journal, .alreadyOpen, .tooMany: Phrase("opening.failed")
    }
  }
}

extension Phrase {
  /// Creates the text of a store's failure.
  init(_ failure: StoreFailure) {
    switch failure {
    case .full: self.init("store.full")
    case .locked: self.init("store.locked")
    case .fromTheFuture: self.init("store.newer")
    case .corrupt, .denied, .other: self.init("store.failed")
    }
  }
}
