public import HoldfastCore
public import HoldfastHealthSamples

/// A state machine that answers a health question from pages of samples.
///
///     question ──▶ read(query) ──take(page)──▶ read(query) … ──▶ done(object)
///          └────────── a question that makes no sense ─────────────▲
///
/// It stores the data that the answer needs instead of all samples.
public struct HealthAnswering: Sendable {
  /// The next step of the caller.
  public enum Step: Sendable, Hashable {
    /// Read these samples and pass them to `take`.
    case read(HealthSampleQuery)
    /// Read the summary of each stored type and pass it to `take`.
    case list
    /// Send this answer.
    case done(HealthObject)
  }

  /// The next step of the caller.
  public private(set) var step: Step
  /// The number of points in the finished parts of the answer.
  public private(set) var points = 0
  /// Whether any part of the answer is incomplete and reports where to continue.
  public private(set) var isCut = false

  private let zone: ZoneRules
  private let now: Timestamp
  private let limits: AnswerLimits
  private let stored: StoredHealth
  private let summary: SummaryQuery?
  /// The part of the answer that is in progress.
  private var answer: AnswerJob?
  /// The queries of the remaining parts.
  private var queries: [HealthDataQuery]
  private var results: [SummaryResult] = []
  /// The number of bytes left for the remaining parts.
  private var room: Int

  /// Starts to answer a question.
  ///
  /// - Parameters:
  ///   - zone: The user's time zone.
  ///   - now: The current wall-clock time.
  ///   - stored: Facts about the store, from which the answer reports its freshness.
  public init(
    _ question: HealthQuestion, zone: ZoneRules, now: Timestamp,
    limits: AnswerLimits = .oneFrame, stored: StoredHealth = StoredHealth()
  ) {
    self.zone = zone
    self.now = now
    self.stored = stored
    let limits = limits.fitting(question)
    self.limits = limits
    room = limits.maxBytes
    switch question {
    case .healthData(let query): (summary, queries) = (nil, [query])
    case .summary(let query): (summary, queries) = (query, query.questions(in: zone))
    case .types: (summary, queries) = (nil, [])
    }
    step = .done(.failure(""))
    guard question != .types else {
      step = .list
      return
    }
    if summary != nil { room -= Self.aroundResults }
    goOn()
  }

  /// The number of bytes for all members of a summary except its results. `aroundResult` is the
  /// number for each result.
  private static let aroundResults = 1_000
  private static let aroundResult = 100

  /// Adds the page that `step` requested.
  public mutating func take(_ page: HealthSamplePage) {
    answer?.take(page)
    goOn()
  }

  /// Adds the summaries that `step` requested.
  public mutating func take(_ types: [HealthTypeSummary]) {
    guard step == .list else { return }
    let reply = HealthTypesReply(types, zone: zone, now: now, stored: stored)
    step = .done(reply.object(atMost: limits.maxBytes))
    points = types.count
  }

  /// Handles a failure to read the samples that `step` requested. `reason` is human-readable.
  public mutating func fail(_ reason: String) {
    if step == .list {
      return step = .done(.failure(AnswerRefusal.unreadable(reason: reason).description))
    }
    answer?.refuse(.unreadable(reason: reason))
    goOn()
  }

  private mutating func goOn() {
    while true {
      if let wanted = answer?.wanted {
        step = .read(wanted)
        return
      }
      if let answer { finish(answer) }
      guard !queries.isEmpty else { break }
      begin(queries.removeFirst())
    }
    if let summary {
      var reply = SummaryReply(start: summary.start, end: summary.end, results: results)
      reply.insert(summary.rejected)
      reply.options = summary.options.ofSummaries
      reply.freshness = HealthFreshness(zone: zone, now: now, imported: stored.lastImport)
      step = .done(reply.object)
    } else if let result = results.first {
      step = .done(result.data)
    }
  }

  private mutating func begin(_ query: HealthDataQuery) {
    var limits = limits
    // The remaining bytes are divided evenly. A short part leaves more bytes for later parts.
    limits.maxBytes = max(0, room / (queries.count + 1))
    do throws(AnswerRefusal) {
      answer = try AnswerJob(query, zone: zone, now: now, limits: limits, stored: stored)
    } catch {
      add(.failure(error.description), for: query)
    }
  }

  private mutating func finish(_ answer: AnswerJob) {
    self.answer = nil
    do throws(AnswerRefusal) {
      var reply = try answer.reply()
      reply.isTableOfSummary = summary != nil && reply.table != nil
      points += reply.points.count
      if reply.nextStart != nil { isCut = true }
      add(reply.object, for: answer.query)
    } catch {
      add(.failure(error.description), for: answer.query)
    }
  }

  private mutating func add(_ object: HealthObject, for query: HealthDataQuery) {
    results.append(SummaryResult(valueType: query.valueType.rawValue, data: object))
    room -= object.bytes.count + Self.aroundResult
  }
}

extension SummaryQuery {
  /// Returns the metrics as queries. Missing metrics and groupings are replaced by defaults.
  fileprivate func questions(in zone: ZoneRules) -> [HealthDataQuery] {
    let usual = rejected.isEmpty ? Self.usual.map { SummaryMetric(valueType: $0) } : []
    let asked = metrics.isEmpty ? usual : metrics
    // Days and weeks of two spans seldom fit into one answer.
    let isCompared = options.compareWith != nil && !options.trend
    let grouping = isCompared ? .total : grouping(in: zone)
    return asked.map { metric in
      HealthDataQuery(
        valueType: metric.valueType, start: start, end: end, groupBy: metric.groupBy ?? grouping,
        statistic: metric.statistic, options: options.ofSummaries)
    }
  }

  private static let usual: [HealthValueType] = [.steps, .calories, .distance, .workout, .sleep]

  /// Returns the default grouping: days for up to 31 calendar days, weeks for up to 93, and months
  /// otherwise.
  private func grouping(in zone: ZoneRules) -> HealthGrouping {
    let first = zone.local(at: zone.instant(of: start)).nanoseconds
    let last = zone.local(at: zone.instant(of: end)).nanoseconds
    let (length, overflow) = last.subtractingReportingOverflow(first)
    let day = CivilTime.nanosecondsPerDay
    if overflow { return .month }
    return length <= 31 * day ? .day : length <= 93 * day ? .week : .month
  }
}

extension SummaryReply {
  /// Inserts a failure for each rejected metric at its index.
  public mutating func insert(_ rejected: [RejectedMetric]) {
    for line in rejected.sorted(by: { $0.index < $1.index }) {
      let failed = SummaryResult(valueType: line.valueType, data: .failure(line.reason))
      results.insert(failed, at: max(0, min(line.index, results.count)))
    }
  }
}

extension HealthOptions {
  /// The options that apply to the metrics of a summary.
  fileprivate var ofSummaries: HealthOptions {
    HealthOptions(bySource: bySource, format: format, compareWith: compareWith, trend: trend)
  }
}

extension AnswerLimits {
  /// Returns the limits of the answer to a question. The question can lower the maximum size.
  fileprivate func fitting(_ question: HealthQuestion) -> AnswerLimits {
    var limits = self
    // The list of the types is never cut.
    let usual = question == .types ? maxBytes : AnswerLimits.usualBytes
    limits.maxBytes = min(maxBytes, question.bounds.maxBytes ?? usual)
    return limits
  }
}
