import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of the answer to the question which types are stored.
@Suite struct HealthTypesReplyTests {
  private static func answer(
    _ types: [HealthTypeSummary], limits: AnswerLimits = AnswerLimits()
  ) -> HealthObject {
    var answering = HealthAnswering(
      .types, zone: .utc, now: at("2026-03-05T10:00:00Z"), limits: limits,
      stored: StoredHealth(lastImport: at("2026-03-04T09:00:00Z")))
    #expect(answering.step == .list)
    answering.take(types)
    #expect(answering.points == types.count || !limits.isExact)
    guard case .done(let object) = answering.step else { return .failure("") }
    return object
  }

  private static func type(
    _ type: String, count: Int? = 3, sources: [String]? = ["Phone"]
  ) -> HealthTypeSummary {
    HealthTypeSummary(
      type: type, count: count, first: at("2026-03-01T08:00:00Z"), last: at("2026-03-03T09:30:00Z"),
      sources: sources)
  }

  private static func text(_ object: HealthObject) -> String {
    String(decoding: object.bytes, as: UTF8.self)
  }

  @Test func `a type has its word, meaning, unit, count, times, sources and statistics`() {
    let object = Self.answer([
      Self.type("HKCategoryTypeIdentifierHeadache", count: nil, sources: nil),
      Self.type("HKQuantityTypeIdentifierStepCount", sources: ["Phone", "Watch"]),
    ])
    #expect(
      Self.text(object)
        == #"{"success":true,"count":2,"types":[{"value_type":"STEPS","#
        + #""what":"steps of walking and running","unit":"count","count":3,"#
        + #""first":"2026-03-01T08:00:00","last":"2026-03-03T09:30:00","#
        + #""sources":["Phone","Watch"],"#
        + #""statistics":["SUM","AVERAGE","MIN","MAX","COUNT","LATEST"]},"#
        + #"{"value_type":"HEADACHE","what":"symptom: headache","unit":null,"#
        + #""values":["UNSPECIFIED","NOT_PRESENT","MILD","MODERATE","SEVERE"],"count":null,"#
        + #""first":"2026-03-01T08:00:00","last":"2026-03-03T09:30:00","#
        + #""statistics":["COUNT","SUM","LATEST"]}],"time_zone":"UTC","#
        + #""answered_at":"2026-03-05T10:00:00+00:00","last_import":"2026-03-04T09:00:00+00:00"}"#)
  }

  @Test func `readings have no sum, and sleep counts nights`() {
    let text = Self.text(
      Self.answer([
        Self.type("HKQuantityTypeIdentifierBodyMass"),
        Self.type("HKCategoryTypeIdentifierSleepAnalysis"),
      ]))
    #expect(text.contains(#""statistics":["AVERAGE","MIN","MAX","COUNT","LATEST"]"#))
    #expect(text.contains(#""statistics":["AVERAGE","SUM","MIN","MAX","COUNT","LATEST"]"#))
  }

  @Test func `an unknown type has a word of its identifier`() {
    let text = Self.text(Self.answer([Self.type("HKQuantityTypeIdentifierNewThing")]))
    #expect(text.contains(#""value_type":"NEW_THING""#))
    #expect(text.contains("HKQuantityTypeIdentifierNewThing"))
  }

  @Test(arguments: [-1, 0, 1]) func `at most mostSources, eight, are named`(beyond: Int) {
    #expect(HealthTypesReply.mostSources == 8)
    let count = HealthTypesReply.mostSources + beyond
    let names = (1...count).map { "App \($0)" }
    let text = Self.text(
      Self.answer([Self.type("HKQuantityTypeIdentifierStepCount", sources: names)]))
    #expect(text.contains("App 7"))
    #expect(text.contains("App 9") == false)
    #expect(text.contains(#""more_sources":1"#) == (count == 9))
  }

  @Test func `a long answer has no sources, and one that is still too long is refused`() {
    let types = HealthType.all.map { Self.type($0.identifier, sources: ["A source"]) }
    let now = at("2026-03-05T10:00:00Z")
    func reply(_ count: Int) -> HealthTypesReply {
      HealthTypesReply(Array(types.prefix(count)), zone: .utc, now: now, stored: StoredHealth())
    }
    let lengths = types.indices.map { reply($0).object(atMost: .max).bytes.count }
    let first = lengths.indices.dropFirst().first { lengths[$0] < lengths[$0 - 1] } ?? 0
    #expect(first > 42)
    #expect(lengths[first - 1] <= AnswerLimits.usualBytes)
    #expect(Self.text(reply(first - 1).object(atMost: .max)).contains("sources"))
    let short = reply(first).object(atMost: .max)
    #expect(!Self.text(short).contains("sources"))
    #expect(reply(first).object(atMost: short.bytes.count).succeeded)
    #expect(!reply(first).object(atMost: short.bytes.count - 1).succeeded)
  }

  @Test func `a store that cannot be read is said`() {
    var answering = HealthAnswering(.types, zone: .utc, now: at("2026-03-05T10:00:00Z"))
    answering.fail("the disk is gone")
    guard case .done(let object) = answering.step else {
      Issue.record("no answer")
      return
    }
    #expect(!object.succeeded)
    #expect(object.reason?.contains("the disk is gone") == true)
  }
}
