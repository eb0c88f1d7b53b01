import LinkCore

/// A limit on a log's growth: a number of lines of each event in a span of time.
///
/// The limit keeps peers and full disks from filling the log's own disk. A span begins with an
/// event's first line. The lines that it leaves out are counted, and reported once the span is
/// over.
struct LogRate {
  /// The number of lines of one event that a span left out.
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

  /// Creates a limit of `limit` lines of each event a second, and at most 10 store failures a
  /// minute.
  ///
  /// Each request to a full disk causes a store failure, for as long as the disk is full.
  init(limit: Int = 100) {
    self.limit = limit
  }

  private func bound(of event: LogLine.Event) -> (lines: Int, span: Duration) {
    event == .storeFailure ? (min(limit, 10), .seconds(60)) : (limit, .seconds(1))
  }

  /// Returns whether the log takes another line of an event; `ended` must be called first.
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

  /// Removes the spans that have ended by `now` and returns the counts that they left out.
  mutating func ended(by now: Instant) -> [LeftOut] {
    LogLine.Event.allCases.compactMap { event in
      guard let span = spans[event], span.endsAt <= now else { return nil }
      spans[event] = nil
      return span.leftOut > 0 ? LeftOut(event: event, count: span.leftOut) : nil
    }
  }
}
