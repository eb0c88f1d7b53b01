/// The reason why a store did not carry out a request. Nothing of the request was written.
public enum StoreFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The disk or a quota is full.
  case full(detail: String)
  /// Another process holds the store, or the device is locked. A later try may succeed.
  case locked(detail: String)
  /// The file is not a database, or is damaged.
  case corrupt(detail: String)
  /// Written by a newer version of this software.
  case fromTheFuture(found: Int, supported: Int)
  /// The file cannot be read or written (permissions, a read-only disk).
  case denied(detail: String)
  /// Any other reason: a closed store, a request that is not valid.
  case other(detail: String)

  /// The failure in words for people.
  public var description: String {
    switch self {
    case .full(let detail), .locked(let detail), .corrupt(let detail), .denied(let detail),
      .other(let detail):
      detail
    case .fromTheFuture(let found, let supported):
      "it has format \(found), and this program knows up to \(supported)"
    }
  }

  /// The failure of every call after a store was closed.
  package static let closed = StoreFailure.other(detail: "The store is closed.")

  /// The failure of every call between `suspend` and `resume`.
  package static let suspended = StoreFailure.locked(
    detail: "The store is suspended; use it after `resume`.")
}
