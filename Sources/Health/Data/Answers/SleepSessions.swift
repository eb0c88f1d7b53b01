import HoldfastCore

/// A stage of sleep in one track.
struct SleepSpan: Sendable, Hashable {
  var start: Timestamp
  var end: Timestamp
  var stage: SleepStage
  var track: Int
}

/// A session of sleep: a night, a part of a night, or a nap.
///
/// Each minute counts once. If several sources measure at the same time, only the source with the
/// lowest rank counts. Time that this source reports as awake does not count as asleep. Time in bed
/// is counted separately.
struct SleepSession: Sendable, Hashable {
  /// A part of a session, in minutes.
  enum Part: Int, Sendable, Hashable, CaseIterable {
    case asleep, inBed, awake, light, deep, rem, unspecified

    init(_ stage: SleepStage) {
      switch stage {
      case .inBed: self = .inBed
      case .asleep, .unspecified: self = .unspecified
      case .core: self = .light
      case .deep: self = .deep
      case .rem: self = .rem
      case .awake: self = .awake
      }
    }

    /// Whether the part is included in the time asleep.
    var isAsleep: Bool {
      switch self {
      case .light, .deep, .rem, .unspecified: true
      case .asleep, .inBed, .awake: false
      }
    }
  }

  /// The start of the first sleep or, if sleep is unknown, of the time in bed.
  var start: Timestamp
  var end: Timestamp
  /// The minutes of each part, or 0 if a part is unknown.
  var minutes = SIMD8<Double>.zero
  /// A mask with 1 for each known part and 0 for all others.
  var known = SIMD8<Double>.zero

  subscript(_ part: Part) -> Double? { known[part.rawValue] > 0 ? minutes[part.rawValue] : nil }

  /// Creates a session from its stages. Returns `nil` if no stage is sleep or time in bed.
  init?(_ spans: [SleepSpan], _ ranks: [SourceRank]) {
    let hasSleep = spans.contains { Part($0.stage).isAsleep }
    let counting = spans.filter {
      hasSleep ? Part($0.stage).isAsleep : Part($0.stage) == .inBed
    }
    guard let start = counting.map(\.start).min(), let end = counting.map(\.end).max() else {
      return nil
    }
    (self.start, self.end) = (start, end)
    for span in spans { known[Part(span.stage).rawValue] = 1 }
    if hasSleep { known[Part.asleep.rawValue] = 1 }
    var sweep = Sweep()
    for edge in Sweep.edges(of: spans) { sweep.take(edge, spans[edge.span], ranks) }
    for part in Part.allCases {
      minutes[part.rawValue] = Double(sweep.nanoseconds[part.rawValue]) / 60e9
    }
  }

  /// A pass over the starts and ends of stages, in chronological order.
  private struct Sweep {
    struct Edge {
      var time: Timestamp
      var span: Int
      var isEnd: Bool
    }

    var nanoseconds = SIMD8<Int64>.zero
    private var clock: Timestamp?
    private var active = ActiveTracks()
    /// The number of current stages of each part, by track.
    private var counts: [Int: SIMD8<Int>] = [:]
    private var inBed = 0

    /// Returns the edges in chronological order. The sort is stable, so that a stage of length zero
    /// begins before it ends.
    static func edges(of spans: [SleepSpan]) -> [Edge] {
      spans.indices.flatMap { index in
        [
          Edge(time: spans[index].start, span: index, isEnd: false),
          Edge(time: spans[index].end, span: index, isEnd: true),
        ]
      }.sorted { $0.time < $1.time }
    }

    mutating func take(_ edge: Edge, _ span: SleepSpan, _ ranks: [SourceRank]) {
      if let clock { pass(clock.duration(to: edge.time).nanoseconds) }
      clock = edge.time
      let part = Part(span.stage)
      let step = edge.isEnd ? -1 : 1
      guard part != .inBed else {
        inBed += step
        return
      }
      counts[span.track, default: .zero][part.rawValue] += step
      if edge.isEnd { active.end(span.track, ranks) } else { active.begin(span.track, ranks) }
    }

    private mutating func pass(_ length: Int64) {
      if inBed > 0 { add(length, to: .inBed) }
      guard let track = active.first, let counts = counts[track] else { return }
      guard counts[Part.awake.rawValue] == 0 else { return add(length, to: .awake) }
      add(length, to: .asleep)
      for part in Part.allCases where counts[part.rawValue] > 0 { add(length, to: part) }
    }

    /// Adds a length to a part. A source can report stages of centuries, whose total exceeds an
    /// `Int64`, so the sum saturates.
    private mutating func add(_ length: Int64, to part: Part) {
      let (sum, overflow) = nanoseconds[part.rawValue].addingReportingOverflow(length)
      nanoseconds[part.rawValue] = overflow ? .max : sum
    }
  }
}

/// A collector that joins stages into sessions, for each source and for all sources together.
///
/// Stages that overlap or are at most 5 minutes apart form one session. A session has at most
/// `most` stages. A further stage begins a new session.
struct SleepRuns: Sendable {
  private struct Run {
    var spans: [SleepSpan]
    var end: Timestamp
  }

  private var runs: [Int: Run] = [:]

  /// The longest break within a session.
  static let gap = Duration.seconds(300)
  /// The maximum number of stages in a session. The limit is Holdfast's own. A night of one-minute
  /// stages has 500.
  static let most = 50_000

  /// Adds a stage. Stages must arrive in the order of their starts. Returns the stages of the
  /// session that ends before it, if there is one.
  mutating func take(_ span: SleepSpan, of source: Int) -> [SleepSpan]? {
    guard var run = runs[source], run.spans.count < Self.most,
      span.start <= run.end.advanced(by: Self.gap)
    else {
      let ended = runs.updateValue(Run(spans: [span], end: span.end), forKey: source)
      return ended?.spans
    }
    runs[source] = nil
    run.spans.append(span)
    run.end = max(run.end, span.end)
    runs[source] = run
    return nil
  }

  /// Ends and returns the remaining sessions, by source.
  mutating func finish() -> [(source: Int, spans: [SleepSpan])] {
    defer { runs.removeAll() }
    return runs.sorted { $0.key < $1.key }.map { ($0.key, $0.value.spans) }
  }
}
