import HoldfastCore

/// The reason why a statement, or a connection, failed.
enum DatabaseFailure: Error {
  /// The connection cannot be used any more. Whether a transaction was committed is unknown.
  case lost(detail: String)
  /// The server refused a statement, and the transaction was rolled back.
  case refused(code: String, detail: String)
  /// A row, or the request itself, is wrong. The transaction was rolled back.
  case store(StoreFailure)

  /// The class of errors that functions of ours raise when the node has lost its lease.
  static let leaseEnded = "HF001"

  /// The class of errors that functions of ours raise when another node has the role.
  static let roleLost = "HF003"

  /// Whether another attempt, on another connection, may succeed.
  var isPassing: Bool {
    switch self {
    case .lost: true
    case .store: false
    case .refused(let code, _):
      // Connections (08), shutdown and recovery (57P), rollback of a deadlock or a conflict (40),
      // a server that became a standby (25006), too many connections (53300).
      code.hasPrefix("08") || code.hasPrefix("57P") || code.hasPrefix("40") || code == "25006"
        || code == "53300" || code == Self.leaseEnded
    }
  }

  /// Whether the transaction did not begin, since the lease had ended.
  var isEndOfLease: Bool {
    if case .refused(Self.leaseEnded, _) = self { true } else { false }
  }

  /// Whether the connection must be replaced.
  var endsConnection: Bool {
    switch self {
    case .lost: true
    case .store: false
    case .refused(let code, _):
      code.hasPrefix("08") || code.hasPrefix("57P") || code == "25006" || code == Self.leaseEnded
    }
  }

  var detail: String {
    switch self {
    case .lost(let detail), .refused(_, let detail): detail
    case .store(let failure): "\(failure)"
    }
  }

  /// The same failure for the callers of a store.
  var asStoreFailure: StoreFailure {
    switch self {
    case .store(let failure): return failure
    case .lost(let detail): return .locked(detail: "The database does not answer: \(detail)")
    case .refused(let code, let detail):
      let text = "The database refused a request: \(detail) (\(code))."
      return switch code {
      case "53100": .full(detail: text)
      case "42501", "28000", "28P01", "3D000": .denied(detail: text)
      case "XX001", "XX002": .corrupt(detail: text)
      case Self.roleLost:
        .locked(detail: "Another node runs this service now. Its clients have to connect there.")
      case _: isPassing ? .locked(detail: text) : .other(detail: text)
      }
    }
  }
}
