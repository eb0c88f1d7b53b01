import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastHealth

/// Tests of the options of a question on the wire.
@Suite struct OptionsTests {
  private static let all = HealthOptions(
    bySource: true, format: .table,
    compareWith: QuerySpan(start: time("2026-01-01"), end: time("2026-02-01")), trend: true,
    nearest: true, workoutType: "RUNNING")

  private static func query(_ options: HealthOptions) -> HealthDataQuery {
    ask(.steps, "2026-02-01", "2026-03-01", .total, options: options)
  }

  @Test func `a question has its options as members, and none of those that are not used`() throws {
    let text = String(decoding: Self.query(Self.all).payload, as: UTF8.self)
    #expect(
      text.hasSuffix(
        ",\"by_source\":true,\"format\":\"TABLE\",\"compare_with\":{\"start_time\":"
          + "\"2026-01-01T00:00:00\",\"end_time\":\"2026-02-01T00:00:00\"},\"trend\":true,"
          + "\"nearest\":true,\"workout_type\":\"RUNNING\"}"))
    #expect(try HealthDataQuery.read(Array(text.utf8)) == Self.query(Self.all))
    let plain = String(decoding: Self.query(HealthOptions()).payload, as: UTF8.self)
    #expect(plain.hasSuffix(",\"group_by\":\"TOTAL\"}"))
  }

  @Test(arguments: [
    ("\"by_source\":1", FieldFault.wrongType(field: "by_source")),
    ("\"trend\":\"yes\"", .wrongType(field: "trend")),
    ("\"compare_with\":5", .missing(field: "compare_with")),
    ("\"compare_with\":{}", .missing(field: "start_time")),
    ("\"format\":\"csv\"", .unknownValue(field: "format", known: ["POINTS", "TABLE"])),
    ("\"workout_type\":7", .wrongType(field: "workout_type")),
  ])
  func `a member of another type is a fault`(member: String, fault: FieldFault) {
    let payload =
      "{\"value_type\":\"STEPS\",\"start_time\":\"2026-01-01\",\"end_time\":\"2026-01-02\","
      + member + "}"
    do throws(FieldFault) {
      _ = try HealthDataQuery.read(Array(payload.utf8))
      Issue.record("it was read: \(member)")
    } catch {
      let isMember = error == fault || error == .wrongType(field: "compare_with")
      #expect(isMember, "\(member): \(error)")
    }
  }

  @Test(arguments: [(64, true), (65, false), (1, true)])
  func `a kind of workout has at most 64 bytes`(length: Int, isRead: Bool) {
    let query = Self.query(HealthOptions(workoutType: String(repeating: "R", count: length)))
    #expect(((try? HealthDataQuery.read(query.payload)) != nil) == isRead)
  }

  @Test func `an answer that ignored an option is noticed`() {
    let question = HealthQuestion.healthData(Self.query(Self.all))
    func ignored(_ applied: String) -> String? {
      question.ignoredOption(
        in: HealthObject(succeeded: true, bytes: Array("{\"success\":true\(applied)}".utf8)))
    }
    #expect(ignored("") == "compare_with")
    #expect(ignored(",\"applied\":[\"compare_with\"]") == "trend")
    #expect(ignored(",\"applied\":[\"compare_with\",\"trend\",\"nearest\"]") == "workout_type")
    let all = ",\"applied\":[\"compare_with\",\"workout_type\",\"nearest\",\"trend\"]"
    #expect(ignored(all) == nil)
    #expect(ignored(",\"applied\":7") == "compare_with")
    #expect(question.ignoredOption(in: .failure("no")) == nil)
    let plain = HealthQuestion.healthData(Self.query(HealthOptions(bySource: true, format: .table)))
    #expect(
      plain.ignoredOption(
        in: HealthObject(succeeded: true, bytes: Array("{\"success\":true}".utf8))) == nil)
  }

  @Test func `every answer of this version names the options that it used`() {
    let options = [
      HealthOptions(compareWith: Self.all.compareWith), HealthOptions(trend: true),
      HealthOptions(nearest: true), HealthOptions(bySource: true, format: .table),
    ]
    for option in options {
      let groupBy: HealthGrouping? = option.nearest ? nil : .day
      let question = HealthQuestion.healthData(
        ask(.steps, "2026-02-01", "2026-03-01", groupBy, options: option))
      let answer = Shelf([]).answer(question)
      #expect(answer.succeeded)
      #expect(question.ignoredOption(in: answer) == nil)
    }
    let summary = HealthQuestion.summary(
      SummaryQuery(
        start: time("2026-02-01"), end: time("2026-03-01"),
        options: HealthOptions(compareWith: Self.all.compareWith)))
    #expect(summary.ignoredOption(in: Shelf([]).answer(summary)) == nil)
  }
}
