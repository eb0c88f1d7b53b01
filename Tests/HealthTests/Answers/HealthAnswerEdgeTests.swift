import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of answers that just reach a limit.
@Suite struct HealthAnswerEdgeTests {
  @Test func `merged sums after a cut take no space from the sums before it`() throws {
    let hours = (0..<6).map { "2026-01-05T0\($0)" }
    let samples = hours.map { steps(1, "\($0):00:00Z", "\($0):30:00Z") }
    let query = ask(.steps, "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z", .hour, .sum)
    // There is room for four cells.
    var answer = try HealthAnswer(
      query, zone: .utc, now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(maxBytes: 240),
      stored: StoredHealth())
    answer.take(HealthSamplePage(samples: samples))
    let starts = [0, 1, 0, 1].map { samples[$0].start }
    #expect(answer.nextStart == samples[2].start)
    #expect(answer.cells.all.map(\.bucket.start) == starts)
    #expect(answer.cells.all.map(\.source) == [2, 2, Sources.merged, Sources.merged])
  }

  @Test(arguments: [("2026-01-05", true), ("2026-01-05T00:00:00.001", false)])
  func `a question without any time says that the end is not included`(end: String, isEmpty: Bool)
    throws
  {
    let note =
      "end_time is not included, and is start_time here, so no time is asked for. For one day, "
      + "end_time is the next day."
    for grouping in [nil, HealthGrouping.day, .total] {
      let reply = try Shelf([]).reply(ask(.steps, "2026-01-05", end, grouping))
      #expect(reply.notes == (isEmpty ? [note] : []))
    }
  }

  @Test func `samples of the second of two types may fill an answer to its last byte`() throws {
    let samples = (10..<40).map { second in
      quantity("RestingHeartRate", 60, "count/min", "2026-01-05T09:00:\(second)Z")
    }
    let shelf = Shelf(samples)
    let query = ask(.heartRate, "2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let points = try shelf.parts(query).points
    #expect(points.count == 30)
    // The room holds each point with its comma.
    let room = points.reduce(HealthAnswer.around) { $0 + $1.length + 1 }
    let reply = try shelf.parts(query, limits: AnswerLimits(maxBytes: room))
    #expect(reply == HealthReply(query: query, points: points))
  }

  @Test func `samples that last for centuries are added without overflow`() throws {
    // The samples of 290 and 199 years together cover 299 years, which is more than 2^63 ns.
    let shelf = Shelf([
      quantity("StepCount", 100, "count", "1900-01-01T00:00:00Z", "2190-01-01T00:00:00Z"),
      quantity("StepCount", 10, "count", "2000-01-01T00:00:00Z", "2199-01-01T00:00:00Z"),
    ])
    let query = ask(.steps, "1900-01-01T00:00:00Z", "2199-12-31T00:00:00Z", .total, .sum)
    let merged = try shelf.reply(query).points.filter(\.isMerged)
    #expect(merged.map(\.value) == [.number(110)])
    // One session lasts 521 years and ends on none of the requested days.
    let nights = Shelf([
      stage("AsleepCore", "1740-01-01T00:00:00Z", "2026-01-06T07:00:00Z"),
      stage("AsleepCore", "1980-01-01T00:00:00Z", "2261-01-01T00:00:00Z"),
    ])
    let night = ask(.sleep, "2026-01-06T00:00:00", "2026-01-07T00:00:00", .day, .sum)
    #expect(try nights.reply(night).points == [])
  }

  @Test
  func `merged sums of many sources are the same if the answer omits the sources' own points`()
    throws
  {
    let samples = (0..<40).flatMap { source in
      (10..<20).map { day in
        quantity(
          "StepCount", 100, "count", "2026-01-\(day)T08:00:00Z",
          "2026-01-\(day)T08:0\(source % 10):30Z", source: "App \(source)")
      }
    }
    let shelf = Shelf(samples)
    let query = ask(.steps, "2026-01-10T00:00:00", "2026-01-20T00:00:00", .day, .sum)
    let merged = try shelf.reply(query).points.filter(\.isMerged)
    #expect(merged.count == 10)
    // There is room for ten points, but not for the points of forty sources.
    let room = merged.reduce(HealthAnswer.around) { $0 + $1.length + 1 }
    var plain = query
    plain.options.bySource = false
    var answering = HealthAnswering(
      .healthData(plain), zone: .utc, now: at("2027-01-01T00:00:00Z"),
      limits: AnswerLimits(maxBytes: room, isExact: true))
    while case .read(let wanted) = answering.step { answering.take(shelf.page(wanted)) }
    guard case .done(let object) = answering.step else { return }
    let reply = try HealthReply.read(object.bytes)
    #expect(reply.points == merged)
    #expect(reply.nextStart == nil)
  }

  @Test func `an average of days whose sum overflows is refused`() throws {
    func answer(_ second: Double) -> HealthObject {
      let shelf = Shelf([
        quantity("StepCount", 1e308, "count", "2026-01-05T09:00:00Z"),
        quantity("StepCount", second, "count", "2026-01-06T09:00:00Z"),
      ])
      return shelf.answer(.healthData(ask(.steps, "2026-01-05", "2026-01-07", .total, .average)))
    }
    let points = try HealthReply.read(answer(0.5e308).bytes).points
    let average = HealthPointValue.number((1e308 + 0.5e308) / 2)
    #expect(points.map(\.value) == [average, average])
    #expect(answer(1e308) == .failure(AnswerRefusal.sumTooLarge.description))
  }

  @Test func `a day whose sum is too large refuses the answer, even if another day is the minimum`()
    throws
  {
    let shelf = Shelf([
      quantity("StepCount", 1e308, "count", "2026-01-05T09:00:00Z"),
      quantity("StepCount", 1e308, "count", "2026-01-05T10:00:00Z"),
      quantity("StepCount", 5, "count", "2026-01-06T09:00:00Z"),
    ])
    let answer = shelf.answer(.healthData(ask(.steps, "2026-01-05", "2026-01-07", .total, .min)))
    #expect(answer == .failure(AnswerRefusal.sumTooLarge.description))
  }

  @Test func `of samples with the same start the last one read is the latest`() throws {
    let shelf = Shelf([
      quantity("DietaryEnergyConsumed", 300, "kcal", "2026-01-05T08:00:00Z"),
      quantity("DietaryProtein", 20, "g", "2026-01-05T08:00:00Z", "2026-01-05T08:05:00Z"),
    ])
    let points = try shelf.parts(ask(.bodyMetrics, "2026-01-05", "2026-01-07", .total, .latest))
      .points
    #expect(points.map(\.end) == [time("2026-01-05T08:05:00")])
  }

  @Test func `the latest numbers of a meal have the times of the last number`() throws {
    let shelf = Shelf([
      quantity("DietaryEnergyConsumed", 300, "kcal", "2026-01-05T08:00:00Z"),
      quantity("DietaryProtein", 20, "g", "2026-01-06T09:00:00Z", "2026-01-06T09:05:00Z"),
      quantity("DietaryFatTotal", 10, "g", "2026-01-05T08:00:00Z"),
    ])
    let points = try shelf.parts(ask(.bodyMetrics, "2026-01-05", "2026-01-07", .total, .latest))
      .points
    #expect(
      points == [
        HealthPoint(
          type: "NUTRITION",
          value: .nutrition(NutritionTotals(calories: 300, protein: 20, fat: 10)),
          unit: "noUnit", start: time("2026-01-06T09:00:00"), end: time("2026-01-06T09:05:00"),
          source: "Watch")
      ])
  }

  @Test func `a session whose middle is the first moment of a day belongs to that day`() throws {
    let midnight = at("2026-01-06T00:00:00Z").nanoseconds
    let session = HealthSample(
      type: "HKCategoryTypeIdentifierMindfulSession",
      value: .category("HKCategoryValueNotApplicable"),
      start: Timestamp(nanoseconds: midnight - 1), end: Timestamp(nanoseconds: midnight + 1),
      source: "Watch")
    let query = ask(.mindfulness, "2026-01-05T00:00:00", "2026-01-07T00:00:00", .day, .count)
    #expect(try Shelf([session]).parts(query).points.map(\.start) == [time("2026-01-06T00:00:00")])
  }
}
