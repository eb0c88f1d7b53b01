import HoldfastCore
import Testing

@testable import HoldfastHealthSamples

/// Tests of samples in batches and queries, and of the anchors that mark a position in their
/// changes.
@Suite struct HealthSampleTests {
  private static func moment(_ nanoseconds: Int64) -> Timestamp {
    Timestamp(nanoseconds: nanoseconds)
  }

  private static func sample(_ value: Double) -> HealthSample {
    HealthSample(
      type: "a", value: .quantity(value), start: moment(1), end: moment(2), source: "s")
  }

  @Test func `a full batch has enough numbers for texts that are all different`() {
    let samples = (0..<HealthBatch.most).map { number in
      HealthSample(
        type: "type \(number)", value: .category("value \(number)"), unit: "unit \(number)",
        start: Self.moment(1), end: Self.moment(2), source: "source \(number)",
        device: "device \(number)", zone: "zone \(number)")
    }
    let batch = HealthBatch(samples)
    let read = batch.rows.map { batch[$0] }
    #expect(batch.names.count == 6 * samples.count)
    #expect(read == samples)
  }

  @Test func `a quantity of minus zero has the key of zero`() {
    #expect(Self.sample(-0.0).key == Self.sample(0).key)
  }

  @Test func `a page has at most 10,000 samples by default`() {
    let query = HealthSampleQuery(types: ["a"], from: Self.moment(0), to: Self.moment(1))
    #expect(query.limit == 10_000)
  }

  @Test func `an interval that ends at or before its start covers nothing`() {
    let ends: [Int64] = [4, 5, 6]
    let covered = ends.map { end in
      HealthSampleQuery(types: ["a"], from: Self.moment(5), to: Self.moment(end))
        .covers(start: Self.moment(0), end: Self.moment(10))
    }
    #expect(covered == [false, false, true])
  }

  @Test func `an anchor is read by the store that made it and by no other`() {
    let cursor = HealthChangeCursor(7)
    #expect(HealthChangeCursor(cursor.anchor, of: 7) == cursor)
    #expect(HealthChangeCursor(cursor.anchor, of: 8) == nil)
  }
}
