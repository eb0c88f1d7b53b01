import HoldfastCore

/// A limit on the growth of a log: a maximum number of lines for each event in a time span.
///
/// The limit prevents clients and full disks from filling the disk of the log. A span begins with
/// the first line of an event. Lines over the limit are omitted and counted, and their number is
/// reported when the span ends.
struct LogRate {
  /// The number of lines of one event that were omitted in a span.
  struct LeftOut: Equatable {
    var event: LogLine.Event
    var count: UInt64
  }

  private struct Span {
    var endsAt: Instant
    var taken = 0
    var leftOut: UInt64 = 0
  }

  /// A kind of line that is limited: an event, or requests that failed or were not admitted.
  private struct Kind: Hashable {
    var event: LogLine.Event
    var isFailure: Bool
  }

  private let limit: Int
  private var spans: [Kind: Span] = [:]

  /// Creates a limit of `limit` lines a second for each event, and of at most 10 lines a minute for
  /// failures of stores and of the operator's backend. Acts of operators have no limit, unless
  /// they were not admitted.
  ///
  /// While the disk is full, each request causes a store failure.
  init(limit: Int = 100) {
    self.limit = limit
  }

  private func bound(of kind: Kind) -> (lines: Int, span: Duration) {
    switch kind.event {
    case .storeFailure, .hookFailed: (min(limit, 10), .seconds(60))
    case .admin where !kind.isFailure: (.max, .seconds(1))
    case _: (limit, .seconds(1))
    }
  }

  /// Returns whether the log accepts another line of an event. Call `ended` first.
  mutating func takes(
    _ event: LogLine.Event, isFailure: Bool = false, at now: Instant
  ) -> Bool {
    let kind = Kind(event: event, isFailure: isFailure)
    let bound = bound(of: kind)
    var span = spans[kind] ?? Span(endsAt: now.advanced(by: bound.span))
    defer { spans[kind] = span }
    guard span.taken < bound.lines else {
      span.leftOut += 1
      return false
    }
    span.taken += 1
    return true
  }

  /// Removes the spans that have ended by `now`. Returns the numbers of lines that they omitted.
  mutating func ended(by now: Instant) -> [LeftOut] {
    guard spans.values.contains(where: { $0.endsAt <= now }) else { return [] }
    return LogLine.Event.allCases.flatMap { event in
      [false, true].map { Kind(event: event, isFailure: $0) }
    }.compactMap { kind in
      guard let span = spans[kind], span.endsAt <= now else { return nil }
      spans[kind] = nil
      return span.leftOut > 0 ? LeftOut(event: kind.event, count: span.leftOut) : nil
    }
  }
}
