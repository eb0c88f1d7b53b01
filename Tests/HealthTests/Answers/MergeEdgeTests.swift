import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of samples that barely reach a span or have almost no duration.
@Suite struct MergeEdgeTests {
  private static let query = ask(.steps, "2026-01-05", "2026-01-07", .day, .sum)

  @Test func `a sample that ends at midnight adds nothing to the next day`() throws {
    let shelf = Shelf([steps(10, "2026-01-05T23:50:00Z", "2026-01-06T00:00:00Z")])
    let merged = try shelf.merged(Self.query)
    #expect(merged.map(\.value) == [.number(10)])
    #expect(merged.map(\.start) == [time("2026-01-05T00:00:00")])
  }

  @Test func `a sample of one nanosecond counts`() throws {
    let start = at("2026-01-05T10:00:00Z")
    let sample = HealthSample(
      type: "HKQuantityTypeIdentifierStepCount", value: .quantity(10), unit: "count",
      start: start, end: start.advanced(by: .nanoseconds(1)), source: "Watch")
    #expect(try Shelf([sample]).merged(Self.query).map(\.value) == [.number(10)])
  }

  @Test func `instantaneous samples count in addition to a longer sample of the same rank`() {
    let start = "2026-01-05T10:00:00Z"
    let ranks = [SourceRank](repeating: SourceRank(kind: .watch, name: "Watch"), count: 2)
    var merge = SourceMerge(calendar: CalendarBuckets(zone: .utc, grouping: .day))
    let walk = steps(50, start, "2026-01-05T10:10:00Z")
    merge.take(50, walk, from: walk.start, track: 0, ranks)
    for track in [0, 1] {
      merge.take(7, steps(7, start, start), from: walk.start, track: track, ranks)
    }
    merge.finish(at: at("2026-01-06T00:00:00Z"), ranks)
    #expect(merge.finished.map(\.value) == [64])
  }

  @Test func `the device name decides which of two sources without a name counts`() throws {
    var (first, second) = (
      steps(160, "2026-01-05T10:00:00Z", "2026-01-05T10:16:00Z", source: " "),
      steps(80, "2026-01-05T10:06:00Z", "2026-01-05T10:16:00Z", source: " ")
    )
    (first.device, second.device) = ("Ring B", "Ring A")
    let points = try Shelf([first, second]).reply(Self.query).points
    #expect(points.map(\.source) == ["merged", "Ring A", "Ring B"])
    // The merged sum has the first six minutes of `Ring B` and the ten minutes of `Ring A`.
    #expect(points.map(\.value) == [.number(60 + 80), .number(80), .number(160)])
  }
}
