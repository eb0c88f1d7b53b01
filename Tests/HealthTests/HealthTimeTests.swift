import HoldfastCore
import HoldfastHealth
import Testing

@Suite struct HealthTimeTests {
  /// The local time 2026-01-03T15:30:00 in nanoseconds.
  private static let noon: Int64 = 1_767_454_200_000_000_000

  private static func local(_ shift: Int64 = 0) -> HealthTime {
    .local(CivilTime(nanoseconds: noon + shift))
  }

  private static func instant(_ hours: Int64, _ minutes: Int?) -> HealthTime {
    .instant(
      Timestamp(nanoseconds: noon - hours * 3_600_000_000_000), minutesEast: minutes)
  }

  private static let good: [(String, HealthTime, String)] = [
    ("2026-01-03T15:30:00", local(), "2026-01-03T15:30:00"),
    ("2026-01-03 15:30", local(), "2026-01-03T15:30:00"),
    ("2026-01-03t15:30:00.000", local(), "2026-01-03T15:30:00"),
    ("2026-01-03T15:30:00,25", local(250_000_000), "2026-01-03T15:30:00.25"),
    ("2026-01-03T15:30:00.1234567899", local(123_456_789), "2026-01-03T15:30:00.123456789"),
    ("2026-01-03", local(-55_800_000_000_000), "2026-01-03T00:00:00"),
    ("2026-01-02T24:00:00", local(-55_800_000_000_000), "2026-01-03T00:00:00"),
    ("2026-01-03T15:29:60", local(), "2026-01-03T15:30:00"),
    ("2026-01-03T15:30:00Z", instant(0, nil), "2026-01-03T15:30:00Z"),
    ("2026-01-03T15:30:00z", instant(0, nil), "2026-01-03T15:30:00Z"),
    ("2026-01-03T15:30:00+02:00", instant(2, 120), "2026-01-03T15:30:00+02:00"),
    ("2026-01-03T15:30:00-0200", instant(-2, -120), "2026-01-03T15:30:00-02:00"),
    ("2026-01-03T15:30+00", instant(0, 0), "2026-01-03T15:30:00+00:00"),
    ("2026-01-03T15:30:00-18:00", instant(-18, -1080), "2026-01-03T15:30:00-18:00"),
  ]

  @Test(arguments: good)
  func `ISO 8601 times with and without a zone are read and written back`(
    text: String, time: HealthTime, written: String
  ) {
    #expect(HealthTime(text) == time)
    #expect(time.description == written)
    #expect(HealthTime(written) == time)
  }

  @Test(
    arguments: [
      "", "2026", "2026-13-01", "2026-02-29", "2026-01-03T", "2026-01-03T25:00",
      "2026-01-03T24:00:01", "2026-01-03T24:00:00.5", "2026-01-03T15:60", "2026-01-03T15:30:61",
      "2026-01-03T15:30:00.", "2026-01-03T15:30:00+", "2026-01-03T15:30:00+19:00",
      "2026-01-03T15:30:00+02:60", "2026-01-03T15:30:00Zx", "2026-01-03x", "1600-01-01",
      "9999-01-01",
      "2026-01-03T15", " 2026-01-03", "20260103T153000", "2026-1-3", "2026-01-0315:30",
      "2026-01-03T1530", "2026-01-03T15:30:0002:00", "2026-01-03T15:30:00+02:00x",
      "2262-04-11T23:47:17", "2262-04-11T23:47:16-01:00", "2262-04-11T23:47:16Z+01:00",
      "2026-01-03T15:30:00z-02", "2026-01-03T15:30:00ZZ",
    ])
  func `texts in any other form are rejected`(text: String) {
    #expect(HealthTime(text) == nil)
  }
}
