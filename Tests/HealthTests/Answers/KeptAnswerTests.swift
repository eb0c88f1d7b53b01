import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastTestKit
import Testing

/// Tests that compare answers to questions of all kinds about the same days with golden files.
///
/// If an answer differs, compare its text before and after the change.
@Suite struct KeptAnswerTests {
  /// Samples of days around a clock change in Europe.
  private static let samples: [HealthSample] =
    (try? Export(Export.generated(firstDay: 20_538, days: 5, density: 0.05)).samples) ?? []
  private static let shelf = Shelf(samples)
  private static let limits = AnswerLimits(maxBytes: 8 << 20)
  private static let statistics = [nil] + HealthStatistic.allCases.map(Optional.some)

  private static func line(_ name: String, _ answer: HealthObject) -> String {
    "\(name): \(answer.bytes.count) bytes, \(GoldenText.digest(answer.bytes))"
  }

  private static func answers(
    _ zone: String, _ valueTypes: [HealthValueType], _ statistics: [HealthStatistic?],
    limits: AnswerLimits = limits
  ) -> [String] {
    valueTypes.flatMap { valueType in
      ([nil] + HealthGrouping.allCases.map(Optional.some)).flatMap { groupBy in
        statistics.map { statistic in
          let query = ask(
            valueType, "2026-03-26T13:05:00", "2026-03-31T07:00:00", groupBy, statistic)
          let parts = [valueType.rawValue, groupBy?.rawValue, statistic?.rawValue]
          return line(
            parts.compactMap(\.self).joined(separator: " "),
            shelf.answer(
              .healthData(query), zone: Zones.rules(zone), now: "2026-03-30T12:00:00Z",
              limits: limits))
        }
      }
    }
  }

  @Test func `the answer to each kind of question matches the golden file`() throws {
    #expect(Self.samples.count > 500)
    let lines = Self.answers("UTC", HealthValueType.allCases, Self.statistics)
    #expect(try GoldenText("answers.txt").difference(lines) == nil)
  }

  @Test func `answers by day and hour in other zones match the golden file`() throws {
    let lines = ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"].flatMap { zone in
      [zone] + Self.answers(zone, [.steps, .heartRate, .sleep, .calories], [nil, .average, .sum])
    }
    #expect(try GoldenText("zones.txt").difference(lines) == nil)
  }

  @Test func `answers that are cut match the golden file`() throws {
    let lines = [1_500, 2_500, 5_000, 20_000].flatMap { maxBytes in
      ["\(maxBytes)"]
        + Self.answers(
          "Europe/Berlin", HealthValueType.allCases, [nil],
          limits: AnswerLimits(maxBytes: maxBytes, pageLimit: 50))
    }
    #expect(try GoldenText("cut.txt").difference(lines) == nil)
  }

  @Test func `summaries match the golden file`() throws {
    let metrics = HealthValueType.allCases.flatMap { valueType in
      [
        SummaryMetric(valueType: valueType),
        SummaryMetric(valueType: valueType, groupBy: .hour, statistic: .max),
      ]
    }
    let rejected = [RejectedMetric(index: 3, valueType: "MOOD", reason: "it is not known")]
    let lines = [[], metrics].flatMap { metrics in
      [AnswerLimits(maxBytes: 8 << 20), AnswerLimits(maxBytes: 20_000)].map { limits in
        var query = SummaryQuery(
          start: time("2026-03-26T00:00:00"), end: time("2026-03-31T00:00:00"), metrics: metrics)
        if !metrics.isEmpty { query.rejected = rejected }
        return Self.line(
          "\(metrics.count) of \(limits.maxBytes)",
          Self.shelf.answer(
            .summary(query), zone: Zones.berlin, now: "2026-03-31T08:20:00Z", limits: limits,
            stored: StoredHealth(
              lastSamples: ["HKQuantityTypeIdentifierStepCount": at("2026-03-30T21:00:00Z")],
              lastImport: at("2026-03-31T08:20:00Z"))))
      }
    }
    #expect(try GoldenText("summaries.txt").difference(lines) == nil)
  }
}
