import HoldfastCore

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// A generator of questions, replies and samples for round-trip tests of their codecs.
struct RandomValues: RandomInput {
  var generator: RandomSource

  private static let texts = [
    "", "STEPS", "é", "e\u{301}", "a \"b\" \\", "line\nline", "\u{1}", "0123456", "01234567",
    "0123456789abcde", "0123456789abcdef", "0123456789abcdef0", String(of: "a", count: 256),
  ]

  private mutating func text() -> String { one(Self.texts) }

  /// Draws a text of at least one character.
  private mutating func name() -> String { one(Array(Self.texts.dropFirst())) }

  private mutating func time() -> HealthTime {
    let second = Int64(number(-9_000_000_000...9_000_000_000))
    let moment = second * 1_000_000_000 + one([0, 0, 1, 500_000_000, 999_999_999])
    let east = maybe(one([-1_139, -600, -61, -59, -1, 0, 1, 9, 60, 1_139]))
    return happens(4)
      ? .local(CivilTime(nanoseconds: moment))
      : .instant(Timestamp(nanoseconds: moment), minutesEast: east)
  }

  private mutating func double() -> Double { one([0, 1, 61.5, -3, 1e21, 1e-7, 5e15, 0.1, -1e300]) }

  // MARK: - Questions

  mutating func query() -> HealthDataQuery {
    HealthDataQuery(
      valueType: one(HealthValueType.allCases), start: time(), end: time(),
      groupBy: maybe(one(HealthGrouping.allCases)),
      statistic: maybe(one(HealthStatistic.allCases)), maxBytes: maybe(one([2_000, 8_388_608])),
      options: options())
  }

  private mutating func options() -> HealthOptions {
    HealthOptions(
      bySource: happens(2), format: maybe(one(HealthFormat.allCases)),
      compareWith: maybe(QuerySpan(start: time(), end: time())), trend: happens(2),
      nearest: happens(2), workoutType: maybe(one(["RUNNING", "é"])))
  }

  mutating func summaryQuery() -> SummaryQuery {
    SummaryQuery(
      start: time(), end: time(),
      metrics: (0..<number(0...3)).map { _ in
        SummaryMetric(
          valueType: one(HealthValueType.allCases), groupBy: maybe(one(HealthGrouping.allCases)),
          statistic: maybe(one(HealthStatistic.allCases)))
      },
      rejected: (0..<number(0...3)).map { _ in
        RejectedMetric(index: one([0, 1, 64]), valueType: text(), reason: text())
      }, maxBytes: maybe(one([2_000, 8_388_608])), options: options())
  }

  // MARK: - Replies

  private mutating func sleepTimes() -> SleepTimes {
    SleepTimes(
      inBed: maybe(double()), awake: maybe(double()), light: maybe(double()),
      deep: maybe(double()), rem: maybe(double()), unspecified: maybe(double()),
      nights: number(0...3), naps: one([0, 1, .max]), napMinutes: maybe(double()))
  }

  private mutating func value() -> HealthPointValue {
    switch number(0...3) {
    case 0: .number(double())
    case 1: .text(text())
    case 2:
      .workout(
        WorkoutTotals(
          type: text(), distance: maybe(double()), energy: maybe(double()),
          steps: maybe(double()), sessions: one([0, 1, 1 << 53]), duration: maybe(double()),
          heartRate: maybe(double())))
    case _:
      .nutrition(
        NutritionTotals(
          calories: maybe(double()), protein: maybe(double()), carbs: maybe(double()),
          fat: maybe(double())))
    }
  }

  private mutating func freshness() -> HealthFreshness {
    HealthFreshness(
      zone: name(), answered: time(), imported: maybe(time()),
      lastSamples: (0..<number(0...2)).map { _ in
        HealthFreshness.LastSample(type: name(), at: maybe(time()))
      })
  }

  mutating func reply() -> HealthReply {
    var query = query()
    // A reply does not contain these members.
    query.maxBytes = nil
    if query.options.format == .table { query.options.format = .points }
    if query.groupBy == nil { query.statistic = nil }
    return HealthReply(
      query: query,
      points: (0..<number(0...3)).map { _ in
        HealthPoint(
          type: name(), value: value(), unit: text(), start: time(), end: time(),
          source: maybe(text()), statistic: maybe(text()), isMerged: happens(2),
          isPartial: happens(2), sleep: maybe(sleepTimes()), workoutType: maybe(text()),
          part: maybe(text()))
      }, nextStart: maybe(time()), skipped: one([0, 1, .max]),
      notes: (0..<number(0...2)).map { _ in text() }, freshness: maybe(freshness()))
  }

  mutating func summaryReply() -> SummaryReply {
    SummaryReply(
      start: time(), end: time(),
      results: (0..<number(0...3)).map { _ in
        SummaryResult(valueType: text(), data: happens(2) ? reply().object : .failure(text()))
      }, freshness: maybe(freshness()))
  }

  // MARK: - Samples

  private mutating func sample() -> HealthSample {
    let value: HealthSampleValue =
      switch number(0...3) {
      case 0: .category(text())
      case 1:
        .workout(
          WorkoutValue(
            activity: text(), duration: maybe(.seconds(60)), distance: maybe(double()),
            energy: maybe(double()), steps: maybe(double())))
      case _: .quantity(happens(8) ? -0.0 : double())
      }
    let start = Int64(number(-9...9)) << 50 + one([-1, 0, 1])
    return HealthSample(
      type: text(), value: value, unit: maybe(text()), start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start + one([0, 1, 60])), source: text(),
      device: maybe(text()), zone: maybe(text()))
  }

  mutating func samples() -> [HealthSample] { (0..<number(0...9)).map { _ in sample() } }

  /// Draws coverage intervals for the types of the samples. Some contain the start of a sample.
  mutating func intervals(_ samples: [HealthSample]) -> [CoverageInterval] {
    guard !samples.isEmpty else { return [] }
    return (0..<number(0...3)).map { _ in
      let from = one(samples).start.nanoseconds + one([-1, 0, 0, 1])
      return CoverageInterval(
        type: one(samples).type, from: Timestamp(nanoseconds: from),
        to: Timestamp(nanoseconds: from + one([-1, 0, 1, 1 << 51])))
    }
  }
}
