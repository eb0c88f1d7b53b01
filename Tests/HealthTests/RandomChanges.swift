import HoldfastCore

@testable import HoldfastHealthSamples

/// A generator of changes to a store with samples of two types. The changes are read page by page.
struct RandomChanges: RandomInput {
  private struct Entry {
    var type: String
    var sample: KeyedHealthSample
    /// The numbers of the changes that added the sample and deleted it.
    var added: Int64
    var deleted: Int64?
  }

  var generator: RandomSource
  private var newest: Int64 = 0
  private var entries: [Entry] = []

  init(generator: RandomSource) { self.generator = generator }

  /// Adds some samples and deletes others.
  mutating func change() {
    for _ in 0..<one([0, 0, 1, 3, 6]) {
      newest += 1
      let present = entries.indices.filter { entries[$0].deleted == nil }
      if !present.isEmpty, happens(3) {
        entries[one(present)].deleted = newest
        continue
      }
      let start = Timestamp(nanoseconds: one([.min + 1, 0, 0, 1, 1, 2, .max]))
      let key = HealthSampleKey(high: UInt64(number(0...1)), low: UInt64(newest))
      let sample = HealthSample(
        type: "a", value: .quantity(1), start: start, end: start, source: "s")
      entries.append(
        Entry(
          type: one(["a", "a", "b"]), sample: KeyedHealthSample(key: key, sample: sample),
          added: newest))
    }
  }

  /// Returns the keys of the present samples of type `a`.
  func keys() -> Set<HealthSampleKey> {
    Set(entries.filter { $0.type == "a" && $0.deleted == nil }.map(\.sample.key))
  }

  /// Returns a page of changes of type `a`.
  func page(after anchor: HealthAnchor?, limit: Int) -> HealthChangePage {
    let query = HealthChangeQuery(
      type: "a", after: anchor, from: Timestamp(nanoseconds: .min), limit: limit)
    func holds(_ span: HealthChangeSpan, _ change: Int64?) -> Bool {
      change.map { $0 > span.done && $0 <= span.until } ?? false
    }
    func entries(_ span: HealthChangeSpan) -> [Entry] {
      self.entries.filter { $0.type == span.type }
    }
    return HealthChangeCursor.page(query, of: 7, newest: newest) { span in
      entries(span).contains { holds(span, $0.added) || holds(span, $0.deleted) }
    } deletions: { span, last, limit in
      let keys = entries(span).filter { holds(span, $0.deleted) }.map(\.sample.key).sorted()
      return Array(keys.filter { key in last.map { key > $0 } ?? true }.prefix(limit))
    } additions: { span, position, limit in
      let added = entries(span).filter { holds(span, $0.added) && $0.deleted == nil }
      let sorted = added.map(\.sample).sorted {
        ($0.sample.start, $0.key) < ($1.sample.start, $1.key)
      }
      let rest = sorted.filter { ($0.sample.start, $0.key) > (position.start, position.key) }
      return Array(rest.prefix(limit))
    }
  }
}
