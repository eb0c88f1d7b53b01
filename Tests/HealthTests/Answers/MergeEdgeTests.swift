import LinkCore
import Testing

@testable import LinkHealth

/// Samples that just reach a span, or have just a length.
@Suite struct MergeEdgeTests {
  private static let query = ask(.steps, "2026-01-05", "2026-01-07", .day, .sum)

  @Test func `a sample that ends at midnight says nothing of the next day`() throws {
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
}
