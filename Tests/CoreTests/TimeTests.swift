import HoldfastCore
import Testing

@Suite struct TimeTests {
  @Test(
    arguments: [
      (Duration.nanoseconds(Int64.max - 1), Int64.max - 1), (.nanoseconds(Int64.max), .max),
      (.nanoseconds(Int64.max) + .nanoseconds(1), .max), (.seconds(Int64.max), .max),
      (Duration(attoseconds: .max), .max), (.nanoseconds(Int64.min), .min),
      (.nanoseconds(Int64.min) - .nanoseconds(1), .min), (Duration(attoseconds: .min), .min),
      (Duration(attoseconds: 1_999_999_999), 1), (Duration(attoseconds: -1_999_999_999), -1),
    ] as [(Duration, Int64)])
  func `a duration is clamped to 64 bits of nanoseconds`(length: Duration, expected: Int64) {
    #expect(length.nanoseconds == expected)
  }

  @Test func `an instant and a duration are added and subtracted`() {
    let start = Instant(nanoseconds: 5)
    #expect(start + .nanoseconds(2) == Instant(nanoseconds: 7))
    #expect(start - .nanoseconds(7) == Instant(nanoseconds: -2))
    #expect(start + .seconds(1) - start == .seconds(1))
    #expect(start - Duration.seconds(Int64.max) == Instant(nanoseconds: .min + 6))
    #expect(Instant(nanoseconds: -3) - Duration.seconds(Int64.max) == Instant(nanoseconds: .min))
    #expect(start - Duration.seconds(Int64.min) == Instant(nanoseconds: .max))
  }

  /// Uses the seconds of 1678-01-01 and 2262-01-01 from `date -u +%s` of GNU coreutils.
  @Test(
    arguments: [
      (0, 0, "1970-01-01T00:00:00Z"), (1, 5, "1970-01-01T00:00:01.000000005Z"),
      (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"),
      (0, 1_000_000_000, "1970-01-01T00:00:00.999999999Z"), (0, -1, "1970-01-01T00:00:00Z"),
      (-9_214_560_000, 0, "1678-01-01T00:00:00Z"),
      (-9_214_560_001, 999_999_999, "1678-01-01T00:00:00Z"),
      (.min, .min, "1678-01-01T00:00:00Z"),
      (9_214_646_399, 7, "2261-12-31T23:59:59.000000007Z"),
      (9_214_646_400, 0, "2261-12-31T23:59:59.999999999Z"),
      (.max, .max, "2261-12-31T23:59:59.999999999Z"),
    ] as [(Int64, Int64, String)])
  func `a timestamp given in seconds is clamped to the years 1678 to 2261`(
    seconds: Int64, nanoseconds: Int64, text: String
  ) {
    let time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    #expect(RFC3339.format(time) == text)
  }

  @Test func `a schedule whose factor overflows stays at its cap`() {
    let schedule = Schedule.exponential(
      first: .seconds(3_600), factor: .max, cap: .seconds(10_800), jitter: 0, floor: .zero,
      attempts: 5)
    #expect(
      (0..<6).map { schedule.bounds(before: $0)?.upperBound } == [
        .seconds(3_600), .seconds(10_800), .seconds(10_800), .seconds(10_800), .seconds(10_800),
        nil,
      ])
  }
}
