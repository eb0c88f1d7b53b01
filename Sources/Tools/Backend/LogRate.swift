import LinkCore

/// The limit of a log's growth: so many lines of each event in a span of time, so that no peer and
/// no full disk can fill the disk of the log.
///
/// A span begins with an event's first line. What it leaves out is counted, and told once it is
/// over.
struct LogRate {
  /// The lines of one event that a span left out.
  struct LeftOut: Equatable {
    var event: LogLine.Event
    var count: UInt64
  }

  private struct Span {
    var endsAt: Instant
    var taken = 0
    var leftOut: UInt64 = 0
  }

  private let limit: Int
  private var spans: [LogLine.Event: Span] = [:]

  /// Takes `limit` lines of each event a second, and at most 10 store failures a minute: each
  /// request to a full disk causes one, for as long as the disk is full.
  init(limit: Int = 100) {
    self.limit = limit
  }

  private func bound(of event: LogLine.Event) -> (lines: Int, span: Duration) {
    event == .storeFailure ? (min(limit, 10), .seconds(60)) : (limit, .seconds(1))
  }

  /// Whether the log takes a further line of an event; `ended` comes first.
  mutating func takes(_ event: LogLine.Event, at now: Instant) -> Bool {
    let bound = bound(of: event)
    var span = spans[event] ?? Span(endsAt: now.advanced(by: bound.span))
    defer { spans[event] = span }
    guard span.taken < bound.lines else {
      span.leftOut += 1
      return false
    }
    span.taken += 1
    return true
  }

  /// Forgets the spans that are over at `now`; answers what they left out.
  mutating func ended(by now: Instant) -> [LeftOut] {
    LogLine.Event.allCases.compactMap { event in
      guard let span = spans[event], span.endsAt <= now else { return nil }
      spans[event] = nil
      return span.leftOut > 0 ? LeftOut(event: event, count: span.leftOut) : nil
    }
  }
}
