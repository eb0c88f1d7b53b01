import HoldfastCore
import HoldfastSessionData

/// The daily connection statistics that have not been passed to the store.
struct SessionMetrics: Sendable, Hashable {
  private var days: [SessionDay] = []
  private var lostAt: Instant?

  mutating func noteTry(at wall: Timestamp) { change(wall) { $0.tries += 1 } }

  mutating func noteConnected(at wall: Timestamp, _ now: Instant) {
    let lost = lostAt
    lostAt = nil
    change(wall) { day in
      day.connects += 1
      guard let lost else { return }
      day.reconnects += 1
      day.reconnecting += lost.duration(to: now)
    }
  }

  mutating func noteLoss(at now: Instant) { lostAt = now }

  mutating func noteRoundTrip(_ sample: Duration, at wall: Timestamp) {
    change(wall) { day in
      day.roundTrips += 1
      day.roundTripSum += sample
      day.longestRoundTrip = max(day.longestRoundTrip, sample)
    }
  }

  /// Removes and returns the statistics of all days except the last.
  mutating func takePast() -> [SessionDay] {
    let past = days.dropLast()
    days.removeFirst(past.count)
    return Array(past)
  }

  /// Removes and returns all statistics.
  mutating func take() -> [SessionDay] {
    defer { days = [] }
    return days
  }

  private mutating func change(_ wall: Timestamp, _ body: (inout SessionDay) -> Void) {
    let day = Int(Gregorian.floorDivide(wall.nanoseconds, by: 86_400_000_000_000).0)
    if days.last?.day != day { days.append(SessionDay(day: day)) }
    // Statistics accumulate while the store fails. They are kept for at most two weeks.
    if days.count > 14 { days.removeFirst() }
    body(&days[days.count - 1])
  }
}
