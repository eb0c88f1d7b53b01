import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import Testing

/// Tests of a person's health samples as a value, with changes applied one at a time.
@Suite struct StoredHealthSamplesTests {
  private static func sample(
    _ type: String, _ start: Int64, to end: Int64? = nil
  ) -> HealthSample {
    HealthSample(
      type: type, value: .quantity(1), start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: end ?? start), source: "Phone")
  }

  private static func batch(_ type: String, _ start: Int64) -> HealthBatch {
    HealthBatch([sample(type, start)])
  }

  /// Returns a change that removes all samples that start in an interval.
  private static func removal(_ type: String, _ from: Int64, _ to: Int64) -> ImportReconciliation {
    let (first, last) = (Timestamp(nanoseconds: from), Timestamp(nanoseconds: to))
    return ImportReconciliation(intervals: [CoverageInterval(type: type, from: first, to: last)])
  }

  @Test func `counts changes from 1, and does not count one without an effect`() throws {
    var stored = StoredHealthSamples()
    var numbers = [stored.newestChange]
    for _ in 0..<2 {
      _ = try stored.add(Self.batch("a", 1))
      numbers.append(stored.newestChange)
    }
    for (from, to) in [(5, 9), (0, 2)] as [(Int64, Int64)] {
      _ = stored.reconcile(Self.removal("a", from, to))
      numbers.append(stored.newestChange)
    }
    #expect(numbers == [0, 1, 1, 1, 2])
  }

  @Test func `reports a deletion once, although other samples change later`() throws {
    var stored = StoredHealthSamples()
    _ = try stored.add(Self.batch("a", 1))
    var query = HealthChangeQuery(type: "a", from: Timestamp(nanoseconds: 0), limit: 10)
    query.after = stored.changes(query).anchor
    _ = stored.reconcile(Self.removal("a", 0, 2))
    let deletions = stored.changes(query)
    #expect(
      deletions == HealthChangePage(deleted: [Self.sample("a", 1).key], anchor: deletions.anchor))
    query.after = deletions.anchor
    _ = try stored.add(Self.batch("b", 2))
    #expect(stored.changes(query) == HealthChangePage(anchor: deletions.anchor))
    _ = try stored.add(Self.batch("a", 3))
    let later = stored.changes(query)
    #expect(later.added.map(\.sample) == [Self.sample("a", 3)])
    #expect(later.deleted == [])
  }

  @Test func `no longer counts a type without samples`() throws {
    var stored = StoredHealthSamples()
    for type in ["a", "b"] { _ = try stored.add(Self.batch(type, 1)) }
    #expect(stored.reconcile(Self.removal("a", 0, 2)) == ["a": 1])
    var left = HealthCount()
    left.add(Self.sample("b", 1).key)
    #expect(stored.totals == ["b": left])
  }

  @Test func `a sample at the start of an interval lies in it`() throws {
    var stored = StoredHealthSamples()
    _ = try stored.add(Self.batch("a", 5))
    let query = HealthSampleQuery(
      types: ["a"], from: Timestamp(nanoseconds: 5), to: Timestamp(nanoseconds: 9))
    #expect(stored.samples(query) == HealthSamplePage(samples: [Self.sample("a", 5)]))
  }

  @Test(arguments: [(1, .min), (.min, .max), (1, 0)] as [(Int64, Int64)])
  func `refuses a sample that ends before its start or lasts for centuries`(
    start: Int64, end: Int64
  ) {
    #expect(throws: StoreFailure.self) {
      var stored = StoredHealthSamples()
      _ = try stored.add(HealthBatch([Self.sample("a", start, to: end)]))
    }
  }
}
