import LinkCore
import Testing

@Suite struct TimeTests {
  @Test func `a schedule whose factor leads beyond all time stays at its cap`() throws {
    let schedule = try #require(
      Schedule(text: "1h*\(Int.max) max 3h +-0.0 min 0s x5"))
    #expect(
      (0..<6).map { schedule.bounds(before: $0)?.upperBound } == [
        .seconds(3_600), .seconds(10_800), .seconds(10_800), .seconds(10_800), .seconds(10_800),
        nil,
      ])
  }
}
