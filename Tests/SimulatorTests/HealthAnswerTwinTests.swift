import LinkCore
import LinkHealth
import Testing

@testable import LinkSimulator

/// The second account of answers about health.
@Suite struct HealthAnswerTwinTests {
  typealias Walk = HealthAnswerWalk

  private static let day = AnswerScene.day * AnswerClock.day
  /// At one in the morning of that day its clocks go forward by an hour.
  private static let berlin = AnswerScene.zones[1]

  private static func time(_ hours: Int64) -> HealthTime {
    .instant(Timestamp(nanoseconds: day + hours * AnswerClock.hour), minutesEast: nil)
  }

  private static func sample(
    _ type: String, _ hours: Int64, _ value: Double, _ unit: String
  ) -> HealthSample {
    let time = Timestamp(nanoseconds: day + hours * AnswerClock.hour)
    return HealthSample(
      type: "HKQuantityTypeIdentifier" + type, value: .quantity(value), unit: unit, start: time,
      end: time, source: "Pods")
  }

  /// A question for all steps of a day, of which a store has 30.
  private static var trial: (question: HealthQuestion, parts: AnswerTrial) {
    var scene = AnswerScene()
    (scene.start, scene.end) = (time(0), time(24))
    scene.now = Timestamp(nanoseconds: day + 48 * AnswerClock.hour)
    scene.samples = [sample("StepCount", 8, 10, "count"), sample("StepCount", 9, 20, "count")]
    let query = HealthDataQuery(
      valueType: .steps, start: scene.start, end: scene.end, groupBy: .total)
    let store = AnswerStore(scene.samples, isLoose: false)
    let parts = AnswerTrial(
      scene: scene, limits: AnswerLimits(), stored: StoredHealth(), store: store)
    return (.healthData(query), parts)
  }

  @Test func `the account knows when clocks change`() {
    let (clock, change) = (AnswerClock(Self.berlin), Self.day + AnswerClock.hour)
    #expect([change - 1, change].map { clock.secondsEast($0) } == [3_600, 7_200])
    #expect(clock.shown(change) == Self.day + 3 * AnswerClock.hour)
    // Half past two is left out, so it is half an hour behind the change.
    let half = AnswerClock.hour / 2
    #expect(clock.moment(of: Self.day + 2 * AnswerClock.hour + half) == change + half)
    let span = clock.span(change, .day)
    #expect(span.start == Self.day - AnswerClock.hour)
    #expect(span.end - span.start == 23 * AnswerClock.hour)
  }

  @Test func `the account writes the steps of a day`() {
    let (question, parts) = Self.trial
    let point =
      #"{"type":"STEPS","value":30.0,"unit":"count","date_from":"2026-03-29T00:00:00Z","#
      + #""date_to":"2026-03-30T00:00:00Z","source_id":"#
    let points = point + #""merged","statistic":"sum","merged":true},"# + point
    var twin = parts.twin
    #expect(
      twin.answer(question)
        == #"{"success":true,"count":2,"health_data":["# + points
        + #""Pods","statistic":"sum"}],"value_type":"STEPS","#
        + #""start_time":"2026-03-29T00:00:00Z","end_time":"2026-03-30T00:00:00Z","#
        + #""group_by":"total","is_aggregated":true,"statistic_type":"sum","time_zone":"UTC","#
        + #""answered_at":"2026-03-31T00:00:00+00:00","last_import":null,"#
        + #""last_samples":[{"type":"STEPS","at":null}]}"#)
    #expect(twin.points == 2)
    #expect(!twin.isCut)
  }

  /// Returns what is seen of the answer to a question, and what must be.
  private static func seen() throws -> (found: AnswerSeen, must: AnswerSeen) {
    let (question, parts) = trial
    var (answering, twin) = (parts.answering(question), parts.twin)
    var reads: [HealthSampleQuery] = []
    while case .read(let query) = answering.step {
      reads.append(query)
      answering.take(parts.store.page(query))
    }
    let text = twin.answer(question)
    return (try #require(AnswerSeen(answering, reads)), AnswerSeen(twin, text))
  }

  @Test func `an answer that is another one is found`() throws {
    let (good, must) = try Self.seen()
    func finding(_ found: AnswerSeen?, isBrief: Bool = false) throws -> String? {
      try Walk.finding { $0.compareAnswer(found, must, isBrief: isBrief) { $0 } }
    }
    let changes: [(String, (inout AnswerSeen) -> Void)] = [
      ("the answer", { $0.text = $0.text.replacing("30.0", with: "31.0") }),
      ("the success", { $0.succeeded.toggle() }), ("the count", { $0.points += 1 }),
      ("the cut", { $0.isCut.toggle() }), ("what was read", { $0.reads.removeLast() }),
    ]
    try Walk.expect(good, changes) { $0.compareAnswer($1, must, isBrief: false) { $0 } }
    #expect(try finding(nil) == "an answer is endless, and must be done")
    var near = good
    near.text = near.text.replacing("30.0", with: "30.000000000000004")
    near.reads = []
    #expect(try finding(near, isBrief: true) == nil)
  }

  @Test func `an answer that goes on behind its end is found`() throws {
    let (question, parts) = Self.trial
    var answering = parts.answering(question)
    func goesOn() throws -> Bool {
      try Walk.finds("what follows the end") { walk in
        walk.compareEnd(of: answering, before: parts.scene.samples) { $0 }
      }
    }
    #expect(try goesOn())
    answering.take(HealthSamplePage(samples: []))
    #expect(try !goesOn())
  }

  @Test func `other limits are found`() throws {
    let (usual, parts, odd) = (
      AnswerLimits(), AnswerLimits(maxBytes: 8_388_608), AnswerLimits(maxBytes: 1)
    )
    #expect(try Walk.finding { $0.compareLimits(usual, usual, parts) } == nil)
    #expect(try Walk.finds("limits") { $0.compareLimits(odd, usual, parts) })
    #expect(try Walk.finds("a frame") { $0.compareLimits(usual, odd, parts) })
    #expect(try Walk.finds("parts") { $0.compareLimits(usual, usual, odd) })
  }

  // Readings.

  @Test func `readings that ask for something else are found`() throws {
    let (from, to) = (Timestamp(nanoseconds: 0), Timestamp(nanoseconds: 9))
    var readings = HealthReadings("t", from: from, to: to, zone: .utc)
    let query = HealthSampleQuery(types: ["t"], from: from, to: to)
    #expect(try Walk.finding { $0.compareWanted(readings, query) } == nil)
    let other = HealthSampleQuery(types: ["u"], from: from, to: to)
    #expect(try Walk.finds("what readings want") { $0.compareWanted(readings, other) })
    #expect(try Walk.finds("what readings want at their end") { $0.compareWanted(readings, nil) })
    readings.take(HealthSamplePage(samples: []))
    #expect(try Walk.finding { $0.compareWanted(readings, nil) } == nil)
  }

  @Test func `readings that count otherwise are found`() throws {
    let values: [(Int64, Double)] = [(8, 60), (9, 70), (30, 80)]
    let good = values.map { hours, value in
      (sample: Self.sample("HeartRate", hours, value, "count/min"), told: value)
    }
    let to = Timestamp(nanoseconds: Self.day + 48 * AnswerClock.hour)
    var readings = HealthReadings(
      "HKQuantityTypeIdentifierHeartRate", from: Timestamp(nanoseconds: Self.day), to: to,
      zone: .utc)
    readings.take(HealthSamplePage(samples: good.map(\.sample)))
    typealias Found = [(sample: HealthSample, told: Double)]
    let changes: [(String, (inout Found) -> Void)] = [
      ("the count of all", { $0.removeLast() }), ("the least of all", { $0[0].told = 50 }),
      ("the greatest of all", { $0[2].told = 90 }), ("the average of all", { $0[1].told = 65 }),
      ("the latest of", { ($0[1].told, $0[2].told) = (80, 70) }),
      ("the latest time", { $0[2].sample.start = to }),
      ("the days", { $0[1].sample.start = Timestamp(nanoseconds: Self.day - 1) }),
      ("the count of a day", { $0[1].sample.start = $0[2].sample.start }),
    ]
    try Walk.expect(good, changes) { $0.compareReadings(readings, $1, AnswerScene()) }
  }

  // Zones and units.

  @Test func `a zone that is another one is found`() throws {
    let (moment, clock) = (Self.day + AnswerClock.hour, AnswerClock(Self.berlin))
    let readings = [moment, moment + AnswerClock.hour]
    let good = AnswerZone(Self.berlin, moment, readings, minutesEast: 90)
    let must = AnswerZone(clock, moment, readings)
    let changes: [(String, (inout AnswerZone) -> Void)] = [
      ("the offset", { $0.east -= 1 }), ("the reading", { $0.shown += 1 }),
      ("the moments of readings", { $0.moments[1] += 1 }),
      ("the moments of times", { $0.times[1] += 1 }),
      ("the moment of an instant", { $0.instant += 1 }),
    ]
    try Walk.expect(good, changes) { $0.compareZone($1, must) { $0 } }
  }

  @Test(
    arguments: [
      ("g", "g", 2.5, 2.6), ("kg", "K", nil, 1), ("kcal", "Cal", 2.5, 2.6),
      ("kg", "g", 2_500, 2_501),
      ("g", "kg", 0.0025, nil),
    ] as [(String, String, Double?, Double?)])
  func `a number in another unit is found`(
    from: String, to: String, good: Double?, bad: Double?
  ) throws {
    #expect(try Walk.finding { $0.compareUnits(good, 2.5, from, to) } == nil)
    #expect(try Walk.finds("2.5 \(from) in \(to)") { $0.compareUnits(bad, 2.5, from, to) })
  }
}
