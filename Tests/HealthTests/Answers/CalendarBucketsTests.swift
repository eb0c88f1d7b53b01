import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastHealth

@Suite struct CalendarBucketsTests {
  /// Returns the length, in hours, of the day that contains a moment.
  private static func hours(_ zone: ZoneRules, _ moment: String) -> Double {
    let day = CalendarBuckets(zone: zone, grouping: .day).bucket(at: at(moment))
    return day.start.distance(to: day.end) / 3_600e9
  }

  @Test func `a day has 23, 24 or 25 hours`() {
    #expect(Self.hours(Zones.berlin, "2026-03-29T10:00:00Z") == 23)
    #expect(Self.hours(Zones.berlin, "2026-03-28T10:00:00Z") == 24)
    #expect(Self.hours(Zones.berlin, "2026-10-25T10:00:00Z") == 25)
    #expect(Self.hours(Zones.newYork, "2026-03-08T12:00:00Z") == 23)
    #expect(Self.hours(Zones.newYork, "2026-11-01T12:00:00Z") == 25)
    #expect(Self.hours(Zones.rules("Australia/Lord_Howe"), "2026-04-05T00:00:00Z") == 24.5)
  }

  @Test func `an hour that clocks show twice becomes two buckets`() {
    let hours = CalendarBuckets(zone: Zones.berlin, grouping: .hour)
    let first = hours.bucket(at: at("2026-10-25T00:30:00Z"))
    let second = hours.bucket(at: at("2026-10-25T01:30:00Z"))
    #expect(first.start == at("2026-10-25T00:00:00Z"))
    #expect(first.end == at("2026-10-25T01:00:00Z"))
    #expect(second.start == at("2026-10-25T01:00:00Z"))
    #expect(second.end == at("2026-10-25T02:00:00Z"))
  }

  @Test(arguments: [
    (HealthGrouping.week, "2026-01-01T12:00:00Z", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"),
    (.week, "2026-01-05T00:00:00Z", "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z"),
    (.week, "2026-01-04T23:59:59Z", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"),
    (.month, "2024-02-29T23:59:59Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
    (.month, "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
    (.month, "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    (.day, "2026-12-31T23:59:59Z", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"),
  ])
  func `weeks begin on Monday, and months and days end at their calendar boundaries`(
    grouping: HealthGrouping, moment: String, start: String, end: String
  ) {
    let bucket = CalendarBuckets(zone: .utc, grouping: grouping).bucket(at: at(moment))
    #expect(bucket.start == at(start))
    #expect(bucket.end == at(end))
    #expect(bucket.members == at(start)..<at(end))
  }

  private static let components: [(HealthGrouping, Calendar.Component)] = [
    (.hour, .hour), (.day, .day), (.week, .weekOfYear), (.month, .month),
  ]

  @Test(arguments: Zones.names, components)
  func `calendar buckets have the same boundaries as Foundation's calendar`(
    name: String, pair: (grouping: HealthGrouping, component: Calendar.Component)
  ) {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = Zones.zone(name)
    let rules = Zones.rules(name)
    let buckets = CalendarBuckets(zone: rules, grouping: pair.grouping)
    var generator = RandomSource(seed: 23)
    var seconds = (0..<400).map { _ in Int.random(in: 0..<4_102_444_800, using: &generator) }
    // Adds moments around each change, where calendars are most likely to be wrong.
    for change in rules.transitions.prefix(150) {
      let second = Int(change.at.nanoseconds / 1_000_000_000)
      seconds += [-90_000, -3_601, -1, 0, 1, 1_800, 7_200, 90_000].map { second + $0 }
    }
    var compared = 0
    for second in seconds {
      let date = Date(timeIntervalSince1970: Double(second))
      let moment = Timestamp(nanoseconds: Int64(second) * 1_000_000_000)
      guard let expected = calendar.dateInterval(of: pair.component, for: date) else {
        Issue.record("no interval")
        continue
      }
      guard expected.contains(date), !Self.isOdd(moment, pair.grouping, rules) else { continue }
      compared += 1
      let bucket = buckets.bucket(at: moment)
      let found = [bucket.start, bucket.end].map { Double($0.nanoseconds) / 1e9 }
      let wanted = [expected.start, expected.end].map(\.timeIntervalSince1970)
      #expect(found == wanted, "\(name) \(RFC3339.format(moment))")
    }
    #expect(compared > 300)
  }

  /// Returns whether Foundation's interval around a moment cannot be used for a comparison.
  ///
  /// Foundation's hours overlap around a change that is not aligned to full hours. Its weeks with a
  /// skipped day are followed by gaps.
  private static func isOdd(
    _ moment: Timestamp, _ grouping: HealthGrouping, _ rules: ZoneRules
  ) -> Bool {
    var before = rules.initialSecondsEast
    for change in rules.transitions {
      defer { before = change.secondsEast }
      let apart = abs(change.at.distance(to: moment)) / 3_600e9
      let step = abs(change.secondsEast - before)
      let second = Int(change.at.nanoseconds / 1_000_000_000) + before
      if grouping == .hour, step % 3_600 != 0 || second % 3_600 != 0, apart <= 3 { return true }
      if step > 20 * 3_600, apart <= 8 * 24 { return true }
    }
    return false
  }

  @Test(arguments: Zones.names, HealthGrouping.allCases)
  func `consecutive buckets leave no gap`(name: String, grouping: HealthGrouping) {
    let rules = Zones.rules(name)
    var generator = RandomSource(seed: 24)
    for lead in [Duration.zero, .seconds(10_800)] where grouping != .hour || lead == .zero {
      let buckets = CalendarBuckets(zone: rules, grouping: grouping, lead: lead)
      for _ in 0..<(PlayedSeeds.areAll ? 20 : 4) {
        let start = Int64.random(in: 0..<4_000_000_000, using: &generator) * 1_000_000_000
        var bucket = buckets.bucket(at: Timestamp(nanoseconds: start))
        for _ in 0..<(grouping == .year ? 100 : 400) {
          let next = buckets.bucket(at: bucket.members.upperBound)
          #expect(next.members.lowerBound == bucket.members.upperBound)
          #expect(next.start == bucket.end)
          let last = Timestamp(nanoseconds: next.members.upperBound.nanoseconds - 1)
          #expect(buckets.bucket(at: last) == next)
          bucket = next
        }
      }
    }
  }

  @Test func `the nights of a day begin at 9 pm on the previous day`() {
    let buckets = CalendarBuckets(
      zone: Zones.berlin, grouping: .day, lead: .seconds(3 * 3_600))
    let bucket = buckets.bucket(at: at("2026-03-28T20:00:00Z"))
    #expect(bucket.start == at("2026-03-28T23:00:00Z"))
    #expect(bucket.end == at("2026-03-29T22:00:00Z"))
    #expect(bucket.members == at("2026-03-28T20:00:00Z")..<at("2026-03-29T19:00:00Z"))
  }
}
