import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of answers about types that are asked for by their own word: events, single nutrients, and
/// types that no version knows.
@Suite struct EventAnswerTests {
  private static let flow = "HKCategoryTypeIdentifierMenstrualFlow"

  private static func event(
    _ value: String, _ start: String, _ end: String, type: String = flow, source: String = "Diary"
  ) -> HealthSample {
    HealthSample(
      type: type, value: .category("HKCategoryValue" + value), start: at(start), end: at(end),
      source: source)
  }

  private static let shelf = Shelf([
    event("MenstrualFlowLight", "2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z"),
    event("VaginalBleedingHeavy", "2026-03-02T00:00:00Z", "2026-03-02T06:00:00Z"),
    event("MenstrualFlowLight", "2026-03-03T00:00:00Z", "2026-03-03T01:00:00Z", source: "Watch"),
  ])

  private static func query(
    _ word: String, _ groupBy: HealthGrouping? = nil, _ statistic: HealthStatistic? = nil
  ) throws -> HealthDataQuery {
    ask(
      try #require(HealthValueType(rawValue: word)), "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z",
      groupBy, statistic)
  }

  private static func lines(_ reply: HealthReply) -> [String] {
    reply.points.map { point in
      let value =
        switch point.value {
        case .number(let number): "\(number)"
        case .text(let text): text
        case .workout, .nutrition: "?"
        }
      return "\(point.type) \(value) \(point.unit) \(point.source ?? "-")"
    }
  }

  @Test func `events are counted in total and for each value`() throws {
    let reply = try Self.shelf.reply(try Self.query("MENSTRUAL_FLOW", .total))
    #expect(
      Self.lines(reply).filter { $0.hasSuffix("all") }.sorted() == [
        "MENSTRUAL_FLOW 3.0 count all", "MENSTRUAL_FLOW_HEAVY 1.0 count all",
        "MENSTRUAL_FLOW_LIGHT 2.0 count all",
      ])
    #expect(reply.query.statistic == .count)
  }

  @Test func `the sum of events is their length in minutes`() throws {
    let reply = try Self.shelf.reply(try Self.query("MENSTRUAL_FLOW", .month, .sum))
    #expect(
      Self.lines(reply).filter { $0.hasSuffix("all") }.sorted() == [
        "MENSTRUAL_FLOW 1140.0 minute all", "MENSTRUAL_FLOW_HEAVY 360.0 minute all",
        "MENSTRUAL_FLOW_LIGHT 780.0 minute all",
      ])
  }

  @Test func `the latest event has the name of its value and its own time`() throws {
    let reply = try Self.shelf.reply(try Self.query("MENSTRUAL_FLOW", .total, .latest))
    let all = try #require(reply.points.first { $0.source == "all" })
    #expect(all.value == .text("LIGHT"))
    #expect(all.type == "MENSTRUAL_FLOW")
    #expect(all.start == time("2026-03-03T00:00:00Z"))
    #expect(reply.points.filter { $0.source == "all" }.count == 1)
  }

  @Test func `single events have their names`() throws {
    let reply = try Self.shelf.reply(try Self.query("MENSTRUAL_FLOW"))
    #expect(
      Self.lines(reply).sorted() == [
        "MENSTRUAL_FLOW HEAVY noUnit Diary", "MENSTRUAL_FLOW LIGHT noUnit Diary",
        "MENSTRUAL_FLOW LIGHT noUnit Watch",
      ])
  }

  @Test(arguments: [HealthStatistic.average, .min, .max])
  func `events have no number that could be averaged`(statistic: HealthStatistic) throws {
    let object = Self.shelf.answer(
      .healthData(try Self.query("MENSTRUAL_FLOW", .day, statistic)))
    #expect(object.reason?.contains("COUNT") == true)
  }

  @Test func `an event without a value has its length`() throws {
    let shelf = Shelf([
      Self.event(
        "NotApplicable", "2026-03-01T08:00:00Z", "2026-03-01T08:02:00Z",
        type: "HKCategoryTypeIdentifierToothbrushingEvent")
    ])
    #expect(
      Self.lines(try shelf.reply(try Self.query("TOOTHBRUSHING"))) == [
        "TOOTHBRUSHING 2.0 minute Diary"
      ])
  }

  @Test func `a nutrient has a number in its own unit`() throws {
    let shelf = Shelf([
      quantity("DietaryIron", 0.009, "g", "2026-03-01T08:00:00Z"),
      quantity("DietaryIron", 9, "mg", "2026-03-01T09:00:00Z"),
    ])
    let reply = try shelf.reply(try Self.query("DIETARY_IRON", .total))
    #expect(Self.lines(reply).first == "DIETARY_IRON 18.0 milligram merged")
  }

  @Test func `a type that no version knows is asked for by a word of its identifier`() throws {
    let shelf = Shelf([
      quantity("NewThing", 2, "xyz", "2026-03-01T08:00:00Z"),
      quantity("NewThing", 4, "xyz", "2026-03-01T09:00:00Z"),
      quantity("NewThing", 4, "abc", "2026-03-01T10:00:00Z"),
    ])
    let stored = StoredHealth(
      lastSamples: ["HKQuantityTypeIdentifierNewThing": at("2026-03-01T10:00:00Z")])
    let object = shelf.answer(
      .healthData(try Self.query("new_thing", .total, .average)), stored: stored)
    let reply = try HealthReply.read(object.bytes)
    #expect(Self.lines(reply).first == "NEW_THING 3.0 xyz all")
    #expect(reply.skipped == 1)
    let refused = shelf.answer(.healthData(try Self.query("new_thing")))
    #expect(refused.reason?.hasPrefix("NEW_THING is no kind of data") == true)
  }

  @Test func `a word without data says so if the store has other data`() throws {
    let stored = StoredHealth(lastSamples: [Self.flow: at("2026-03-03T00:00:00Z")])
    let query = try Self.query("VO2_MAX")
    let object = Self.shelf.answer(.healthData(query), limits: AnswerLimits(), stored: stored)
    let reply = try HealthReply.read(object.bytes)
    #expect(reply.points.isEmpty)
    #expect(
      reply.notes == ["VO2_MAX has no data at all here; list_health_types names what has."])
    let none = try Self.shelf.reply(query)
    #expect(none.notes.isEmpty)
  }
}
