import HoldfastCore
import HoldfastHealthSamples

/// The answer to one query for samples, with everything that its options require.
///
///     wanted ──▶ take(page) ──▶ wanted … ──▶ nil, then reply()
///
/// A comparison reads both spans, and averages of both if sums of different lengths are compared. A
/// trend of months or years also reads averages. The search for the last value before a time reads
/// back span by span. Every other query reads one span.
struct AnswerJob: Sendable {
  /// The query as it was asked, with the defaults of its options.
  let query: HealthDataQuery
  private let zone: ZoneRules
  private let now: Timestamp
  private let limits: AnswerLimits
  private let stored: StoredHealth
  /// The answers that are complete, and the one that is in progress.
  private var answers: [HealthAnswer]
  private var search: NearestSearch?
  /// The reason why a later answer could not begin.
  private var refusal: AnswerRefusal?

  init(
    _ query: HealthDataQuery, zone: ZoneRules, now: Timestamp, limits: AnswerLimits,
    stored: StoredHealth
  ) throws(AnswerRefusal) {
    let query = try query.checked()
    self.query = query
    (self.zone, self.now, self.limits, self.stored) = (zone, now, limits, stored)
    let first = try HealthAnswer(query, zone: zone, now: now, limits: limits, stored: stored)
    answers = [first]
    if query.options.nearest { search = NearestSearch(first.kinds.map(\.type)) }
    if query.options.compareWith != nil { try beginPrevious() }
    goOn()
  }

  /// The next query of samples, or `nil` when the answer is complete.
  var wanted: HealthSampleQuery? { refusal == nil ? answers.last?.wanted : nil }

  /// Adds the page that `wanted` requested.
  mutating func take(_ page: HealthSamplePage) {
    guard !answers.isEmpty else { return }
    answers[answers.count - 1].take(page)
    goOn()
  }

  /// Refuses the answer.
  mutating func refuse(_ refusal: AnswerRefusal) { self.refusal = refusal }

  /// Begins the next answer when one is complete.
  private mutating func goOn() {
    while refusal == nil, let last = answers.last, last.wanted == nil {
      if let reason = last.refusal { return refuse(reason) }
      do throws(AnswerRefusal) {
        guard let next = try next(after: last) else { return }
        answers.append(next)
      } catch {
        refusal = error
      }
    }
  }

  private mutating func next(after last: HealthAnswer) throws(AnswerRefusal) -> HealthAnswer? {
    if search != nil { return try earlier(last) }
    switch answers.count {
    case 1 where compares: return try previous(of: answers[0], nil)
    case answersWithoutAverages:
      return try needsAverages() ? averages(of: answers[0].query) : nil
    case 3 where compares: return try previous(of: answers[2], answers[0].averagedTypes)
    case _: return nil
    }
  }

  private var compares: Bool { query.options.compareWith != nil }

  /// The number of answers to the question itself. Those about averages follow.
  private var answersWithoutAverages: Int { compares ? 2 : 1 }

  /// Returns whether the sums are not comparable, because their spans differ in length.
  private func needsAverages() throws(AnswerRefusal) -> Bool {
    let types = answers[0].averagedTypes
    guard !types.isEmpty else { return false }
    if query.options.trend, query.groupBy == .month || query.groupBy == .year { return true }
    return compares ? try comparison(try answers[0].collected()).needsAverages(of: types) : false
  }

  private func comparison(
    _ points: [TimedPoint], averages: [[TimedPoint]] = []
  ) throws(AnswerRefusal) -> AnswerComparison {
    AnswerComparison(
      (answers[0], points), (answers[1], try answers[1].collected()),
      averages: averages.count > 1 ? (averages[0], averages[1]) : ([], []))
  }

  /// Checks the span of a comparison before anything is read.
  private func beginPrevious() throws(AnswerRefusal) { _ = try previous(of: answers[0], nil) }

  /// Returns the answer to the same question about the span of the comparison.
  private func previous(
    of answer: HealthAnswer, _ only: Set<String>?
  ) throws(AnswerRefusal) -> HealthAnswer {
    guard let span = query.options.compareWith else { return answer }
    var other = answer.query
    (other.start, other.end) = (span.start, span.end)
    do throws(AnswerRefusal) {
      return try HealthAnswer(
        other, zone: zone, now: now, limits: limits, stored: stored, only: only)
    } catch {
      throw .comparison(error)
    }
  }

  private func averages(of query: HealthDataQuery) throws(AnswerRefusal) -> HealthAnswer {
    var other = query
    other.statistic = .average
    return try HealthAnswer(
      other, zone: zone, now: now, limits: limits, stored: stored,
      only: answers[0].averagedTypes)
  }

  /// Returns the answer about the next earlier span, limited to the types that have no value yet.
  private mutating func earlier(_ last: HealthAnswer) throws(AnswerRefusal) -> HealthAnswer? {
    search?.found(try last.collected())
    let span = search?.next(before: query.end, oldest: AnswerWindow.oldest, in: zone)
    guard let span, let missing = search?.missing else { return nil }
    var other = query
    (other.start, other.end) = (span.start, span.end)
    var limits = limits
    // The spans are long and have few samples, so that they are read at once.
    limits.batch = .seconds(Int64(50_000) * 86_400)
    return try HealthAnswer(
      other, zone: zone, now: now, limits: limits, stored: stored, only: missing)
  }

  /// Returns the complete answer, once `wanted` is `nil`.
  func reply() throws(AnswerRefusal) -> HealthReply {
    if let refusal { throw refusal }
    var first = answers[0]
    first.noteEmptySpan()
    if search != nil {
      for answer in answers.dropFirst() { first.activities.formUnion(answer.activities) }
    }
    first.noteActivities()
    var points = try first.collected()
    var notes: [String] = []
    if search != nil {
      for answer in answers.dropFirst() { points += try answer.collected() }
    }
    var averages: [[TimedPoint]] = []
    if search == nil {
      for answer in answers.dropFirst(answersWithoutAverages) {
        averages.append(try answer.collected())
      }
    }
    if compares, answers.count > 1 {
      let comparison = try comparison(points, averages: averages)
      points = comparison.applied(to: points)
      notes += comparison.notes(points)
    }
    var trends: [HealthTrend] = []
    if query.options.trend {
      trends = try first.trends(points, averages: averages.first ?? [])
      if trends.isEmpty { notes.append("No trend: it needs at least two whole spans with data.") }
    }
    return try first.reply(points, to: query, trends: trends, notes: notes)
  }
}

extension HealthDataQuery {
  /// Returns the query with the defaults of its options. Throws an error if its options do not go
  /// together.
  fileprivate func checked() throws(AnswerRefusal) -> HealthDataQuery {
    var query = self
    if options.nearest {
      guard !options.trend, options.compareWith == nil else { throw .option(.nearestAlone) }
      guard groupBy ?? .total == .total, statistic ?? .latest == .latest else {
        throw .option(.nearestIsLatest)
      }
      (query.groupBy, query.statistic) = (.total, .latest)
    }
    if options.trend, groupBy?.isSeries != true { throw .option(.trendNeedsSeries) }
    if options.compareWith != nil, groupBy == nil { throw .option(.comparisonAlone) }
    if options.workoutType != nil, valueType != .workout { throw .option(.notWorkouts) }
    return query
  }
}
