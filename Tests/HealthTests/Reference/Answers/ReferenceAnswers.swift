import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// A reference implementation of answers to health questions that scans every sample.
struct ReferenceAnswers {
  let clock: ReferenceClock
  let now: Int64
  let limits: AnswerLimits
  let stored: StoredHealth
  let store: ReferenceStore
  /// The number of the read that fails, counted from 1; 0 if none fails.
  var failing = 0
  /// The reason for the failure of that read.
  static let fault = "the disk is \"locked\""

  /// The queries that have been made.
  private(set) var reads: [HealthSampleQuery] = []
  private(set) var points = 0
  private(set) var isCut = false
  /// Whether an answer exceeded the limit of groups. The tested code may then read fewer samples.
  var hasTooManyGroups = false
  /// The lengths of the points of the latest answer in bytes, in chronological order.
  private(set) var lengths: [Int] = []
  /// The number of bytes of a summary that were used or reserved before its latest answer.
  private(set) var spent = 0

  init(
    _ zone: ZoneRules, at now: Timestamp, _ limits: AnswerLimits, _ stored: StoredHealth,
    _ store: ReferenceStore
  ) {
    (clock, self.now) = (ReferenceClock(zone), now.nanoseconds)
    (self.limits, self.stored, self.store) = (limits, stored, store)
  }

  /// Returns the JSON object that answers a question.
  mutating func answer(_ question: HealthQuestion) -> String {
    switch question {
    case .healthData(let query):
      return answer(query, atMost: min(limits.maxBytes, query.maxBytes ?? 32_768)).text
    case .summary(let query): return answer(query)
    case .types: return ""
    }
  }

  private mutating func answer(
    _ query: HealthDataQuery, atMost most: Int
  ) -> (text: String, reason: String?) {
    do throws(ReferenceRefusal) {
      let window = try ReferenceWindow(query, clock, at: now)
      let figures = try ReferenceFigures(query)
      let page = try read(window, figures, atMost: most)
      return (try encode(page, window, figures, atMost: most), nil)
    } catch {
      let text = JSONText.object(["success": "false", "error_message": JSONText.text(error.text)])
      return (text, error.text)
    }
  }

  /// Reads a page from the store. Throws an error if `failing` is the number of this read.
  mutating func page(_ query: HealthSampleQuery) throws(ReferenceRefusal) -> HealthSamplePage {
    reads.append(query)
    if reads.count == failing {
      throw ReferenceRefusal(text: "the health data cannot be read: " + Self.fault)
    }
    return store.page(query)
  }

  /// The points of an answer, and the number of samples that were skipped.
  struct Lines {
    var all: [ReferencePoint] = []
    var skipped = 0
  }

  private mutating func read(
    _ window: ReferenceWindow, _ figures: ReferenceFigures, atMost most: Int
  ) throws(ReferenceRefusal) -> Lines {
    if window.query.groupBy == nil {
      return try samples(window, figures.kinds, room: max(0, most - 1_500))
    }
    if window.isSleep { return try nights(window, figures.names[0]) }
    return try statistics(window, figures, spans: max(4, most / 60))
  }

  /// Returns the encoded answer. It ends before the first time whose points do not all fit.
  private mutating func encode(
    _ lines: Lines, _ window: ReferenceWindow, _ figures: ReferenceFigures, atMost most: Int
  ) throws(ReferenceRefusal) -> String {
    lengths = []
    var (room, next): (Int, Int64?) = (max(0, most - 1_500), nil)
    for line in lines.all.sorted(by: { $0.moment < $1.moment }) {
      lengths.append(line.text.utf8.count + 1)
      room -= line.text.utf8.count + 1
      if room < 0, next == nil { next = line.moment }
    }
    var included = lines.all
    if let next {
      included.removeAll { $0.moment >= next }
      if included.isEmpty {
        throw ReferenceRefusal(text: "more at one time than an answer can hold; ask with group_by")
      }
      isCut = true
    }
    points += included.count
    return reply(included.map(\.text), next, lines.skipped, window, figures)
  }

  // MARK: - Summaries

  private mutating func answer(_ query: SummaryQuery) -> String {
    let most = min(limits.maxBytes, query.maxBytes ?? 32_768)
    spent = 1_000
    var metrics = query.metrics
    if metrics.isEmpty, query.rejected.isEmpty {
      metrics = [.steps, .calories, .distance, .workout, .sleep].map {
        SummaryMetric(valueType: $0)
      }
    }
    let first = clock.local(clock.moment(of: query.start))
    let days = clock.local(clock.moment(of: query.end)) - first
    let grouping: HealthGrouping =
      days > 93 * ReferenceClock.day ? .month : days > 31 * ReferenceClock.day ? .week : .day
    var results: [(type: String, text: String, reason: String?)] = []
    for (index, metric) in metrics.enumerated() {
      let asked = HealthDataQuery(
        valueType: metric.valueType, start: query.start, end: query.end,
        groupBy: metric.groupBy ?? grouping, statistic: metric.statistic)
      let room = max(0, most - spent) / (metrics.count - index)
      let (text, reason) = answer(asked, atMost: room)
      if index + 1 < metrics.count { spent += text.utf8.count + 100 }
      results.append((metric.valueType.rawValue, text, reason))
    }
    for index in Set(query.rejected.map(\.index)).sorted() {
      for line in query.rejected where line.index == index {
        let at = index < 0 ? 0 : index > results.count ? results.count : index
        results.insert((line.valueType, "", line.reason), at: at)
      }
    }
    return summary(query, results)
  }
}
