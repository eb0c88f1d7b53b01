import HoldfastCore
import Testing

@testable import HoldfastHealthSamples

/// Tests of the limit of a page of changes, and of the position at which the next page begins.
@Suite struct HealthChangeCursorPageTests {
  /// The changes to samples of one type, with their numbers.
  private struct Changes {
    var deleted: [(change: Int64, key: HealthSampleKey)] = []
    var added: [(change: Int64, sample: KeyedHealthSample)] = []
    var newest: Int64

    private func holds(_ span: HealthChangeSpan, _ change: Int64) -> Bool {
      span.done < change && change <= span.until
    }

    private func isChanged(_ span: HealthChangeSpan) -> Bool {
      deleted.contains { holds(span, $0.change) } || added.contains { holds(span, $0.change) }
    }

    private func keys(
      _ span: HealthChangeSpan, after last: HealthSampleKey?, limit: Int
    ) -> [HealthSampleKey] {
      let keys = deleted.filter { holds(span, $0.change) }.map { $0.key }
      guard let last else { return Array(keys.prefix(limit)) }
      return Array(keys.filter { $0 > last }.prefix(limit))
    }

    private func samples(
      _ span: HealthChangeSpan, after position: HealthPosition, limit: Int
    ) -> [KeyedHealthSample] {
      let samples = added.filter { holds(span, $0.change) }.map { $0.sample }
      let rest = samples.filter { ($0.sample.start, $0.key) > (position.start, position.key) }
      return Array(rest.prefix(limit))
    }

    func page(after anchor: HealthAnchor?, limit: Int) -> HealthChangePage {
      let query = HealthChangeQuery(
        type: "a", after: anchor, from: Timestamp(nanoseconds: 0), limit: limit)
      return HealthChangeCursor.page(query, of: 7, newest: newest) { span in
        isChanged(span)
      } deletions: { span, last, limit in
        keys(span, after: last, limit: limit)
      } additions: { span, position, limit in
        samples(span, after: position, limit: limit)
      }
    }

    /// Returns all pages before the first page without a change.
    func pages(after anchor: HealthAnchor, limit: Int) -> [HealthChangePage] {
      var pages: [HealthChangePage] = []
      var anchor = anchor
      while pages.count < 20 {
        let page = page(after: anchor, limit: limit)
        if page.anchor == anchor { break }
        pages.append(page)
        anchor = page.anchor
      }
      return pages
    }
  }

  private static func sample(_ start: Int64) -> KeyedHealthSample {
    let time = Timestamp(nanoseconds: start)
    let sample = HealthSample(
      type: "a", value: .quantity(1), start: time, end: time, source: "s")
    return KeyedHealthSample(key: sample.key, sample: sample)
  }

  /// Two deletions, then three samples.
  private static let changes = Changes(
    deleted: [(1, HealthSampleKey(high: 0, low: 1)), (2, HealthSampleKey(high: 0, low: 2))],
    added: [(3, sample(10)), (4, sample(20)), (5, sample(30))], newest: 5)

  @Test(arguments: 1...6)
  func `a walk returns each change once in pages within the requested limit`(limit: Int) {
    let changes = Self.changes
    let begin = Changes(newest: 0).page(after: nil, limit: limit)
    let pages = changes.pages(after: begin.anchor, limit: limit)
    #expect(pages.flatMap(\.deleted) == changes.deleted.map { $0.key })
    #expect(pages.flatMap(\.added) == changes.added.map { $0.sample })
    #expect(pages.allSatisfy { $0.deleted.count + $0.added.count <= limit })
  }

  @Test(arguments: 1...6)
  func `the first walk returns each change once, with the deletions last`(limit: Int) {
    let first = Self.changes.page(after: nil, limit: limit)
    let pages = [first] + Self.changes.pages(after: first.anchor, limit: limit)
    #expect(pages.flatMap(\.added) == Self.changes.added.map { $0.sample })
    #expect(pages.flatMap(\.deleted) == Self.changes.deleted.map { $0.key })
  }

  @Test func `an empty store's anchor stays the same until a sample of the type changes`() {
    let begin = Changes(newest: 0).page(after: nil, limit: 2)
    let next = Changes(newest: 3).page(after: begin.anchor, limit: 2)
    #expect(next == HealthChangePage(anchor: begin.anchor))
  }

  @Test func `a reader starts over in a store that was restored to an earlier state`() {
    let first = Self.changes.page(after: nil, limit: 9)
    let earlier = Changes(added: Array(Self.changes.added.prefix(2)), newest: 4)
    let page = earlier.page(after: first.anchor, limit: 9)
    #expect(page.added == earlier.added.map { $0.sample })
  }

  /// The bytes before the stage in an anchor of store 7, for a reader that has received nothing
  /// yet.
  private static let head: [UInt8] =
    [1, 0, 0, 0, 0, 0, 0, 0, 7] + [UInt8](repeating: 0xFF, count: 8)

  @Test func `anchors made by earlier versions of the program stay readable`() {
    let anchor = HealthAnchor(Self.head + [0])
    #expect(HealthChangeCursor(7).anchor == anchor)
    #expect(HealthChangeCursor(anchor, of: 7) == HealthChangeCursor(7))
  }

  @Test(arguments: [0, 2, 3] as [UInt8]) func `an anchor of another version is not read`(
    version: UInt8
  ) {
    var bytes = HealthChangeCursor(7).anchor.bytes
    bytes[0] = version
    #expect(HealthChangeCursor(HealthAnchor(bytes), of: 7) == nil)
  }

  @Test func `an anchor includes the mark of the newest change`() {
    let query = HealthChangeQuery(type: "a", from: Timestamp(nanoseconds: .min), limit: 9)
    let page = HealthChangeCursor.page(query, of: 7, newest: 4, mark: 0x0102) { _ in
      true
    } deletions: { _, _, _ in
      []
    } additions: { _, _, _ in
      []
    }
    let bytes: [UInt8] = [2] + [0, 0, 0, 0, 0, 0, 0, 7] + [0, 0, 0, 0, 0, 0, 0, 4]
    #expect(page.anchor.bytes == bytes + [0, 0, 0, 0, 0, 0, 1, 2] + [0])
    let cursor = HealthChangeCursor(page.anchor, of: 7)
    #expect(cursor?.mark == 0x0102)
    #expect(cursor?.reach == 4)
    #expect(cursor?.anchor == page.anchor)
    let unmarked = bytes + [UInt8](repeating: 0, count: 8) + [0]
    #expect(HealthChangeCursor(HealthAnchor(unmarked), of: 7) == nil, "a mark is never 0")
    var next = query
    next.after = page.anchor
    #expect(next.checked(of: 7) { $0 == 4 ? 0x0102 : 0 } == next)
    #expect(next.checked(of: 7) { _ in 0x0103 } == query, "change 4 is a different one now")
    #expect(next.checked(of: 8) { _ in 0x0103 } == next, "another store's anchor is unchanged")
    #expect(query.checked(of: 7) { _ in 0x0103 } == query)
  }

  @Test(arguments: [(0, 0), (1, 8), (2, 24), (3, 32)] as [(UInt8, Int)])
  func `an anchor of any stage is read only if no bytes are missing or added`(
    stage: UInt8, length: Int
  ) {
    let bytes: [UInt8] = Self.head + [stage] + [UInt8](repeating: 5, count: length)
    let cursor = HealthChangeCursor(HealthAnchor(bytes), of: 7)
    #expect(cursor?.anchor == HealthAnchor(bytes))
    let parts = bytes.indices.map { Array(bytes[..<$0]) } + [bytes + [0]]
    let read = parts.filter { HealthChangeCursor(HealthAnchor($0), of: 7) != nil }
    #expect(read == [])
  }
}
