import Testing

@testable import LinkHealth

/// Why a text is no time, at the ends of the calendar.
@Suite struct HealthTimeEdgeTests {
  @Test func `the 29th of February is a day in leap years only`() {
    let years = ["1900", "2000", "2023", "2024"]
    let faults = years.map { HealthTime.Fault("\($0)-02-29 noon") }
    #expect(faults == [.noSuchDate, .otherForm, .noSuchDate, .otherForm])
  }

  @Test(
    arguments: [
      ("2026-02-30", .noSuchDate), ("2026-04-31T10:00", .noSuchDate),
      ("2026-01-03T29:99", .noSuchDate), ("1600-01-01", .outOfRange), ("2026-01-3", .otherForm),
      ("2026/01-03", .otherForm), ("2026/01/03", .otherForm), ("20260103", .otherForm),
      ("2026-01/03", .otherForm), ("2024\u{301}-02-29", .otherForm),
    ] as [(String, HealthTime.Fault)])
  func `a text is no time because of its day, its year or its form`(
    text: String, fault: HealthTime.Fault
  ) {
    #expect(HealthTime.Fault(text) == fault)
  }
}
