import LinkCore

/// One night's sleep, or a nap.
struct SleepSession: Sendable, Hashable {
  var start: Timestamp
  var end: Timestamp

  /// The two as one; of two that are nearly the same, the longer.
  ///
  /// Nearly the same: at least 95 % of the shorter one lies within the other. `other` does not
  /// start before this one.
  mutating func join(_ other: SleepSession) {
    let shared = other.start.distance(to: min(end, other.end))
    if length >= other.length {
      if Self.covers(shared, other.length) { return }
    } else if Self.covers(shared, length) {
      self = other
      return
    }
    end = max(end, other.end)
  }

  /// Nanoseconds.
  var length: Double { start.distance(to: end) }

  private static func covers(_ shared: Double, _ length: Double) -> Bool {
    shared >= 0.95 * length
  }
}

/// Makes sessions of the stages that one source reports, in order of their starts.
///
/// Stages that overlap or lie at most 5 minutes apart are one session. Being awake in between holds
/// it together but neither begins nor ends it; being in bed counts where nothing else is known.
struct SleepSessions: Sendable {
  /// Stages without a longer break than 5 minutes.
  private struct Run {
    var start: Timestamp
    var end: Timestamp
    var inBed: SleepSession?
    var sessions: [SleepSession] = []
    /// How far the last session reaches, with being awake after it.
    var reach: Timestamp
  }

  private var runs: [Run?] = []

  /// The longest break within a session.
  static let gap = Duration.seconds(300)

  /// Takes a stage; returns the sessions of its source that are finished by it.
  mutating func take(
    _ stage: SleepStage, _ span: SleepSession, source: Int
  ) -> [SleepSession] {
    while runs.count <= source { runs.append(nil) }
    var finished: [SleepSession] = []
    var run = runs[source] ?? Run(start: span.start, end: span.start, reach: span.start)
    if span.start > run.end.advanced(by: Self.gap) {
      finished = Self.sessions(of: run)
      run = Run(start: span.start, end: span.start, reach: span.start)
    }
    run.end = max(run.end, span.end)
    switch stage {
    case .inBed:
      if run.inBed == nil { run.inBed = span } else { run.inBed?.join(span) }
    case .awake:
      if !run.sessions.isEmpty, span.start <= run.reach.advanced(by: Self.gap) {
        run.reach = max(run.reach, span.end)
      }
    case .asleep, .unspecified, .core, .deep, .rem:
      if !run.sessions.isEmpty, span.start <= run.reach.advanced(by: Self.gap) {
        run.sessions[run.sessions.count - 1].join(span)
        run.reach = max(run.reach, run.sessions[run.sessions.count - 1].end)
      } else {
        run.sessions.append(span)
        run.reach = span.end
      }
    }
    runs[source] = run
    return finished
  }

  /// The sessions that are left, by source.
  mutating func finish() -> [(source: Int, session: SleepSession)] {
    defer { runs.removeAll() }
    return runs.enumerated().flatMap { source, run in
      (run.map(Self.sessions) ?? []).map { (source, $0) }
    }
  }

  private static func sessions(of run: Run) -> [SleepSession] {
    run.sessions.isEmpty ? run.inBed.map { [$0] } ?? [] : run.sessions
  }
}
