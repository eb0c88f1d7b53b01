import HoldfastCore
import Testing

@testable import HoldfastHealthSamples

/// Tests of a reader whose first page came from a store without changes.
@Suite struct HealthChangeCursorEdgeTests {
  private static let early = HealthSample(
    type: "a", value: .quantity(1), start: Timestamp(nanoseconds: 3),
    end: Timestamp(nanoseconds: 3), source: "s")
  private static let added = KeyedHealthSample(key: early.key, sample: early)
  private static let deleted = HealthSampleKey(high: 1, low: 2)

  /// Returns a page of a store whose first change deletes a sample and whose second change adds
  /// one.
  private static func page(after anchor: HealthAnchor?, newest: Int64) -> HealthChangePage {
    let query = HealthChangeQuery(
      type: "a", after: anchor, from: Timestamp(nanoseconds: 5), limit: 9)
    func holds(_ span: HealthChangeSpan, _ change: Int64) -> Bool {
      span.done < change && change <= span.until
    }
    return HealthChangeCursor.page(query, of: 7, newest: newest) { span in
      holds(span, 1) || holds(span, 2)
    } deletions: { span, _, _ in
      holds(span, 1) ? [deleted] : []
    } additions: { span, position, _ in
      holds(span, 2) && position.start < early.start ? [added] : []
    }
  }

  @Test func `changes added to an empty store are returned, including deletions and early samples`()
  {
    let first = Self.page(after: nil, newest: 0)
    let second = Self.page(after: first.anchor, newest: 2)
    let third = Self.page(after: second.anchor, newest: 2)
    let expected = HealthChangePage(
      added: [Self.added], deleted: [Self.deleted], anchor: second.anchor)
    #expect(first == HealthChangePage(anchor: first.anchor))
    #expect(second == expected)
    #expect(third == HealthChangePage(anchor: second.anchor))
  }
}
