import LinkDriver

/// What happened to a socket and is not handed over yet.
struct EventQueue {
  private var events: [SocketEvent] = []
  /// How many of `events` were handed over.
  private var handed = 0

  /// Whether everything was handed over.
  var isEmpty: Bool { events.isEmpty }

  mutating func add(_ told: [SocketEvent]) {
    if events.isEmpty { events = told } else { events += told }
  }

  /// What is handed over next, so many at most; empty when all was.
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
