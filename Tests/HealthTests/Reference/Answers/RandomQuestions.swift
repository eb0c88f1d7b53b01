import HoldfastCore
import HoldfastHealth

/// A generator of health questions and of the samples that answer them.
struct RandomQuestions: RandomInput {
  var generator: RandomSource

  static let usualLimits = AnswerLimits(
    maxBytes: 199_000, pageLimit: 5_000, batch: .seconds(6_480_000), isExact: true)
  private static let none = HealthTime.local(CivilTime(nanoseconds: 0))

  /// Draws a question about one value type.
  mutating func question() -> AnswerCase {
    var query = query()
    let isSpread = ReferenceType.all(query.valueType).contains(where: \.isSpread)
    let isExact = query.groupBy != nil && isSpread ? !happens(6) : happens(4)
    var scenario = scenario(query.groupBy, isExact: isExact)
    (query.start, query.end) = (scenario.start, scenario.end)
    fill(&scenario, query)
    var drawn = AnswerCase(
      question: .healthData(query), scenario: scenario,
      limits: AnswerLimits(
        maxBytes: one([199_000, 8 << 20]), pageLimit: one([0, 1, 2, 3, 7, 5_000]),
        batch: batch(scenario), isExact: true),
      stored: stored(scenario, query.valueType),
      store: ReferenceStore(scenario.samples, isLoose: happens(3)))
    if happens(12), !scenario.isLong {
      (drawn.limits, drawn.stored, drawn.isPlain) = (Self.usualLimits, StoredHealth(), true)
    } else if !isSpread || query.groupBy == nil || scenario.isExact, happens(2) {
      limit(&drawn, query)
    }
    drawFailure(&drawn)
    return drawn
  }

  /// Limits the length of an answer to the length of its first points, or to one byte less or more.
  private mutating func limit(_ drawn: inout AnswerCase, _ query: HealthDataQuery) {
    var query = query
    query.maxBytes = 8 << 20
    var reference = drawn.reference
    _ = reference.answer(.healthData(query))
    let lengths = reference.lengths
    let count = one([1, 2, number(0...lengths.count)])
    let bytes = 1_500 + lengths.prefix(count).reduce(0, +)
    query.maxBytes = nil
    if happens(2) {
      query.maxBytes = bytes + number(-1...1)
    } else {
      drawn.limits.maxBytes = max(0, happens(9) ? 0 : bytes + number(-1...1))
    }
    drawn.question = .healthData(query)
  }

  /// Draws a question that asks for a summary.
  mutating func summary() -> AnswerCase {
    var scenario = scenario(nil, isExact: true)
    let metrics = (0..<number(0...3)).map { _ in
      SummaryMetric(
        valueType: one(HealthValueType.allCases),
        groupBy: happens(3) ? one([.day, .total]) : nil,
        statistic: happens(3) ? one(HealthStatistic.allCases) : nil)
    }
    let rejected = (0..<(happens(3) ? number(1...3) : 0)).map { index in
      RejectedMetric(index: number(-1...4), valueType: "NO\(index)", reason: "a \"word\"")
    }
    var query = SummaryQuery(
      start: scenario.start, end: scenario.end, metrics: metrics, rejected: rejected)
    let types = metrics.isEmpty ? [HealthValueType.steps, .sleep] : metrics.map(\.valueType)
    for type in Set(types).sorted(by: { $0.rawValue < $1.rawValue }) {
      let query = HealthDataQuery(
        valueType: type, start: Self.none, end: Self.none, groupBy: .day)
      fill(&scenario, query)
    }
    var drawn = AnswerCase(
      question: .summary(query), scenario: scenario,
      limits: AnswerLimits(
        maxBytes: 300_000, pageLimit: number(2...9), batch: batch(scenario), isExact: true),
      stored: stored(scenario, .steps), store: ReferenceStore(scenario.samples, isLoose: false))
    if scenario.isExact, happens(2) {
      var reference = drawn.reference
      _ = reference.answer(.summary(query))
      let count = number(1...max(1, reference.lengths.count))
      let sum = reference.lengths.prefix(count).reduce(0, +)
      let bytes = reference.spent + 1_500 + sum + one([-1, 0, 0, 1, -600])
      if happens(2) { query.maxBytes = bytes } else { drawn.limits.maxBytes = bytes }
      drawn.question = .summary(query)
    }
    drawFailure(&drawn)
    return drawn
  }

  private mutating func query() -> HealthDataQuery {
    let valueType = happens(4) ? one(HealthValueType.allCases) : one(Self.complexTypes)
    let grouping = happens(5) ? nil : one(Self.groupings)
    let hasStatistic = grouping == nil ? happens(8) : !happens(4)
    // Statistics that compare nights cannot be grouped by hour.
    let isHourly = valueType == .sleep && grouping == .hour && !happens(6)
    let all: [HealthStatistic] = HealthStatistic.allCases + [.latest]
    let statistics = isHourly ? [.sum, .count, .latest] : all
    return HealthDataQuery(
      valueType: valueType, start: Self.none, end: Self.none, groupBy: grouping,
      statistic: hasStatistic ? one(statistics) : nil,
      options: HealthOptions(bySource: !happens(3)))
  }

  private static let groupings: [HealthGrouping] = [
    .hour, .day, .day, .week, .month, .year, .total, .total,
  ]
  /// The value types with the most rules.
  private static let complexTypes: [HealthValueType] = [
    .sleep, .sleep, .sleep, .steps, .steps, .bodyMetrics, .bodyMetrics, .workout, .heartRate,
  ]

  private mutating func batch(_ scenario: AnswerScenario) -> Duration {
    let hours = max(1, (scenario.to - scenario.from) / ReferenceClock.hour)
    let least =
      .seconds(3_600 * (hours / 5))
      + one([Duration.zero, .zero, .zero, .seconds(-1), .seconds(1), .nanoseconds(1)])
    let usual = scenario.isLong ? least : Self.usualLimits.batch
    return one([least, least, usual, .seconds(1 << 40)])
  }

  private mutating func stored(
    _ scenario: AnswerScenario, _ valueType: HealthValueType
  ) -> StoredHealth {
    var stored = StoredHealth()
    for kind in ReferenceType.all(valueType) where !happens(3) {
      let edge = one(scenario.edges)
      stored.lastSamples[kind.id] = Timestamp(nanoseconds: edge + Int64(number(0...9)))
    }
    if happens(2) { stored.lastImport = Timestamp(nanoseconds: one(scenario.edges)) }
    return stored
  }

  /// Makes one read of the store fail in some cases, but never if the answer can end before that
  /// read.
  private mutating func drawFailure(_ drawn: inout AnswerCase) {
    let isShort = drawn.limits.maxBytes <= 99_999 || drawn.question.maxBytes != nil
    drawn.failing = !isShort && happens(9) ? number(1...3) : 0
  }
}

extension HealthQuestion {
  fileprivate var maxBytes: Int? {
    switch self {
    case .healthData(let query): query.maxBytes
    case .summary(let query): query.maxBytes
    case .types: nil
    }
  }
}
