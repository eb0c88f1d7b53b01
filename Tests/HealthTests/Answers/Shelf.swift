import HoldfastCore
import HoldfastJSON

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Samples in memory that can be read like a store.
struct Shelf {
  /// The limits that most tests use. Numbers are not rounded.
  static let exact = AnswerLimits(maxBytes: 8 << 20, pageLimit: 7, isExact: true)

  private var samples: [HealthSample]
  /// Whether a query includes both ends of its interval, as queries of the platforms do.
  private let isLoose: Bool

  init(_ samples: [HealthSample], isLoose: Bool = false) {
    self.samples = samples.sorted { ($0.start, $0.key) < ($1.start, $1.key) }
    self.isLoose = isLoose
  }

  func page(_ query: HealthSampleQuery) -> HealthSamplePage {
    let found = samples.filter { sample in
      let isInside =
        isLoose
        ? sample.start <= query.to && sample.end >= query.from
        : query.covers(start: sample.start, end: sample.end)
      guard isInside, query.types.contains(sample.type) else { return false }
      guard let after = query.after else { return true }
      return (sample.start, sample.key) > (after.start, after.key)
    }
    let page = Array(found.prefix(query.limit))
    let next = page.last.map { HealthSamplePosition(type: $0.type, start: $0.start, key: $0.key) }
    return HealthSamplePage(samples: page, next: found.count > page.count ? next : nil)
  }

  /// Returns the object that answers a question.
  func answer(
    _ question: HealthQuestion, zone: ZoneRules = .utc, now: String = "2027-01-01T00:00:00Z",
    limits: AnswerLimits = Shelf.exact,
    stored: StoredHealth = StoredHealth()
  ) -> HealthObject {
    // Tests of other things than lengths get whole answers.
    let question = limits == Shelf.exact ? question.unlimited : question
    var answering = HealthAnswering(
      question, zone: zone, now: at(now), limits: limits, stored: stored)
    while true {
      switch answering.step {
      case .read(let query): answering.take(page(query))
      case .list: answering.take([])
      case .done(let object): return object
      }
    }
  }

  /// Returns the reply to a question about health data.
  func reply(
    _ query: HealthDataQuery, zone: ZoneRules = .utc,
    limits: AnswerLimits = Shelf.exact
  ) throws(FieldFault) -> HealthReply {
    try HealthReply.read(answer(.healthData(query), zone: zone, limits: limits).bytes)
  }

  /// Returns a reply that has only the points of single sources, and no freshness, statistic
  /// labels, partial marks or sleep times.
  func parts(
    _ query: HealthDataQuery, zone: ZoneRules = .utc,
    limits: AnswerLimits = Shelf.exact
  ) throws(FieldFault) -> HealthReply {
    var reply = try reply(query, zone: zone, limits: limits)
    reply.freshness = nil
    reply.points.removeAll { $0.isMerged || $0.source == "all" }
    for index in reply.points.indices {
      reply.points[index].statistic = nil
      reply.points[index].isPartial = false
      reply.points[index].sleep = nil
    }
    return reply
  }

  /// Returns the merged points of the reply in order.
  func merged(_ query: HealthDataQuery, zone: ZoneRules = .utc) throws -> [HealthPoint] {
    try reply(query, zone: zone).points.filter(\.isMerged)
  }
}

extension HealthQuestion {
  /// The question with the maximum size, unless it has one.
  fileprivate var unlimited: HealthQuestion {
    switch self {
    case .healthData(var query):
      query.maxBytes = query.maxBytes ?? HealthObject.maxBytes
      return .healthData(query)
    case .summary(var query):
      query.maxBytes = query.maxBytes ?? HealthObject.maxBytes
      return .summary(query)
    case .types: return self
    }
  }
}

/// Returns a question. `start` and `end` are ISO 8601 times. By default, the answer has the points
/// of each source.
func ask(
  _ valueType: HealthValueType, _ start: String, _ end: String, _ groupBy: HealthGrouping? = nil,
  _ statistic: HealthStatistic? = nil, options: HealthOptions = HealthOptions(bySource: true)
) -> HealthDataQuery {
  HealthDataQuery(
    valueType: valueType, start: time(start), end: time(end), groupBy: groupBy,
    statistic: statistic, options: options)
}

/// Returns a quantity sample. `type` is HealthKit's identifier without its prefix.
func quantity(
  _ type: String, _ value: Double, _ unit: String?, _ start: String, _ end: String? = nil,
  source: String = "Watch"
) -> HealthSample {
  HealthSample(
    type: "HKQuantityTypeIdentifier" + type, value: .quantity(value), unit: unit, start: at(start),
    end: at(end ?? start), source: source)
}

/// Returns a sample of steps.
func steps(_ value: Double, _ start: String, _ end: String, source: String = "Watch")
  -> HealthSample
{
  quantity("StepCount", value, "count", start, end, source: source)
}

/// Returns a sample of a sleep stage.
func stage(_ name: String, _ start: String, _ end: String, source: String = "Watch")
  -> HealthSample
{
  HealthSample(
    type: "HKCategoryTypeIdentifierSleepAnalysis",
    value: .category("HKCategoryValueSleepAnalysis" + name), start: at(start), end: at(end),
    source: source)
}

/// Returns a workout sample.
func workout(
  _ activity: String, _ start: String, _ end: String, distance: Double? = nil,
  energy: Double? = nil, steps: Double? = nil
) -> HealthSample {
  HealthSample(
    type: HealthSample.workoutType,
    value: .workout(
      WorkoutValue(
        activity: "HKWorkoutActivityType" + activity, distance: distance, energy: energy,
        steps: steps)),
    start: at(start), end: at(end), source: "Watch")
}

/// Returns a point with one number.
func point(
  _ type: String, _ value: Double, _ unit: String, _ start: String, _ end: String,
  source: String? = "Watch"
) -> HealthPoint {
  HealthPoint(
    type: type, value: .number(value), unit: unit, start: time(start), end: time(end),
    source: source)
}
