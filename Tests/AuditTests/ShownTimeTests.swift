import Testing

@testable import HoldfastSessionAudit

/// Tests of the texts of times in a report.
@Suite struct ShownTimeTests {
  @Test(arguments: [
    (1_004, "1.00 ms"), (1_005, "1.01 ms"), (9_994, "9.99 ms"), (1_004_999, "1.00 s"),
    (1_005_000, "1.01 s"),
  ])
  func `a time is rounded to hundredths of its unit`(microseconds: Int, shown: String) {
    #expect(Duration.microseconds(microseconds).shown == shown)
  }

  @Test(arguments: [
    (9_995, "10 ms"), (10_499, "10 ms"), (10_500, "11 ms"), (19_999, "20 ms"),
    (999_499, "999 ms"), (999_500, "1.00 s"), (1_000_000, "1.00 s"),
  ])
  func `a time from ten milliseconds up to a second is rounded to whole milliseconds`(
    microseconds: Int, shown: String
  ) {
    #expect(Duration.microseconds(microseconds).shown == shown)
  }
}
