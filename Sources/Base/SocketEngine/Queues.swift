import HoldfastPorts

/// The events of a socket that have not been delivered.
struct EventQueue {
  private var events: [SocketEvent] = []
  /// The number of elements of `events` that have been delivered.
  private var handed = 0

  /// Whether all events have been delivered.
  var isEmpty: Bool { events.isEmpty }

  mutating func add(_ received: [SocketEvent]) {
    if events.isEmpty { events = received } else { events += received }
  }

  /// Returns the next events to deliver, at most `most`; an empty array if all have been delivered.
  mutating func take(atMost most: Int) -> [SocketEvent] {
    let left = events.count - handed
    guard left <= most else {
      handed += most
      return Array(events[(handed - most)..<handed])
    }
    defer { drop() }
    return handed == 0 ? events : Array(events[handed...])
  }

  mutating func drop() { (events, handed) = ([], 0) }
}

/// The pings that have no pong yet, in the order in which they were sent.
struct Pings {
  private var ids: [UInt64] = []

  /// Adds a ping and returns its payload.
  mutating func add(_ id: UInt64) -> [UInt8] {
    // The list must not grow if a peer never sends a pong.
    if ids.count == 32 { ids.removeFirst() }
    ids.append(id)
    return (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
  }

  /// Returns the ping that a pong answers. Earlier pings are then also answered (RFC 6455 section
  /// 5.5.3).
  mutating func answered(by payload: [UInt8]) -> UInt64? {
    guard payload.count == 8 else { return nil }
    let id = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard let index = ids.firstIndex(of: id) else { return nil }
    ids.removeSubrange(...index)
    return id
  }
}
