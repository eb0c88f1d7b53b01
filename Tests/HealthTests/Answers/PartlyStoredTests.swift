import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of answers from a store that has a part of the data: synced samples, or an import that did
/// not end.
@Suite struct PartlyStoredTests {
  private static let count = HealthType.quantityPrefix + "StepCount"
  /// 100 steps a day in March 2026, of which the first ten days are not synced.
  private static let all = (1...31).map { day in
    let date = "2026-03-\(day < 10 ? "0" : "")\(day)"
    return steps(100, "\(date)T08:00:00Z", "\(date)T09:00:00Z")
  }
  private static let synced = Shelf(Array(all.dropFirst(10)))
  private static let limits = AnswerLimits()

  private static var stored: StoredHealth {
    StoredHealth(
      lastSamples: [count: at("2026-03-31T08:00:00Z")],
      firstSynced: [count: at("2026-03-11T08:00:00Z")])
  }

  private static func reply(
    _ query: HealthDataQuery, _ stored: StoredHealth = stored, _ shelf: Shelf = synced
  ) throws -> HealthReply {
    let object = shelf.answer(.healthData(query), limits: limits, stored: stored)
    return try HealthReply.read(object.bytes)
  }

  private static func question(
    _ start: String, _ end: String, _ groupBy: HealthGrouping?, _ statistic: HealthStatistic? = nil,
    _ options: HealthOptions = HealthOptions(), _ type: HealthValueType = .steps
  ) -> HealthDataQuery {
    ask(type, start + "T00:00:00Z", end + "T00:00:00Z", groupBy, statistic, options: options)
  }

  private static func numbers(_ reply: HealthReply) -> [Double] {
    reply.points.compactMap { if case .number(let number) = $0.value { number } else { nil } }
  }

  private static let sentence =
    "STEPS is synced from 2026-03-11T08:00 on. What the phone has from before is missing here."

  @Test(arguments: [HealthGrouping.total, .month])
  func `a span that begins before the first synced sample is partial, with a note`(
    grouping: HealthGrouping
  ) throws {
    let reply = try Self.reply(Self.question("2026-03-01", "2026-04-01", grouping))
    #expect(Self.numbers(reply) == [2_100])
    #expect(reply.points.map(\.isPartial) == [true])
    #expect(reply.notes == [Self.sentence])
  }

  @Test func `only the spans that are cut are partial`() throws {
    let reply = try Self.reply(Self.question("2026-03-01", "2026-03-14", .day))
    #expect(Self.numbers(reply) == [100, 100, 100])
    #expect(reply.points.map(\.isPartial) == [true, false, false])
    #expect(reply.notes == [Self.sentence])
  }

  @Test func `a question about what is synced has no note`() throws {
    let reply = try Self.reply(Self.question("2026-03-12", "2026-03-14", .total))
    #expect(Self.numbers(reply) == [200])
    #expect(reply.points.map(\.isPartial) == [false])
    #expect(reply.notes.isEmpty)
  }

  @Test func `an average leaves out the day that is cut`() throws {
    var samples = Array(Self.all.dropFirst(10))
    samples[0] = steps(10, "2026-03-11T08:00:00Z", "2026-03-11T09:00:00Z")
    let query = Self.question("2026-03-01", "2026-04-01", .total, .average)
    let reply = try Self.reply(query, Self.stored, Shelf(samples))
    #expect(Self.numbers(reply) == [100])
    #expect(reply.points.map(\.isPartial) == [true])
  }

  @Test func `a comparison with a span that is synced in part compares days`() throws {
    var options = HealthOptions()
    options.compareWith = QuerySpan(
      start: time("2026-03-01T00:00:00Z"), end: time("2026-03-24T00:00:00Z"))
    let query = Self.question("2026-03-24", "2026-03-31", .total, nil, options)
    let object = Self.synced.answer(.healthData(query), limits: Self.limits, stored: Self.stored)
    let text = String(decoding: object.bytes, as: UTF8.self)
    #expect(text.contains(#""previous_partial":true"#), "\(text)")
    #expect(text.contains(#""change":0"#))
    #expect(text.contains(#""previous_per_day":100"#))
    #expect(text.contains(Self.sentence))
    #expect(text.contains("The spans have 7 and 12.7 days"))
  }

  @Test func `the last value before a time says that older ones may exist`() throws {
    var options = HealthOptions()
    options.nearest = true
    let query = Self.question("2026-03-01", "2026-03-09", nil, nil, options)
    let reply = try Self.reply(query)
    #expect(reply.points.isEmpty)
    #expect(reply.notes.contains(Self.sentence))
  }

  @Test func `a trend leaves out the week that is cut`() throws {
    var options = HealthOptions()
    options.trend = true
    let query = Self.question("2026-03-02", "2026-03-30", .week, nil, options)
    let object = Self.synced.answer(.healthData(query), limits: Self.limits, stored: Self.stored)
    let text = String(decoding: object.bytes, as: UTF8.self)
    #expect(text.contains(#""slope_per_week":0"#))
    #expect(text.contains(Self.sentence))
  }

  @Test func `a type that is not synced is not said to have no data`() throws {
    let query = Self.question("2026-03-12", "2026-03-14", .total, nil, HealthOptions(), .distance)
    let reply = try Self.reply(query)
    #expect(reply.points.isEmpty)
    #expect(
      reply.notes.first
        == "DISTANCE is not synced. The phone may have it: ask while it is reachable.")
  }

  @Test func `synced workouts say that their steps are not known`() throws {
    let shelf = Shelf([workout("Running", "2026-03-12T08:00:00Z", "2026-03-12T09:00:00Z")])
    var stored = Self.stored
    stored.firstSynced?[HealthSample.workoutType] = at("2026-03-12T08:00:00Z")
    let query = Self.question("2026-03-13", "2026-03-14", .total, nil, HealthOptions(), .workout)
    #expect(try Self.reply(query, stored, shelf).notes.isEmpty)
    let found = Self.question("2026-03-12", "2026-03-14", .total, nil, HealthOptions(), .workout)
    #expect(
      try Self.reply(found, stored, shelf).notes.last
        == "total_steps is not synced: null does not mean that no steps were recorded.")
  }

  @Test(arguments: [false, true])
  func `an import that has not ended is named in every answer`(isRunning: Bool) throws {
    let stored = StoredHealth(
      lastSamples: [Self.count: at("2026-03-31T08:00:00Z")],
      unfinished: StoredHealth.Unfinished(since: at("2026-04-01T10:11:12Z"), isRunning: isRunning))
    let sentence = try #require(stored.importNote(in: .utc))
    #expect(sentence.contains("2026-04-01T10:11"))
    #expect(sentence.contains(isRunning ? "Ask again" : "Import the export again"))
    let query = Self.question("2026-03-12", "2026-03-14", .total)
    #expect(try Self.reply(query, stored).notes == [sentence])
    let none = Self.question("2026-03-12", "2026-03-14", .total, nil, HealthOptions(), .distance)
    #expect(try Self.reply(none, stored).notes == [sentence])
    let list = Self.synced.answer(.types, limits: Self.limits, stored: stored)
    #expect(String(decoding: list.bytes, as: UTF8.self).contains(#""note":"\#(sentence)""#))
    #expect(StoredHealth().importNote(in: .utc) == nil)
  }
}
