import HoldfastCore
import Testing

@testable import HoldfastHealth

/// Tests of the faults of invalid times, and of times at the ends of the supported range.
@Suite struct HealthTimeEdgeTests {
  @Test func `February 29 exists only in leap years`() {
    let years = ["1900", "2000", "2023", "2024"]
    let faults = years.map { HealthTime.Fault("\($0)-02-29 noon") }
    #expect(faults == [.noSuchDate, .otherForm, .noSuchDate, .otherForm])
  }

  @Test(
    arguments: [
      ("2026-02-30", .noSuchDate), ("2026-04-31T10:00", .noSuchDate),
      ("2026-01-03T29:99", .noSuchDate), ("1600-01-01", .outOfRange), ("2026-01-3", .otherForm),
      ("2026/01-03", .otherForm), ("2026/01/03", .otherForm), ("20260103", .otherForm),
      ("2026-01/03", .otherForm), ("2024\u{301}-02-29", .otherForm), ("2026-ab-cd", .otherForm),
      ("2026-01-03T15:30:00x", .otherForm), ("2026-01-03T15:30:00+19:00", .otherForm),
      ("2026-01-03T15:30:00Z+01:00", .otherForm), ("2026-01-03T25:00x", .otherForm),
      ("1600-01-01 noon", .otherForm), ("2026-01-03T24:00:01+02:00", .noSuchDate),
      ("1600-01-01T25:00", .noSuchDate), ("20245-02-29", .noSuchDate), ("0000-01-01", .outOfRange),
      ("20240-02-29", .outOfRange), ("2262-04-11T23:47:17", .outOfRange),
      ("2262-04-11T23:47:16-01:00", .outOfRange), ("1677-09-21", .outOfRange),
      ("1677-09-21T00:12:43.145224191Z", .outOfRange), ("9999-12-31T24:00", .outOfRange),
    ] as [(String, HealthTime.Fault)])
  func `an invalid time is classified by its day, its year or its form`(
    text: String, fault: HealthTime.Fault
  ) {
    #expect(HealthTime.Fault(text) == fault)
  }

  @Test(
    arguments: [
      ("1677-09-21T00:12:43.145224192", .local(first)), ("1677-09-21T00:12:44", .local(second)),
      ("1677-09-21T00:12:43.145224191", nil), ("1677-09-21T00:12:43", nil), ("1677-09-21", nil),
      ("1677-09-21T00:12:43.145224192Z", .instant(.earliest, minutesEast: nil)),
      ("1677-09-21T01:12:43.145224192+01:00", .instant(.earliest, minutesEast: 60)),
      ("1677-09-21T01:12:43.145224191+01:00", nil),
      ("2262-04-11T23:47:16.854775807", .local(CivilTime(nanoseconds: .max))),
      ("2262-04-11T23:47:16.854775808", nil),
    ] as [(String, HealthTime?)])
  func `times are read from the first to the last instant of the range`(
    text: String, time: HealthTime?
  ) {
    #expect(HealthTime(text) == time)
    #expect(time == nil || time?.description == text)
  }

  private static let first = CivilTime(nanoseconds: .min)
  private static let second = CivilTime(nanoseconds: .min + 854_775_808)
}

extension Timestamp {
  fileprivate static let earliest = Timestamp(nanoseconds: .min)
}
