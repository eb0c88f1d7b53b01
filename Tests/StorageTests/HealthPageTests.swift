import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import Testing

/// Tests of pages of samples, independent of the store.
@Suite struct HealthPageTests {
  private static func time(_ second: Int) -> Timestamp {
    Timestamp(nanoseconds: Int64(second) * 1_000_000_000)
  }

  @Test(arguments: [(4, 0), (5, 0), (6, 1)])
  func `an interval that ends at or before its start is empty`(end: Int, count: Int) {
    let sample = HealthSample(
      type: "a", value: .quantity(1), start: Self.time(0), end: Self.time(9), source: "watch")
    let query = HealthSampleQuery(types: ["a"], from: Self.time(5), to: Self.time(end))
    let page = query.page { _, _, _ in [(key: HealthSampleKey(high: 0, low: 1), sample: sample)] }
    #expect(page == HealthSamplePage(samples: Array(repeating: sample, count: count)))
  }

  @Test(
    arguments: [(2, [3, 2]), (.max, [2_147_483_647, 2_147_483_646])] as [(Int, [Int])])
  func `requests one sample more than a page still takes, up to SQLite's largest count`(
    limit: Int, asked: [Int]
  ) {
    let sample = HealthSample(
      type: "a", value: .quantity(1), start: Self.time(5), end: Self.time(5), source: "watch")
    let query = HealthSampleQuery(
      types: ["a", "b"], from: Self.time(0), to: Self.time(9), limit: limit)
    var limits: [Int] = []
    let page = query.page { type, _, limit in
      limits.append(limit)
      return type == "a" ? [(key: HealthSampleKey(high: 0, low: 1), sample: sample)] : []
    }
    #expect(limits == asked)
    #expect(page == HealthSamplePage(samples: [sample]))
  }
}
