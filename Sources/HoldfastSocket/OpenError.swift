public import Foundation
public import HoldfastCore

/// The reason why a feature could not be opened. No retry helps until the reason is gone.
public enum OpenError: Error, Sendable, Hashable {
  /// A mistake in the configuration, such as a URL that is not valid. The text names the remedy.
  case configuration(String)
  /// The store could not be opened. It is `.locked` while it is open elsewhere, also in this
  /// process.
  case store(StoreFailure)
  /// The journal could not be created.
  case journal(JournalError)
  /// The network could not be set up, for example because the process has no descriptors left.
  case network(LinkFailure)
  /// The app has already opened the shop's stream.
  case alreadyOpen(shop: String)
  /// Too many shops are open.
  case tooMany(limit: Int)
  /// The streams were closed.
  case closed
}

extension OpenError {
  /// Runs `work`, and converts its error with `convert`, such as a case of this type.
  package static func wrapping<Value, Failure: Error>(
    _ convert: (Failure) -> OpenError, _ work: () async throws(Failure) -> Value
  ) async throws(OpenError) -> Value {
    do throws(Failure) {
      return try await work()
    } catch {
      throw convert(error)
    }
  }
}

extension OpenError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened, and what helps.
  public var description: String {
    switch self {
    case .configuration(let problem): problem
    case .store(let failure): failure.description
    case .journal(let error): error.description
    case .network(let failure): "the network cannot be set up: \(failure)"
    case .alreadyOpen(let shop): "the stream of shop \(shop) is already open"
    case .tooMany(let limit): "\(limit) shops are open; close one of them first"
    case .closed: "the streams were closed; create new ones"
    }
  }

  public var errorDescription: String? { description }
}
