import LinkCore
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
  func `a length is cut to what 64 bits of nanoseconds hold`(length: Duration, expected: Int64) {
    #expect(length.nanoseconds == expected)
  }

  @Test func `a schedule whose factor leads beyond all time stays at its cap`() {
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
