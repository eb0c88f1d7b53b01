import LinkCore
import Testing

@testable import LinkHealth

@Suite struct SleepTests {
  private static let night = [
    stage("InBed", "2026-01-05T21:40:00Z", "2026-01-06T06:30:00Z"),
    stage("Awake", "2026-01-05T21:50:00Z", "2026-01-05T22:00:00Z"),
    stage("AsleepCore", "2026-01-05T22:00:00Z", "2026-01-06T00:00:00Z"),
    stage("AsleepDeep", "2026-01-06T00:00:00Z", "2026-01-06T01:00:00Z"),
    stage("Awake", "2026-01-06T01:00:00Z", "2026-01-06T01:20:00Z"),
    stage("AsleepREM", "2026-01-06T01:24:00Z", "2026-01-06T06:00:00Z"),
    stage("Awake", "2026-01-06T06:00:00Z", "2026-01-06T06:20:00Z"),
  ]

  private static func minutes(
    _ samples: [HealthSample], _ start: String, _ end: String,
    _ groupBy: HealthGrouping = .day, _ statistic: HealthStatistic = .sum
  ) throws -> [HealthPointValue] {
    try Shelf(samples).reply(ask(.sleep, start, end, groupBy, statistic)).points.map(\.value)
  }

  @Test func `a night is one session, told at the day on which it ended`() throws {
    let query = ask(.sleep, "2026-01-05T00:00:00", "2026-01-06T23:59:00", .day, .sum)
    // From the first to the last minute asleep: 22:00 to 06:00.
    #expect(
      try Shelf(Self.night).reply(query).points == [
        point("SLEEP_SESSION", 8 * 60, "minute", "2026-01-06T00:00:00", "2026-01-06T23:59:00")
      ])
  }

  @Test func `stages are told one by one when no statistic is asked for`() throws {
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00")
    let points = try Shelf(Self.night).reply(query).points
    #expect(
      points.map(\.type) == [
        "SLEEP_IN_BED", "SLEEP_AWAKE", "SLEEP_LIGHT", "SLEEP_DEEP", "SLEEP_AWAKE", "SLEEP_REM",
        "SLEEP_AWAKE",
      ])
    #expect(
      points[2]
        == point("SLEEP_LIGHT", 120, "MINUTE", "2026-01-05T22:00:00", "2026-01-06T00:00:00"))
  }

  @Test func `being awake for long ends a session only where nothing is known in between`() throws {
    // 80 minutes of being awake hold it together, 5 minutes of nothing do, 6 do not.
    func night(_ second: String) -> [HealthSample] {
      [
        stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T00:00:00Z"),
        stage("Awake", "2026-01-06T00:00:00Z", "2026-01-06T01:20:00Z"),
        stage("Asleep", second, "2026-01-06T06:00:00Z"),
      ]
    }
    let day = ("2026-01-06T00:00:00", "2026-01-07T00:00:00")
    #expect(
      try Self.minutes(night("2026-01-06T01:25:00Z"), day.0, day.1, .day, .average)
        == [.number(480)])
    // Two sessions, of 120 and 274 minutes.
    #expect(
      try Self.minutes(night("2026-01-06T01:26:00Z"), day.0, day.1, .day, .average)
        == [.number((120.0 + 274) / 2)])
  }

  @Test func `of two that are nearly the same, the longer one counts`() throws {
    func nights(_ end: String) -> [HealthSample] {
      [
        stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
        stage("AsleepREM", "2026-01-06T05:40:00Z", end),
      ]
    }
    let day = ("2026-01-06T00:00:00", "2026-01-07T00:00:00")
    // 20 of 21 minutes are within, over 95 %; 20 of 22 are not.
    #expect(try Self.minutes(nights("2026-01-06T06:01:00Z"), day.0, day.1) == [.number(480)])
    #expect(try Self.minutes(nights("2026-01-06T06:02:00Z"), day.0, day.1) == [.number(482)])
  }

  @Test func `being in bed counts where nothing else is known`() throws {
    let samples = [
      stage("InBed", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
      stage("InBed", "2026-01-06T22:00:00Z", "2026-01-07T06:00:00Z"),
      stage("Asleep", "2026-01-06T23:00:00Z", "2026-01-07T05:00:00Z"),
    ]
    #expect(
      try Self.minutes(samples, "2026-01-06T00:00:00", "2026-01-08T00:00:00")
        == [.number(480), .number(360)])
  }

  @Test func `sources do not share their sessions`() throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T02:00:00Z", source: "Ring"),
      stage("Asleep", "2026-01-06T02:00:00Z", "2026-01-06T06:00:00Z", source: "Watch"),
    ]
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00", .day, .sum)
    let points = try Shelf(samples).reply(query).points
    #expect(points.map(\.source) == ["Ring", "Watch"])
    #expect(points.map(\.value) == [.number(240), .number(240)])
  }

  private static let windows: [(String, String, Bool)] = [
    ("2026-01-06T00:00:00", "2026-01-06T23:59:00", true),
    ("2026-01-06T00:00:00", "2026-01-07T00:00:00", true),
    ("2026-01-05T23:54:00", "2026-01-06T23:54:00", true),
    ("2026-01-06T00:05:00", "2026-01-07T00:05:00", true),
    ("2026-01-05T23:53:59", "2026-01-07T00:00:00", false),
    ("2026-01-06T00:05:01", "2026-01-07T00:00:00", false),
    ("2026-01-06T00:00:00", "2026-01-07T00:05:01", false),
    ("2026-01-06T00:00:00", "2026-01-06T23:53:59", false),
  ]

  @Test(arguments: windows)
  func `whole days are the nights that belong to them`(
    start: String, end: String, isWhole: Bool
  ) throws {
    let window = try AnswerWindow(
      ask(.sleep, start, end), zone: .utc, now: at("2027-01-01T00:00:00Z"))
    #expect(window.lead == (isWhole ? .seconds(10_800) : .zero))
    #expect(
      window.from == (isWhole ? at("2026-01-05T21:00:00Z") : at(start + "Z")))
    #expect(window.to == (isWhole ? at("2026-01-06T21:00:00Z") : at(end + "Z")))
    #expect(window.end == at(end + "Z"))
  }

  @Test func `nights begin at nine on the user's clock, whatever it was set to`() throws {
    let window = try AnswerWindow(
      ask(.sleep, "2026-03-29T00:00:00", "2026-03-29T23:59:59"), zone: Zones.berlin,
      now: at("2027-01-01T00:00:00Z"))
    #expect(window.from == at("2026-03-28T20:00:00Z"))
    #expect(window.to == at("2026-03-29T19:00:00Z"))
  }

  @Test func `asking day by day finds each night once`() throws {
    var chance = Chance(seed: 31)
    for _ in 0..<40 {
      // Sessions at any hour; from a fixed set of sources that sleep one after the other.
      var samples: [HealthSample] = []
      var start = at("2026-03-20T00:00:00Z")
      while start < at("2026-04-05T00:00:00Z") {
        let length = Int.random(in: 20...600, using: &chance)
        let end = start.advanced(by: .seconds(60 * length))
        samples.append(
          HealthSample(
            type: "HKCategoryTypeIdentifierSleepAnalysis", value: .category("Asleep"),
            start: start, end: end, source: "Watch"))
        start = end.advanced(by: .seconds(60 * Int.random(in: 6...900, using: &chance)))
      }
      let shelf = Shelf(samples)
      let days = (21..<31).map { "2026-03-\($0)" }
      let whole = try shelf.reply(
        ask(.sleep, days[0] + "T00:00:00", days[9] + "T23:59:00", .day, .sum), zone: Zones.berlin)
      let single = try days.flatMap { day in
        try shelf.reply(
          ask(.sleep, day + "T00:00:00", day + "T23:59:00", .day, .sum), zone: Zones.berlin
        ).points
      }
      #expect(whole.points.map(\.value) == single.map(\.value))
      #expect(whole.points.map(\.start) == single.map(\.start))
    }
  }

  @Test func `a stage that this version does not know is told, and not counted`() throws {
    let samples = [stage("Dreaming", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z")]
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00")
    #expect(try Shelf(samples).reply(query).points.map(\.type) == ["SLEEP_UNKNOWN"])
    var sum = query
    (sum.groupBy, sum.statistic) = (.day, .sum)
    #expect(try Shelf(samples).reply(sum) == HealthReply(query: sum, points: [], skipped: 1))
  }
}
