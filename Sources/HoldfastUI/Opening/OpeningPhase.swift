public import Holdfast
import HoldfastCore

/// The phase of a model: whether its feature can be used.
///
/// A model exists before its feature is open. What a screen asks of it in the meantime is done once
/// the feature is open.
public enum OpeningPhase: Sendable, Hashable {
  /// The stores are being opened and read.
  case opening
  /// The feature is open.
  case open
  /// The feature could not be opened, or was closed (`.closed`).
  ///
  /// The model's `retry()` opens it again, unless it was closed. A closed model stays closed, and
  /// what is asked of it has no effect: `HoldfastLinks` returns a new one.
  case failed(OpenError)

  /// The error for which the feature is not open; `nil` if there is none.
  public var error: OpenError? {
    switch self {
    case .opening, .open: nil
    case .failed(let error): error
    }
  }
}

extension OpenError {
  /// Creates the error of an opening from any error that a step of it has thrown.
  init(opening error: any Error) {
    self =
      switch error {
      case let error as OpenError: error
      case let failure as StoreFailure: .store(failure)
      case let failure as LinkFailure: .network(failure)
      case is CancellationError: .closed
      case _: .configuration(String(describing: error))
      }
  }

  /// Whether the opening can succeed once the device is unlocked, or another process has ended.
  var isLocked: Bool {
    if case .store(.locked) = self { true } else { false }
  }
}
