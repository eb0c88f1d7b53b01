import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

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

  /// Returns the points of single sources or, if `isMerged`, the merged points.
  private static func points(
    _ samples: [HealthSample], _ start: String, _ end: String,
    _ groupBy: HealthGrouping = .day, _ statistic: HealthStatistic? = .sum,
    isMerged: Bool = false, zone: ZoneRules = .utc
  ) throws -> [HealthPoint] {
    try Shelf(samples).reply(ask(.sleep, start, end, groupBy, statistic), zone: zone).points
      .filter { $0.isMerged == isMerged }
  }

  private static func minutes(
    _ samples: [HealthSample], _ start: String, _ end: String,
    _ groupBy: HealthGrouping = .day, _ statistic: HealthStatistic? = .sum,
    isMerged: Bool = false
  ) throws -> [HealthPointValue] {
    try points(samples, start, end, groupBy, statistic, isMerged: isMerged).map(\.value)
  }

  @Test func `a night is reported as minutes asleep with its parts on the day on which it ended`()
    throws
  {
    var expected = point(
      "SLEEP_SESSION", 120 + 60 + 276, "minute", "2026-01-06T00:00:00", "2026-01-06T23:59:00")
    expected.statistic = "sum"
    expected.sleep = SleepTimes(
      inBed: 530, awake: 10 + 20 + 20, light: 120, deep: 60, rem: 276, nights: 1)
    let span = ("2026-01-05T00:00:00", "2026-01-06T23:59:00")
    #expect(try Self.points(Self.night, span.0, span.1) == [expected])
    (expected.source, expected.isMerged) = ("merged", true)
    #expect(try Self.points(Self.night, span.0, span.1, isMerged: true) == [expected])
  }

  @Test func `sleep stages are returned one by one if no statistic is requested`() throws {
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00")
    let points = try Shelf(Self.night).reply(query).points
    #expect(
      points.map(\.type) == [
        "SLEEP_IN_BED", "SLEEP_AWAKE", "SLEEP_LIGHT", "SLEEP_DEEP", "SLEEP_AWAKE", "SLEEP_REM",
        "SLEEP_AWAKE",
      ])
    #expect(
      points[2]
        == point("SLEEP_LIGHT", 120, "minute", "2026-01-05T22:00:00", "2026-01-06T00:00:00"))
  }

  private static let day = ("2026-01-06T00:00:00", "2026-01-07T00:00:00")

  @Test(arguments: [("2026-01-06T01:25:00Z", 395.0), ("2026-01-06T01:26:00Z", 394)])
  func `an interrupted night remains one night`(second: String, asleep: Double) throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T00:00:00Z"),
      stage("Awake", "2026-01-06T00:00:00Z", "2026-01-06T01:20:00Z"),
      stage("Asleep", second, "2026-01-06T06:00:00Z"),
    ]
    let points = try Self.points(samples, Self.day.0, Self.day.1, .day, .average)
    #expect(points.map(\.value) == [.number(asleep)])
    #expect(points.map(\.sleep?.nights) == [1])
    #expect(points.map(\.statistic) == ["average_per_night"])
  }

  @Test func `a minute recorded twice counts once, and awake minutes are not asleep`() throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
      stage("Awake", "2026-01-06T03:00:00Z", "2026-01-06T03:20:00Z"),
      stage("AsleepREM", "2026-01-06T05:40:00Z", "2026-01-06T06:02:00Z"),
    ]
    #expect(try Self.minutes(samples, Self.day.0, Self.day.1) == [.number(482 - 20)])
    let parts = try Self.points(samples, Self.day.0, Self.day.1).first?.sleep
    #expect(parts == SleepTimes(awake: 20, rem: 22, unspecified: 460, nights: 1))
  }

  @Test func `time in bed without sleep is reported as its own type`() throws {
    let samples = [
      stage("InBed", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
      stage("InBed", "2026-01-06T22:00:00Z", "2026-01-07T06:00:00Z"),
      stage("Asleep", "2026-01-06T23:00:00Z", "2026-01-07T05:00:00Z"),
    ]
    let points = try Self.points(samples, "2026-01-06T00:00:00", "2026-01-08T00:00:00")
    #expect(points.map(\.value) == [.number(480), .number(360)])
    #expect(points.map(\.type) == ["SLEEP_IN_BED", "SLEEP_SESSION"])
    #expect(points.map(\.sleep?.inBed) == [480, 480])
  }

  @Test func `sources have separate sessions, and each merged minute counts once`() throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T02:30:00Z", source: "Ring"),
      stage("Awake", "2026-01-06T02:00:00Z", "2026-01-06T02:10:00Z"),
      stage("Asleep", "2026-01-06T02:10:00Z", "2026-01-06T06:00:00Z"),
    ]
    let query = ask(.sleep, Self.day.0, Self.day.1, .day, .sum)
    let points = try Shelf(samples).reply(query).points
    #expect(points.map(\.source) == ["merged", "Ring", "Watch"])
    // From 02:00 on, the watch takes precedence. It records ten minutes awake.
    #expect(points.map(\.value) == [.number(470), .number(270), .number(230)])
    #expect(points.map(\.sleep?.awake) == [10, nil, 10])
  }

  private static let naps: [(String, String, Bool)] = [
    // Sessions around noon, which last one hour, three hours, and one minute less than three hours.
    ("2026-01-06T13:00:00Z", "2026-01-06T14:00:00Z", false),
    ("2026-01-06T13:00:00Z", "2026-01-06T16:00:00Z", true),
    ("2026-01-06T13:00:00Z", "2026-01-06T15:59:00Z", false),
    // Sessions whose middle is just before 09:00, at 09:00, just before 21:00, and at 21:00.
    ("2026-01-06T08:29:00Z", "2026-01-06T09:30:00Z", true),
    ("2026-01-06T08:30:00Z", "2026-01-06T09:30:00Z", false),
    ("2026-01-05T20:29:00Z", "2026-01-05T21:30:00Z", false),
    ("2026-01-05T20:30:00Z", "2026-01-05T21:30:00Z", true),
  ]

  @Test(arguments: naps)
  func `a session of three hours or with its middle at night is a night, any other a nap`(
    start: String, end: String, isNight: Bool
  ) throws {
    let samples = [stage("Asleep", start, end)]
    let count = try Self.points(samples, Self.day.0, Self.day.1, .day, .count).first
    #expect(count?.value == .number(isNight ? 1 : 0))
    #expect(count?.unit == "count")
    #expect(count?.sleep == SleepTimes(nights: isNight ? 1 : 0, naps: isNight ? 0 : 1))
    let average = try Self.points(samples, Self.day.0, Self.day.1, .day, .average)
    #expect(average.isEmpty == !isNight)
  }

  @Test func `average, minimum and maximum use nights only, and a sum includes naps`() throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
      stage("Asleep", "2026-01-06T13:00:00Z", "2026-01-06T14:00:00Z"),
      stage("Asleep", "2026-01-06T23:00:00Z", "2026-01-07T05:00:00Z"),
      stage("AsleepDeep", "2026-01-07T05:00:00Z", "2026-01-07T06:00:00Z"),
    ]
    func point(_ statistic: HealthStatistic?) throws -> HealthPoint? {
      try Self.points(samples, "2026-01-06", "2026-01-08", .total, statistic).first
    }
    #expect(try point(.sum)?.value == .number(480 + 60 + 420))
    #expect(try point(.sum)?.sleep?.napMinutes == 60)
    #expect(try point(nil)?.value == .number(450))
    #expect(try point(.average)?.sleep?.deep == 60)
    #expect(try point(.min)?.value == .number(420))
    #expect(try point(.max)?.value == .number(480))
    #expect(try point(.count)?.value == .number(2))
    let last = try point(.latest)
    #expect(last?.value == .number(420))
    #expect(last?.start == time("2026-01-06T23:00:00"))
    #expect(last?.end == time("2026-01-07T06:00:00"))
  }

  @Test(arguments: [HealthStatistic.average, .min, .max, .latest, .count])
  func `a statistic of nights reports the number of naps but not their minutes`(
    statistic: HealthStatistic
  ) throws {
    let samples = [
      stage("Asleep", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z"),
      stage("Asleep", "2026-01-06T13:00:00Z", "2026-01-06T14:00:00Z"),
    ]
    let parts = try Self.points(samples, Self.day.0, Self.day.1, .day, statistic).first?.sleep
    #expect(parts?.naps == 1)
    #expect(parts?.napMinutes == nil)
  }

  @Test(arguments: [("2026-01-06T14:35:00Z", 1, 0), ("2026-01-06T14:35:01Z", 0, 2)])
  func `stages that lie at most 5 minutes apart are one session`(
    second: String, nights: Int, naps: Int
  ) throws {
    let samples = [
      stage("Asleep", "2026-01-06T13:00:00Z", "2026-01-06T14:30:00Z"),
      stage("Asleep", second, "2026-01-06T16:30:00Z"),
    ]
    let parts = try Self.points(samples, Self.day.0, Self.day.1, .day, .count).first?.sleep
    #expect(parts == SleepTimes(nights: nights, naps: naps))
  }

  @Test func `a session has at most 50,000 stages, and the next stage begins a new session`() {
    let first = at("2026-01-05T22:00:00Z")
    var runs = SleepRuns()
    var ended: [Int] = []
    for number in 0..<100_001 {
      let start = first.advanced(by: .seconds(number))
      let end = start.advanced(by: .seconds(1))
      let span = SleepSpan(start: start, end: end, stage: .core, track: 0)
      if let spans = runs.take(span, of: 0) { ended.append(spans.count) }
    }
    #expect(ended == [50_000, 50_000])
    let left = runs.finish().map { $0.spans.count }
    #expect(left == [1])
  }

  private static let windows: [(String, String, Bool)] = [
    ("2026-01-06T00:00:00", "2026-01-06T23:59:00", true),
    ("2026-01-06T00:00:00", "2026-01-07T00:00:00", true),
    ("2026-01-05T23:54:00", "2026-01-06T23:54:00", true),
    ("2026-01-06T00:05:00", "2026-01-07T00:05:00", true),
    ("2026-01-05T23:53:59", "2026-01-07T00:00:00", false),
    ("2026-01-06T00:05:01", "2026-01-07T00:00:00", false),
    ("2026-01-05T23:53:59.999999999", "2026-01-07T00:00:00", false),
    ("2026-01-06T00:05:00.000000001", "2026-01-07T00:00:00", false),
    ("2026-01-06T00:00:00", "2026-01-07T00:05:01", false),
    ("2026-01-06T00:00:00", "2026-01-06T23:53:59", false),
    ("2026-01-06T00:00:00", "2026-01-06T00:05:00", false),
  ]

  @Test(arguments: windows)
  func `a question for whole days covers the nights that belong to them`(
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

  @Test func `nights begin at 9 pm local time across a clock change`() throws {
    let window = try AnswerWindow(
      ask(.sleep, "2026-03-29T00:00:00", "2026-03-29T23:59:59"), zone: Zones.berlin,
      now: at("2027-01-01T00:00:00Z"))
    #expect(window.from == at("2026-03-28T20:00:00Z"))
    #expect(window.to == at("2026-03-29T19:00:00Z"))
  }

  @Test(arguments: [
    ("2026-01-06T00:00:00", "2026-01-06T23:59:00"),
    ("2026-01-06T03:05:00Z", "2026-01-07T02:05:00Z"),
  ])
  func `the nights of a day without a midnight also begin at 9 pm on the previous day`(
    start: String, end: String
  ) throws {
    let zone = ZoneRules(
      initialSecondsEast: -10_800,
      transitions: [.init(at: at("2026-01-06T03:00:00Z"), secondsEast: -7_200)])
    let window = try AnswerWindow(
      ask(.sleep, start, end), zone: zone, now: at("2027-01-01T00:00:00Z"))
    #expect(window.from == at("2026-01-06T00:00:00Z"))
    #expect(window.to == at("2026-01-06T23:00:00Z"))
  }

  @Test func `asking day by day finds each night once`() throws {
    var generator = RandomSource(seed: 31)
    for _ in 0..<40 {
      // Sessions of one source follow each other at any hour.
      var samples: [HealthSample] = []
      var start = at("2026-03-20T00:00:00Z")
      while start < at("2026-04-05T00:00:00Z") {
        let length = Int.random(in: 20...600, using: &generator)
        let end = start.advanced(by: .seconds(60 * length))
        samples.append(
          HealthSample(
            type: "HKCategoryTypeIdentifierSleepAnalysis", value: .category("Asleep"),
            start: start, end: end, source: "Watch"))
        start = end.advanced(by: .seconds(60 * Int.random(in: 6...900, using: &generator)))
      }
      let shelf = Shelf(samples)
      let days = (21..<31).map { "2026-03-\($0)" }
      let whole = try shelf.parts(
        ask(.sleep, days[0] + "T00:00:00", days[9] + "T23:59:00", .day, .sum), zone: Zones.berlin)
      let single = try days.flatMap { day in
        try shelf.parts(
          ask(.sleep, day + "T00:00:00", day + "T23:59:00", .day, .sum), zone: Zones.berlin
        ).points
      }
      #expect(whole.points.map(\.value) == single.map(\.value))
      #expect(whole.points.map(\.start) == single.map(\.start))
    }
  }

  @Test func `an unknown stage is returned as a sample but not counted`() throws {
    let samples = [stage("Dreaming", "2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z")]
    let query = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00")
    #expect(try Shelf(samples).parts(query).points.map(\.type) == ["SLEEP_UNKNOWN"])
    var sum = query
    (sum.groupBy, sum.statistic) = (.day, .sum)
    #expect(try Shelf(samples).parts(sum) == HealthReply(query: sum, points: [], skipped: 1))
  }
}
