import LinkCore
import LinkHealth

/// A second account of answers about health: everything is read, kept, and gone through.
struct HealthAnswerTwin {
  let clock: AnswerClock
  let now: Int64
  let limits: AnswerLimits
  let stored: StoredHealth
  let store: AnswerStore
  /// The number of the read that fails, from 1; none does by default.
  var failing = 0
  /// What is told of a read that fails.
  static let fault = "the disk is \"locked\""

  /// What was read.
  private(set) var reads: [HealthSampleQuery] = []
  private(set) var points = 0
  private(set) var isCut = false
  /// Whether an answer had more spans than it keeps, so that it may have read less.
  var isBrief = false
  /// How long each point of the latest answer was, in order of time.
  private(set) var lengths: [Int] = []
  /// The bytes of a summary that stand before its latest answer, or are kept for what is around.
  private(set) var spent = 0

  init(
    _ zone: ZoneRules, at now: Timestamp, _ limits: AnswerLimits, _ stored: StoredHealth,
    _ store: AnswerStore
  ) {
    (clock, self.now) = (AnswerClock(zone), now.nanoseconds)
    (self.limits, self.stored, self.store) = (limits, stored, store)
  }

  /// Returns the object that answers a question.
  mutating func answer(_ question: HealthQuestion) -> String {
    switch question {
    case .healthData(let query):
      let usual = query.groupBy == nil ? 32_768 : limits.maxBytes
      return answer(query, atMost: min(limits.maxBytes, query.maxBytes ?? usual)).text
    case .summary(let query): return answer(query)
    }
  }

  private mutating func answer(
    _ query: HealthDataQuery, atMost most: Int
  ) -> (text: String, reason: String?) {
    do throws(AnswerReason) {
      let frame = try AnswerFrame(query, clock, at: now)
      let figures = try AnswerFigures(query)
      let page = try read(frame, figures, atMost: most)
      return (try told(page, frame, figures, atMost: most), nil)
    } catch {
      let text = JSONTexts.object(["success": "false", "error_message": JSONTexts.text(error.text)])
      return (text, error.text)
    }
  }

  /// Reads a page.
  mutating func page(_ query: HealthSampleQuery) throws(AnswerReason) -> HealthSamplePage {
    reads.append(query)
    if reads.count == failing {
      throw AnswerReason(text: "the phone's health data cannot be read: " + Self.fault)
    }
    return store.page(query)
  }

  /// The points that were made, and how many samples were left out.
  struct Lines {
    var all: [AnswerLine] = []
    var skipped = 0
  }

  private mutating func read(
    _ frame: AnswerFrame, _ figures: AnswerFigures, atMost most: Int
  ) throws(AnswerReason) -> Lines {
    if frame.query.groupBy == nil {
      return try samples(frame, figures.kinds, room: max(0, most - 1_500))
    }
    if frame.isSleep { return try nights(frame, figures.words[0]) }
    return try statistics(frame, figures, spans: max(2, most / 60))
  }

  /// Keeps as many whole moments as fit, and writes them.
  private mutating func told(
    _ lines: Lines, _ frame: AnswerFrame, _ figures: AnswerFigures, atMost most: Int
  ) throws(AnswerReason) -> String {
    lengths = []
    var (room, next): (Int, Int64?) = (max(0, most - 1_500), nil)
    for line in lines.all.sorted(by: { $0.moment < $1.moment }) {
      lengths.append(line.text.utf8.count + 1)
      room -= line.text.utf8.count + 1
      if room < 0, next == nil { next = line.moment }
    }
    var kept = lines.all
    if let next {
      kept.removeAll { $0.moment >= next }
      if kept.isEmpty {
        throw AnswerReason(text: "more at one time than an answer can hold; ask with group_by")
      }
      isCut = true
    }
    points += kept.count
    return reply(kept.map(\.text), next, lines.skipped, frame, figures)
  }

  // MARK: - Summaries

  private mutating func answer(_ query: SummaryQuery) -> String {
    let most = min(limits.maxBytes, query.maxBytes ?? limits.maxBytes)
    spent = 1_000
    var metrics = query.metrics
    if metrics.isEmpty, query.rejected.isEmpty {
      metrics = [.steps, .calories, .distance, .workout, .sleep].map {
        SummaryMetric(valueType: $0)
      }
    }
    let first = clock.shown(clock.moment(of: query.start))
    let days = clock.shown(clock.moment(of: query.end)) - first
    let grouping: HealthGrouping =
      days > 93 * AnswerClock.day ? .month : days > 31 * AnswerClock.day ? .week : .day
    var results: [(word: String, text: String, reason: String?)] = []
    for (place, metric) in metrics.enumerated() {
      let asked = HealthDataQuery(
        valueType: metric.valueType, start: query.start, end: query.end,
        groupBy: metric.groupBy ?? grouping, statistic: metric.statistic)
      let room = max(0, most - spent) / (metrics.count - place)
      let (text, reason) = answer(asked, atMost: room)
      if place + 1 < metrics.count { spent += text.utf8.count + 100 }
      results.append((metric.valueType.rawValue, text, reason))
    }
    for place in Set(query.rejected.map(\.place)).sorted() {
      for line in query.rejected where line.place == place {
        let at = place < 0 ? 0 : place > results.count ? results.count : place
        results.insert((line.valueType, "", line.reason), at: at)
      }
    }
    return summary(query, results)
  }
}
