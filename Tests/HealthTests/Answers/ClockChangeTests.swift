import HoldfastCore
import Testing

@testable import HoldfastHealth

/// Tests of zones whose clocks change at unusual times or by unusual amounts.
@Suite struct ClockChangeTests {
  @Test(arguments: [
    (HealthGrouping.day, "2026-06-02T00:00:00Z"), (.week, "2026-06-08T00:00:00Z"),
    (.month, "2026-07-01T00:00:00Z"),
  ])
  func `times that clocks repeat after midnight belong to the bucket that has already begun`(
    grouping: HealthGrouping, end: String
  ) {
    // At 00:30 on a Monday, which is the first day of a month, the clocks go back to 23:30.
    let zone = ZoneRules(
      initialSecondsEast: 3_600,
      transitions: [.init(at: at("2026-05-31T23:30:00Z"), secondsEast: 0)])
    let start = at("2026-05-31T23:00:00Z")
    let bucket = Bucket(start: start, end: at(end), members: start..<at(end))
    let buckets = CalendarBuckets(zone: zone, grouping: grouping)
    let moments = ["23:00:00", "23:29:59", "23:30:00", "23:40:00"].map { at("2026-05-31T\($0)Z") }
    #expect(moments.map { buckets.bucket(at: $0) } == moments.map { _ in bucket })
    #expect(buckets.bucket(at: at("2026-05-31T22:59:59Z")).end == start)
  }

  @Test func `a clock change ends one hour bucket and begins the next`() {
    let change = at("2026-01-05T10:20:00Z")
    let zone = ZoneRules(
      initialSecondsEast: 0, transitions: [.init(at: change, secondsEast: 1_800)])
    let hours = CalendarBuckets(zone: zone, grouping: .hour)
    let before = hours.bucket(at: at("2026-01-05T10:10:00Z"))
    #expect(before.members == at("2026-01-05T10:00:00Z")..<change)
    // In this bucket the clocks show 10:50 to 11:00.
    let after = hours.bucket(at: at("2026-01-05T10:25:00Z"))
    #expect(after.members == change..<at("2026-01-05T10:30:00Z"))
  }

  @Test func `a skipped local time uses the offset before the change, despite later changes`() {
    let zone = ZoneRules(
      initialSecondsEast: 0,
      transitions: [
        .init(at: at("2026-03-01T10:00:00Z"), secondsEast: 3_600),
        .init(at: at("2026-03-01T20:00:00Z"), secondsEast: 10_800),
      ])
    #expect(zone.instant(of: time("2026-03-01T10:30:00")) == at("2026-03-01T10:30:00Z"))
  }

  @Test func `an answer reports a zone offset of an odd number of minutes`() throws {
    let zone = ZoneRules(initialSecondsEast: 5 * 3_600 + 45 * 60)
    let query = ask(
      .steps, "2026-01-05T00:00:00+05:45", "2026-01-06T00:00:00+05:45", .day, .sum)
    let shelf = Shelf([steps(7, "2026-01-05T04:00:00Z", "2026-01-05T04:05:00Z")])
    let reply = try shelf.reply(query, zone: zone)
    #expect(reply.points.map(\.start) == [query.start, query.start])
    #expect(reply.points.map(\.end) == [query.end, query.end])
    #expect(reply.freshness?.answered == time("2027-01-01T05:45:00+05:45"))
  }

  @Test func `the distance between the earliest and latest instants is exact in both directions`() {
    let ends = [Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max)]
    #expect(ends[0].distance(to: ends[1]) == 0x1p64)
    #expect(ends[1].distance(to: ends[0]) == -0x1p64)
  }

  @Test(arguments: [
    (Int64.min, Int64.max, Int64(-1)), (1, 3, 2), (-3, -1, -2), (-3, 4, 0), (7, 7, 7), (2, 5, 3),
  ])
  func `the middle between any two instants is computed without overflow`(
    start: Int64, end: Int64, middle: Int64
  ) {
    let found = Timestamp(nanoseconds: start).middle(to: Timestamp(nanoseconds: end))
    #expect(found == Timestamp(nanoseconds: middle))
  }
}
