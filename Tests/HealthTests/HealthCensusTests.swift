import LinkCore
import LinkHealth
import Testing

/// What a complete reading covers, and what a store holds besides.
@Suite struct HealthCensusTests {
  private static let bucket: Int64 = 1 << 50

  private static func sample(_ type: String, _ start: Int64, value: Double = 1) -> HealthSample {
    HealthSample(
      type: type, value: .quantity(value), start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start), source: "s")
  }

  private static func census(_ samples: [HealthSample]) -> HealthCensus {
    var census = HealthCensus()
    // In batches of 3, whose names have other numbers each.
    for place in stride(from: 0, to: samples.count, by: 3) {
      census.add(HealthBatch(samples[place..<min(place + 3, samples.count)]))
    }
    return census
  }

  private static func stretch(_ type: String, _ from: Int64, _ to: Int64) -> HealthStretch {
    HealthStretch(
      type: type, from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to))
  }

  @Test func `covers each type from its first start to its last one`() {
    let census = Self.census([
      Self.sample("a", 5), Self.sample("b", 7), Self.sample("a", -2), Self.sample("a", 3),
    ])
    #expect(census.typeNames == ["a", "b"])
    #expect(census.covered("a") == Self.stretch("a", -2, 5))
    #expect(census.covered("b") == Self.stretch("b", 7, 7))
    #expect(census.covered("c") == nil)
  }

  @Test func `a sample that is read twice is counted once`() {
    let one = Self.sample("a", 5)
    let census = Self.census([one, Self.sample("a", 6), Self.sample("b", 5), one])
    #expect(census.repeated("a") == 1)
    let summary = HealthTypeSummary(
      type: "a", count: 2, first: Timestamp(nanoseconds: 5), last: Timestamp(nanoseconds: 6))
    #expect(census.isAll(summary))
  }

  @Test func `stretches with another number of samples are suspect, cut to what is covered`() {
    let census = Self.census([
      Self.sample("a", 5), Self.sample("a", Self.bucket + 5), Self.sample("a", 2 * Self.bucket + 5),
    ])
    #expect(census.suspects("a", stored: [0: 1, 1: 1, 2: 1]) == [])
    #expect(
      census.suspects("a", stored: [0: 2, 1: 3, 2: 2]) == [
        Self.stretch("a", 5, Self.bucket - 1),
        Self.stretch("a", Self.bucket, 2 * Self.bucket - 1),
        Self.stretch("a", 2 * Self.bucket, 2 * Self.bucket + 5),
      ])
    #expect(census.suspects("none", stored: [0: 1]) == [])
  }

  @Test func `beyond 65,536 samples of a type only repeats in a row are known`() {
    var census = HealthCensus()
    let samples = (0..<70_000).map { Self.sample("a", Int64($0)) }
    for place in stride(from: 0, to: samples.count, by: 7_000) {
      census.add(HealthBatch(samples[place..<(place + 7_000)]))
    }
    #expect(census.repeated("a") == 0)
    census.add(HealthBatch([samples[69_999], samples[3]]))
    #expect(census.repeated("a") == 1)
    let summary = HealthTypeSummary(
      type: "a", count: 70_000, first: samples[0].start, last: samples[69_999].start)
    // Compared key by key then, which finds nothing.
    #expect(!census.isAll(summary))
    #expect(census.suspects("a", stored: [0: 70_000]).count == 1)
  }

  @Test func `a second reading collects the keys of suspect stretches only`() {
    let (near, far) = (Self.sample("a", 5), Self.sample("a", Self.bucket + 5))
    var collector = HealthRemovalCollector([Self.stretch("a", 2, 9)])
    collector.add(HealthBatch([near, far, Self.sample("b", 5)]))
    #expect(collector.count == 3)
    #expect(
      collector.all == [HealthRemoval(Self.stretch("a", 2, 9), keeping: [near.key])])
  }
}
