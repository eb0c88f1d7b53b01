import HoldfastCore
import Testing

@testable import HoldfastHealth

/// Tests of sleep sessions and the days to which they belong.
@Suite struct SleepLogTests {
  private static let span = SleepSpan(
    start: at("2026-01-06T13:00:00Z"), end: at("2026-01-06T14:00:00Z"), stage: .core, track: 0)
  private static let bucket = CalendarBuckets(zone: .utc, grouping: .day).bucket(at: span.start)

  private static func session() throws -> SleepSession {
    try #require(SleepSession([span], [SourceRank(kind: .watch, name: "Watch")]))
  }

  @Test func `a day with only naps is reported with its known parts`() throws {
    let shelf = Shelf([stage("AsleepDeep", "2026-01-06T13:00:00Z", "2026-01-06T14:00:00Z")])
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00", .day, .sum)
    let points = try shelf.merged(query)
    #expect(points.map(\.value) == [.number(60)])
    #expect(points.map(\.sleep) == [SleepTimes(deep: 60, naps: 1, napMinutes: 60)])
  }

  @Test func `known parts of a session are marked by 1`() throws {
    let session = try Self.session()
    let known = SleepSession.Part.allCases.map { session.known[$0.rawValue] }
    let expected = SleepSession.Part.allCases.map { [.asleep, .light].contains($0) ? 1.0 : 0 }
    #expect(known == expected)
  }

  @Test func `remaining sessions are returned once`() {
    var runs = SleepRuns()
    let ended = runs.take(Self.span, of: 1)
    #expect(ended == nil)
    let left = [runs.finish().count, runs.finish().count]
    #expect(left == [1, 0])
  }

  @Test func `a day without a night has neither a start nor an end of a night`() {
    let night = SleepLog.Day(bucket: Self.bucket).night
    #expect(night?.start == nil)
    #expect(night?.end == nil)
  }

  @Test func `sleep sessions have room for 200,000 days across all sources`() throws {
    let session = try Self.session()
    var book = SleepLog()
    var source = 0
    while !book.isFull, source < 300_000 {
      book.add(session, of: source, in: Self.bucket, isNight: true)
      source += 1
    }
    #expect(source == 200_000)
  }

  @Test func `remaining sessions are returned in the order of their sources`() {
    var runs = SleepRuns()
    for source in [2, 0, 3, 1] {
      let ended = runs.take(Self.span, of: source)
      #expect(ended == nil)
    }
    let sources = runs.finish().map { $0.source }
    #expect(sources == [0, 1, 2, 3])
  }

  @Test func `the evening before a skipped day does not belong to the day after it`() throws {
    // The clocks skip from the end of the 5th to the beginning of the 7th.
    let zone = ZoneRules(
      initialSecondsEast: -36_000,
      transitions: [.init(at: at("2026-01-06T10:00:00Z"), secondsEast: 50_400)])
    let shelf = Shelf([
      stage("Asleep", "2026-01-06T05:00:00Z", "2026-01-06T09:00:00Z"),
      stage("Asleep", "2026-01-06T12:00:00Z", "2026-01-06T18:00:00Z"),
    ])
    let query = ask(.sleep, "2026-01-05T00:00:00", "2026-01-08T00:00:00", .day, .sum)
    let points = try shelf.parts(query, zone: zone).points
    #expect(points.map(\.value) == [.number(240), .number(360)])
    #expect(points.map(\.start) == ["2026-01-07T00:00:00", "2026-01-07T00:00:00"].map(time))
    #expect(points.map(\.end) == ["2026-01-07T00:00:00", "2026-01-08T00:00:00"].map(time))
  }
}
