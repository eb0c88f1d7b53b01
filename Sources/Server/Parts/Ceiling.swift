/// A configured maximum, for metrics.
public enum Ceiling: String, Sendable, Hashable, Codable, CaseIterable {
  /// The sockets of streams.
  case streams
  /// The sockets of one user.
  case userSockets = "sockets_per_user"
  /// The requests that wait for the store of messages.
  case requests
  /// The sockets of phones.
  case phones
  /// The sockets of phones from one address.
  case addressPhones = "phones_per_address"
  /// The phones that are known, connected or not.
  case knownPhones = "phones_known"
  /// The calls of assistants that wait.
  case calls
  /// The sockets of sessions.
  case sessions
  /// The sockets of sessions from one address.
  case addressSessions = "sessions_per_address"
  /// The connections of clients and nodes in all phases.
  case connections
  /// The connections of one address that are not open sockets.
  case addressConnections = "connections_per_address"
}

/// The reason why a server refused a client, for metrics.
public enum RefusalReason: Sendable, Hashable, Codable {
  /// A maximum was reached.
  case ceiling(Ceiling)
  /// There was no valid token, key or secret.
  case unauthorized
  /// The user may not do this.
  case forbidden
  /// A pairing code was wrong.
  case wrongCode
  /// The address had sent too many wrong codes.
  case lockedOut
  /// The user sent too much in a short time.
  case rate
  /// The backend shuts down.
  case draining
  /// The node has no lease from its database.
  case noLease
  /// The store failed or is too far behind.
  case store
  /// The process has no more descriptors. New connections wait.
  case descriptors

  /// Every reason.
  public static let all: [RefusalReason] =
    Ceiling.allCases.map { .ceiling($0) } + [
      .unauthorized, .forbidden, .wrongCode, .lockedOut, .rate, .draining, .noLease, .store,
      .descriptors,
    ]

  /// The value of the label `reason`.
  public var name: String {
    switch self {
    case .ceiling(let ceiling): ceiling.rawValue
    case .unauthorized: "unauthorized"
    case .forbidden: "forbidden"
    case .wrongCode: "wrong_code"
    case .lockedOut: "locked_out"
    case .rate: "rate"
    case .draining: "draining"
    case .noLease: "no_lease"
    case .store: "store"
    case .descriptors: "descriptors"
    }
  }
}

/// The number of refusals by reason.
public struct RefusalCounts: Sendable, Hashable, Codable {
  private var counts: [RefusalReason: UInt64] = [:]

  /// Creates a value in which all counts are zero.
  public init() {}

  /// Counts refusals.
  public mutating func add(_ reason: RefusalReason, _ count: UInt64 = 1) {
    counts[reason, default: 0] += count
  }

  /// The number of refusals for each reason, also those that have not occurred.
  package var byName: [String: UInt64] {
    Dictionary(
      RefusalReason.all.map { ($0.name, counts[$0] ?? 0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Adds the counts of another instance.
  public mutating func add(_ other: RefusalCounts) {
    counts.merge(other.counts) { $0 + $1 }
  }
}
