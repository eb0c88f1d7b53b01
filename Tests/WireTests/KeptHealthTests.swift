import LinkCore
import LinkHealth
import LinkWire
import Testing

/// The health samples of a person as a value, change by change.
@Suite struct KeptHealthTests {
  private static func batch(_ type: String, _ start: Int64) -> HealthBatch {
    let time = Timestamp(nanoseconds: start)
    return HealthBatch([
      HealthSample(type: type, value: .quantity(1), start: time, end: time, source: "Phone")
    ])
  }

  @Test func `what changes of other types leaves the anchor of a type as it is`() throws {
    var kept = KeptHealth()
    _ = try kept.add(Self.batch("a", 1))
    var query = HealthChangeQuery(type: "a", from: Timestamp(nanoseconds: 0), limit: 10)
    let first = kept.changes(query)
    #expect(first.added.map(\.sample.start) == [Timestamp(nanoseconds: 1)])
    query.after = first.anchor
    _ = try kept.add(Self.batch("b", 2))
    #expect(kept.changes(query) == HealthChangePage(anchor: first.anchor))
    _ = try kept.add(Self.batch("a", 3))
    #expect(kept.changes(query).added.map(\.sample.start) == [Timestamp(nanoseconds: 3)])
  }
}
