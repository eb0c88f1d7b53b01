public import LinkCore

/// A state machine that answers a health question from pages of samples.
///
///     question ──▶ read(query) ──take(page)──▶ read(query) … ──▶ done(object)
///          └────────── a question that makes no sense ─────────────▲
///
/// It stores what the answer needs, not the samples.
public struct HealthAnswering: Sendable {
  /// The next step of the caller.
  public enum Step: Sendable, Hashable {
    /// Read these samples and pass them to `take`.
    case read(HealthSampleQuery)
    /// Send this answer.
    case done(HealthObject)
  }

  /// The next step of the caller.
  public private(set) var step: Step
  /// The number of points in the finished parts of the answer.
  public private(set) var points = 0
  /// Whether any part is incomplete and reports from where to continue.
  public private(set) var isCut = false

  private let zone: ZoneRules
  private let now: Timestamp
  private let limits: AnswerLimits
  private let stored: StoredHealth
  private let mergedOnly: Bool
  private let summary: SummaryQuery?
  /// The part of the answer that is in progress.
  private var answer: HealthAnswer?
  /// The queries of the remaining parts.
  private var queries: [HealthDataQuery]
  private var results: [SummaryResult] = []
  /// The bytes left for the remaining parts.
  private var room: Int

  /// Starts to answer a question.
  ///
  /// - Parameters:
  ///   - zone: The user's time zone.
  ///   - now: The wall clock's time.
  ///   - stored: The facts about the store from which the answer reports how fresh it is.
  ///   - mergedOnly: Whether to leave out the values of single sources where there is a merged
  ///     value, so that many sources do not take the room of many days.
  public init(
    _ question: HealthQuestion, zone: ZoneRules, now: Timestamp,
    limits: AnswerLimits = .oneFrame, stored: StoredHealth = StoredHealth(),
    mergedOnly: Bool = false
  ) {
    self.zone = zone
    self.now = now
    self.stored = stored
    self.mergedOnly = mergedOnly
    let limits = limits.fitting(question)
    self.limits = limits
    room = limits.maxBytes
    switch question {
    case .healthData(let query): (summary, queries) = (nil, [query])
    case .summary(let query): (summary, queries) = (query, query.questions(in: zone))
    }
    step = .done(.failure(""))
    if summary != nil { room -= Self.aroundResults }
    goOn()
  }

  /// The bytes around a summary's results, and around each of them.
  private static let aroundResults = 1_000
  private static let aroundResult = 100

  /// Takes the page that `step` requested.
  public mutating func take(_ page: HealthSamplePage) {
    answer?.take(page)
    goOn()
  }

  /// Fails the query of `step`, which could not be read. `reason` is human-readable.
  public mutating func fail(_ reason: String) {
    answer?.refusal = .unreadable(reason: reason)
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
      reply.freshness = HealthFreshness(zone: zone, now: now)
      reply.freshness?.imported = stored.lastImport.map { .instant($0, minutesEast: nil) }
      step = .done(reply.object)
    } else if let result = results.first {
      step = .done(result.data)
    }
  }

  private mutating func begin(_ query: HealthDataQuery) {
    var limits = limits
    // The remaining bytes are divided evenly. A short answer leaves more to the parts after it.
    limits.maxBytes = max(0, room / (queries.count + 1))
    do throws(AnswerRefusal) {
      answer = try HealthAnswer(query, zone: zone, now: now, limits: limits, stored: stored)
      answer?.mergedOnly = mergedOnly
    } catch {
      add(.failure(error.description), for: query)
    }
  }

  private mutating func finish(_ answer: HealthAnswer) {
    self.answer = nil
    do throws(AnswerRefusal) {
      let reply = try answer.reply()
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
  /// The metrics as queries. Missing metrics and groupings are chosen here.
  fileprivate func questions(in zone: ZoneRules) -> [HealthDataQuery] {
    let usual = rejected.isEmpty ? Self.usual.map { SummaryMetric(valueType: $0) } : []
    let asked = metrics.isEmpty ? usual : metrics
    let grouping = grouping(in: zone)
    return asked.map { metric in
      HealthDataQuery(
        valueType: metric.valueType, start: start, end: end, groupBy: metric.groupBy ?? grouping,
        statistic: metric.statistic)
    }
  }

  private static let usual: [HealthValueType] = [.steps, .calories, .distance, .workout, .sleep]

  /// Returns days for up to 31 days, weeks for up to 93, and months otherwise, by the calendar and
  /// not by hours.
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
  /// Inserts the failures of rejected metrics, each at its index.
  public mutating func insert(_ rejected: [RejectedMetric]) {
    for line in rejected.sorted(by: { $0.index < $1.index }) {
      let failed = SummaryResult(valueType: line.valueType, data: .failure(line.reason))
      results.insert(failed, at: max(0, min(line.index, results.count)))
    }
  }
}

extension AnswerLimits {
  /// Returns the limits of one answer, which are at most those of its question.
  fileprivate func fitting(_ question: HealthQuestion) -> AnswerLimits {
    var limits = self
    switch question {
    case .healthData(let query):
      let usual = query.groupBy == nil ? AnswerLimits.rawBytes : AnswerLimits.groupedBytes
      limits.maxBytes = min(maxBytes, query.maxBytes ?? usual)
    case .summary(let query):
      limits.maxBytes = min(maxBytes, query.maxBytes ?? AnswerLimits.groupedBytes)
    }
    return limits
  }
}
