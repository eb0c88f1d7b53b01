import LinkCore

/// How fast a log grows: so many lines of each event a second, so that no peer can fill the disk.
///
/// A second begins with an event's first line. What it leaves out is counted, and told once it is
/// over.
struct LogRate {
  /// What a second left out of one event.
  struct LeftOut: Equatable {
    var event: LogLine.Event
    var count: UInt64
  }

  private struct Second {
    var endsAt: Instant
    var taken = 0
    var leftOut: UInt64 = 0
  }

  private let limit: Int
  private var seconds: [LogLine.Event: Second] = [:]

  /// Takes `limit` lines of each event a second.
  init(limit: Int = 100) {
    self.limit = limit
  }

  /// Whether the log takes a further line of an event; `ended` comes first.
  mutating func takes(_ event: LogLine.Event, at now: Instant) -> Bool {
    var second = seconds[event] ?? Second(endsAt: now.advanced(by: .seconds(1)))
    defer { seconds[event] = second }
    guard second.taken < limit else {
      second.leftOut += 1
      return false
    }
    second.taken += 1
    return true
  }

  /// Forgets the seconds that are over at `now`; answers what they left out.
  mutating func ended(by now: Instant) -> [LeftOut] {
    LogLine.Event.allCases.compactMap { event in
      guard let second = seconds[event], second.endsAt <= now else { return nil }
      seconds[event] = nil
      return second.leftOut > 0 ? LeftOut(event: event, count: second.leftOut) : nil
    }
  }
}
