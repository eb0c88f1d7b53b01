import Testing

@testable import LinkHealth

/// Why a text is no time, at the ends of the calendar.
@Suite struct HealthTimeEdgeTests {
  @Test func `the 29th of February is a day in leap years only`() {
    let years = ["1900", "2000", "2023", "2024"]
    let faults = years.map { HealthTime.Fault("\($0)-02-29 noon") }
    #expect(faults == [.noSuchDate, .otherForm, .noSuchDate, .otherForm])
  }
}
