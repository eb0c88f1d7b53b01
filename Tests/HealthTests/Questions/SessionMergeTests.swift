import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of workouts that several apps record, of the longest one, and of single kinds.
@Suite struct SessionMergeTests {
  private static func run(
    _ start: String, _ end: String, _ distance: Double?, source: String = "Watch",
    activity: String = "Running"
  ) -> HealthSample {
    var sample = workout(
      activity, "2026-01-05T\(start):00Z", "2026-01-05T\(end):00Z", distance: distance)
    sample.source = source
    return sample
  }

  private static func points(
    _ samples: [HealthSample], _ groupBy: HealthGrouping? = .total,
    _ statistic: HealthStatistic? = nil, only kind: String? = nil, bySource: Bool = false
  ) throws -> [HealthPoint] {
    try reply(samples, groupBy, statistic, only: kind, bySource: bySource).points
  }

  private static func reply(
    _ samples: [HealthSample], _ groupBy: HealthGrouping? = .total,
    _ statistic: HealthStatistic? = nil, only kind: String? = nil, bySource: Bool = false
  ) throws -> HealthReply {
    try Shelf(samples).reply(
      ask(
        .workout, "2026-01-05", "2026-01-12", groupBy, statistic,
        options: HealthOptions(bySource: bySource, workoutType: kind)))
  }

  private static func distances(_ points: [HealthPoint]) -> [Double?] {
    points.map { point in
      guard case .workout(let totals) = point.value else { return nil }
      return totals.distance
    }
  }

  @Test func `a workout that two apps recorded counts once, as the watch has it`() throws {
    let samples = [
      Self.run("08:00", "09:00", 9_000, source: "RunLog"),
      Self.run("08:01", "08:59", 10_000, source: "Watch"),
    ]
    let points = try Self.points(samples)
    #expect(Self.distances(points) == [10_000])
    #expect(points.map(\.source) == ["merged"])
    #expect(points.map(\.isMerged) == [true])
    let all = try Self.points(samples, bySource: true)
    #expect(all.map(\.source) == ["merged", "RunLog", "Watch"])
    #expect(Self.distances(all) == [10_000, 9_000, 10_000])
    #expect(try Self.points(samples, .total, .count).map(\.value) == [.number(1)])
  }

  @Test func `a list has a workout of two apps once, and each copy if it is asked for`() throws {
    let samples = [
      Self.run("08:00", "09:00", 9_000, source: "RunLog"),
      Self.run("08:00", "08:30", 3_000, source: "RunLog", activity: "Walking"),
      Self.run("08:01", "08:59", 10_000, source: "Watch"),
      Self.run("12:00", "12:30", 5_000, source: "RunLog"),
    ]
    let points = try Self.points(samples, nil)
    #expect(Self.distances(points) == [3_000, 10_000, 5_000])
    #expect(points.map(\.source) == ["RunLog", "Watch", "RunLog"])
    let copies = try Self.points(samples, nil, bySource: true)
    #expect(copies.map(\.source) == ["RunLog", "RunLog", "Watch", "RunLog"])
    #expect(Set(Self.distances(copies)) == [9_000, 3_000, 10_000, 5_000])
  }

  @Test func `a list that is cut goes on without a repetition`() throws {
    let samples = (0..<20).flatMap { hour in
      [
        Self.run("\(String(hour + 100).suffix(2)):00", "\(String(hour + 100).suffix(2)):50", 1),
        Self.run(
          "\(String(hour + 100).suffix(2)):01", "\(String(hour + 100).suffix(2)):49", 2,
          source: "iPhone"),
      ]
    }
    var query = ask(.workout, "2026-01-05", "2026-01-12", options: HealthOptions())
    query.maxBytes = 4_000
    var starts: [HealthTime] = []
    for _ in 0..<20 {
      let reply = try Shelf(samples).reply(query)
      starts += reply.points.map(\.start)
      guard let next = reply.nextStart else { break }
      query.start = next
    }
    #expect(starts == (0..<20).map { time("2026-01-05T\(String($0 + 100).suffix(2)):00:00") })
  }

  @Test(arguments: [("08:30", 1), ("08:31", 2), ("08:29", 1)])
  func `half of the shorter workout must overlap`(start: String, count: Int) throws {
    // The other workout has the same length of an hour.
    let end = start.replacingHour
    let samples = [
      Self.run("08:00", "09:00", 1), Self.run(start, end, 2, source: "iPhone"),
    ]
    let found = try Self.points(samples, .total, .count).map(\.value)
    #expect(found == [.number(Double(count))])
  }

  @Test func `other kinds, and workouts of one app, count each`() throws {
    let samples = [
      Self.run("08:00", "09:00", 1), Self.run("08:00", "09:00", 2),
      Self.run("08:00", "09:00", 4, source: "iPhone", activity: "Walking"),
    ]
    #expect(Self.distances(try Self.points(samples)) == [3, 4])
  }

  @Test func `a chain of overlaps keeps those that do not overlap with a better one`() throws {
    let samples = [
      Self.run("08:00", "09:00", 1, source: "iPhone"),
      Self.run("08:30", "09:30", 2, source: "Watch"),
      Self.run("09:05", "10:05", 4, source: "iPhone"),
    ]
    // The watch's run overlaps for half of the first, and for 25 minutes of the last.
    #expect(Self.distances(try Self.points(samples)) == [6])
  }

  @Test func `minutes of mindfulness count once too`() throws {
    let samples = ["Calm", "Breathe"].map { source in
      HealthSample(
        type: "HKCategoryTypeIdentifierMindfulSession", value: .category("0"),
        start: at("2026-01-05T08:00:00Z"), end: at("2026-01-05T08:10:00Z"), source: source)
    }
    let points = try Shelf(samples).reply(
      ask(.mindfulness, "2026-01-05", "2026-01-12", .total, options: HealthOptions())
    ).points
    #expect(points.map(\.value) == [.number(10)])
    #expect(points.map(\.source) == ["merged"])
  }

  @Test func `the longest workout is a single one, with its own times`() throws {
    let samples = [
      Self.run("08:00", "08:30", 5_000), Self.run("10:00", "10:20", 6_000),
      Self.run("12:00", "14:00", nil),
    ]
    let most = try Self.points(samples, .total, .max)
    #expect(Self.distances(most) == [6_000])
    #expect(most.map(\.statistic) == ["longest_by_distance"])
    #expect(most.map(\.start) == [time("2026-01-05T10:00:00")])
    #expect(most.map(\.end) == [time("2026-01-05T10:20:00")])
    let least = try Self.points(samples, .total, .min)
    #expect(Self.distances(least) == [5_000])
    #expect(least.map(\.statistic) == ["shortest_by_distance"])
  }

  @Test func `without distances the longest workout is that of the greatest duration`() throws {
    let samples = [
      Self.run("08:00", "08:30", nil), Self.run("10:00", "11:20", 0), Self.run("12:00", "12:40", 0),
    ]
    let most = try Self.points(samples, .total, .max)
    #expect(most.map(\.statistic) == ["longest_by_duration"])
    #expect(most.map(\.start) == [time("2026-01-05T10:00:00")])
    let weekly = try Self.points(samples, .weekday, .max)
    #expect(weekly.map(\.part) == ["MONDAY"])
    #expect(weekly.map(\.start) == [time("2026-01-05T10:00:00")])
  }

  @Test(arguments: ["RUNNING", "running", "Running", "HKWorkoutActivityTypeRunning"])
  func `only one kind counts if it is asked for`(kind: String) throws {
    let samples = [
      Self.run("08:00", "09:00", 1), Self.run("10:00", "11:00", 2, activity: "Cycling"),
    ]
    #expect(Self.distances(try Self.points(samples, only: kind)) == [1])
    #expect(Self.distances(try Self.points(samples, nil, only: kind)) == [1])
    #expect(try Self.reply(samples, only: kind).notes == [])
  }

  @Test func `names of kinds are read as people write them`() throws {
    let samples = [
      Self.run("08:00", "09:00", 1, activity: "CrossTraining"),
      Self.run("10:00", "11:00", 2, activity: "Cycling"),
    ]
    let kinds = [("cross training", 1.0), ("cross-training", 1), ("cycling", 2), ("bike", 2)]
    for (kind, distance) in kinds {
      #expect(Self.distances(try Self.points(samples, only: kind)) == [distance])
    }
  }

  @Test func `a note names a kind without workouts and the kinds that exist`() throws {
    let samples = [
      Self.run("08:00", "09:00", 1), Self.run("10:00", "11:00", 2, activity: "Cycling"),
    ]
    #expect(
      try Self.reply(samples, only: "swimming").notes
        == ["No workout of kind SWIMMING in this time; recorded kinds are BIKING, RUNNING."])
    #expect(
      try Self.reply([], only: "swimming").notes
        == ["No workout of kind SWIMMING in this time; there are no workouts."])
  }

  @Test func `a kind that this version does not know is read from its identifier`() throws {
    let samples = [Self.run("08:00", "09:00", 1, activity: "MoonWalking")]
    for kind in ["HKWorkoutActivityTypeMoonWalking", "moon walking", "MOON_WALKING"] {
      #expect(Self.distances(try Self.points(samples, only: kind)) == [1])
    }
  }

  @Test func `a kind of workout is refused for other value types`() {
    let query = ask(
      .steps, "2026-01-05", "2026-01-06", .total, options: HealthOptions(workoutType: "RUNNING"))
    #expect(
      Shelf([]).answer(.healthData(query)).reason
        == "workout_type applies to value_type WORKOUT only")
  }

  @Test(arguments: [SessionMerge.most - 1, SessionMerge.most, SessionMerge.most + 1])
  func `a session is compared with at most a thousand that overlap`(count: Int) throws {
    let first = at("2026-01-05T00:00:00Z")
    let samples = (0...count).map { index in
      HealthSample(
        type: HealthSample.workoutType,
        value: .workout(WorkoutValue(activity: "Running", distance: 1)),
        start: first.advanced(by: .seconds(index)),
        end: first.advanced(by: .seconds(index + 9_000)),
        source: index == count ? "Phone" : "Watch")
    }
    // The phone's session is compared with those that arrived since the limit was reached.
    let isCompared = count != SessionMerge.most
    #expect(
      Self.distances(try Self.points(samples)) == [Double(isCompared ? count : count + 1)])
  }

  @Test func `sessions that overlap without end are bounded`() throws {
    let first = at("2026-01-05T00:00:00Z")
    var samples = (0..<2_500).map { index in
      HealthSample(
        type: HealthSample.workoutType,
        value: .workout(WorkoutValue(activity: "Running", distance: 1)),
        start: first.advanced(by: .seconds(index)),
        end: first.advanced(by: .seconds(index + 9_000)), source: "Watch")
    }
    samples.append(
      HealthSample(
        type: HealthSample.workoutType, value: .workout(WorkoutValue(activity: "Running")),
        start: first, end: first, source: "Phone"))
    #expect(Self.distances(try Self.points(samples)) == [2_500])
  }
}

extension String {
  /// The time an hour later, for a time such as `08:30`.
  fileprivate var replacingHour: String { "09" + dropFirst(2) }
}
