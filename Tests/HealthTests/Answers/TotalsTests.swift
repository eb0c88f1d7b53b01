import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests that sums over the same time are equal if they are grouped by spans of different lengths.
@Suite struct TotalsTests {
  /// Returns step samples of several sources around a span. Some of them overlap its ends.
  private static func samples(
    around span: Range<Timestamp>, from generator: inout RandomSource
  ) -> [HealthSample] {
    let length = Int(span.lowerBound.distance(to: span.upperBound) / 1e9)
    return (0..<40).map { _ in
      let start = span.lowerBound.advanced(
        by: .seconds(Int.random(in: -100_000..<length + 10_000, using: &generator)))
      let seconds = [0, 60, 3_600, 100_000].randomElement(using: &generator) ?? 0
      return HealthSample(
        type: "HKQuantityTypeIdentifierStepCount",
        value: .quantity(Double(Int.random(in: 1...900, using: &generator))), unit: "count",
        start: start, end: start.advanced(by: .seconds(seconds)),
        source: ["Watch", "iPhone", "Diary"].randomElement(using: &generator) ?? "")
    }
  }

  /// Returns the sum over all spans for each source and for the merged values.
  private static func sums(_ points: [HealthPoint]) -> [String: Double] {
    points.reduce(into: [:]) { sums, point in
      if case .number(let value) = point.value { sums[point.source ?? "", default: 0] += value }
    }
  }

  @Test(arguments: Zones.names)
  func `hours, days, weeks, months, years, weekdays and hours of the day add up to the total`(
    zone: String
  ) throws {
    var generator = RandomSource(seed: UInt64(zone.utf8.reduce(0) { $0 * 31 % 65_521 + Int($1) }))
    for _ in 0..<8 {
      let start = at("2026-01-01T00:00:00Z").advanced(
        by: .seconds(Int.random(in: 0..<30_000_000, using: &generator)))
      let end = start.advanced(by: .seconds(Int.random(in: 1..<900_000, using: &generator)))
      let shelf = Shelf(Self.samples(around: start..<end, from: &generator))
      let groupings = HealthGrouping.allCases.filter { $0 != .total } + [.total]
      let parts = try groupings.map { groupBy in
        let query = HealthDataQuery(
          valueType: .steps, start: .instant(start, minutesEast: nil),
          end: .instant(end, minutesEast: nil), groupBy: groupBy, statistic: .sum,
          maxBytes: HealthObject.maxBytes, options: HealthOptions(bySource: true))
        return Self.sums(
          try HealthReply.read(shelf.answer(.healthData(query), zone: Zones.rules(zone)).bytes)
            .points)
      }
      let total = try #require(parts.last)
      for (groupBy, sums) in zip(groupings, parts) {
        let isSame =
          sums.keys == total.keys
          && sums.allSatisfy { abs($0.value - (total[$0.key] ?? 0)) < 1e-6 * (1 + $0.value) }
        #expect(isSame, "\(groupBy) from \(start) to \(end): \(sums) instead of \(total)")
      }
    }
  }
}
