/// Pings without an answer yet, in the order they were sent.
struct Pings {
  private var ids: [UInt64] = []

  /// The payload that a new ping carries.
  mutating func add(_ id: UInt64) -> [UInt8] {
    // A peer that answers none must not make this grow.
    if ids.count == 32 { ids.removeFirst() }
    ids.append(id)
    return (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
  }

  /// The ping that a pong answers; those before it count as answered (RFC 6455 section 5.5.3).
  mutating func answered(by payload: [UInt8]) -> UInt64? {
    guard payload.count == 8 else { return nil }
    let id = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard let place = ids.firstIndex(of: id) else { return nil }
    ids.removeSubrange(...place)
    return id
  }
}
