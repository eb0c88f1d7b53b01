public import LinkCore

/// A state machine that answers a question about health from pages of samples.
///
///     question ──▶ read(query) ──take(page)──▶ read(query) … ──▶ done(object)
///          └────────── what makes no sense ────────────────────────▲
///
/// It keeps what the answer needs, not the samples.
public struct HealthAnswering: Sendable {
  /// What to do next.
  public enum Step: Sendable, Hashable {
    /// Read these samples and give them to `take`.
    case read(HealthSampleQuery)
    /// Send this answer.
    case done(HealthObject)
  }

  /// What to do next.
  public private(set) var step: Step
  /// How many points the answer has so far finished parts of it.
  public private(set) var points = 0
  /// Whether any part of it holds less than was asked for, and says where to ask on.
  public private(set) var isCut = false

  private let zone: ZoneRules
  private let now: Timestamp
  private let limits: AnswerLimits
  private let stored: StoredHealth
  private let mergedOnly: Bool
  private let summary: SummaryQuery?
  /// The answer that is being made.
  private var answer: HealthAnswer?
  /// What is asked after it.
  private var queries: [HealthDataQuery]
  private var results: [SummaryResult] = []
  /// Bytes that are left for the rest.
  private var room: Int

  /// Begins to answer.
  ///
  /// - Parameters:
  ///   - zone: The user's.
  ///   - now: The wall clock's time.
  ///   - stored: What the store holds, so that the answer tells how fresh it is.
  ///   - mergedOnly: Leaves out what single sources come to where there is a merged value, so that
  ///     many sources do not take the room of many days.
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

  /// What stands around a summary's results, and around each of them, in bytes.
  private static let aroundResults = 1_000
  private static let aroundResult = 100

  /// Takes the page that `step` asked for.
  public mutating func take(_ page: HealthSamplePage) {
    answer?.take(page)
    goOn()
  }

  /// Takes the news that what `step` asked for cannot be read; `reason` is for people.
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
    // What is left, evenly; a short answer leaves more to those after it.
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
  /// The metrics as questions of their own; what was left open is chosen here.
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

  /// Days up to 31 of them, weeks up to 93, else months; by the calendar, not by hours.
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
  /// Adds the failures of lines that could not be asked, each at its place.
  public mutating func insert(_ rejected: [RejectedMetric]) {
    for line in rejected.sorted(by: { $0.place < $1.place }) {
      let failed = SummaryResult(valueType: line.valueType, data: .failure(line.reason))
      results.insert(failed, at: max(0, min(line.place, results.count)))
    }
  }
}

extension AnswerLimits {
  /// The limits of one answer: no more than its question allows.
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
