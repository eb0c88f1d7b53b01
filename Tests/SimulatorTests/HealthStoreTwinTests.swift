import LinkCore
import LinkHealth
import Testing

@testable import LinkSimulator

/// The second accounts of censuses, coverages and pages of changes.
@Suite struct HealthStoreTwinTests {
  typealias Walk = HealthSamplesWalk

  private static func sample(_ start: Int64) -> HealthSample {
    let time = Walk.moment(start)
    return HealthSample(type: "a", value: .quantity(1), start: time, end: time, source: "s")
  }

  private static func stretch(_ from: Int64, _ to: Int64) -> HealthStretch {
    HealthStretch(type: "a", from: Walk.moment(from), to: Walk.moment(to))
  }

  // Censuses.

  @Test func `a census that counts otherwise is found`() throws {
    let batch = HealthBatch([Self.sample(1), Self.sample(5), Self.sample(1)])
    var (census, readings, count) = (HealthCensus(), Walk.Readings(), HealthCount())
    census.add(batch)
    for row in batch.rows { readings.add("a", row) }
    for row in batch.rows.prefix(2) { count.add(row.key) }
    let must = Walk.Counts(readings, "a", count)
    #expect(must.covered == Self.stretch(1, 5))
    #expect([must.repeated, must.outdated] == [1, 0])
    #expect([must.isAll, must.isNothingAll] == [true, false])
    let good = Walk.Counts(census, "a", count)
    let changes: [(String, (inout Walk.Counts) -> Void)] = [
      ("what is covered of a", { $0.covered = nil }),
      ("what is repeated of a", { $0.repeated = 0 }),
      ("what is left out of a", { $0.outdated = 1 }),
      ("whether a store has all of a", { $0.isAll.toggle() }),
      ("whether nothing is all of a", { $0.isNothingAll.toggle() }),
    ]
    try Walk.expect(good, changes) { $0.compareCounts($1, must, "a") }
    let covered = [Self.stretch(1, 5)]
    #expect(try Walk.finding { $0.compareCovered(census.allCovered, covered) } == nil)
    #expect(try Walk.finds("all that is covered") { $0.compareCovered([], covered) })
  }

  @Test func `other suspects and other marks are found`() throws {
    let all = [Self.stretch(1, 5)]
    #expect(try Walk.finding { $0.compareSuspects(all, all, all) } == nil)
    #expect(try Walk.finds("suspects") { $0.compareSuspects([], all, all) })
    #expect(try Walk.finds("stretches of suspects") { $0.compareSuspects(all, [], all) })
    let (batch, suspects) = (HealthBatch([Self.sample(1), Self.sample(-1)]), HealthSuspects(all))
    let place = HealthSamplePlace(type: "a", start: Walk.moment(1), key: batch.rows[0].key)
    let marks = HealthMarks(places: [place, place])
    #expect(try Walk.finding { $0.compareMarks(marks, of: batch, suspects) } == nil)
    #expect(
      try Walk.finds("marks of \(all)") { walk in
        walk.compareMarks(HealthMarks(places: [place]), of: batch, suspects)
      })
  }

  @Test func `many samples that are counted otherwise are found`() throws {
    // Two of three fit beside the 65,534: the early one that is read again is not known then.
    #expect(try Walk.finding { $0.compareMany([1, 3], true, 65_544, 3) } == nil)
    #expect(try Walk.finding { $0.compareMany([2, 4], true, 65_541, 1) } == nil)
    for repeats in [[2, 3], [1, 2]] {
      #expect(
        try Walk.finds("repeats of 65537") { $0.compareMany(repeats, true, 65_544, 3) })
    }
    #expect(
      try Walk.finds("whether 65544 is all") { $0.compareMany([1, 3], false, 65_544, 3) })
    #expect(try Walk.finds("many samples") { $0.compareMany([1, 3], true, 65_543, 3) })
  }

  @Test func `other bounds of batches and of marks are found`() throws {
    let type = "HKWorkoutTypeIdentifier"
    #expect(try Walk.finding { $0.compareBounds(8_000, 65_535, type) } == nil)
    #expect(try Walk.finds("the most samples of a batch") { $0.compareBounds(8_001, 65_535, type) })
    #expect(try Walk.finds("no name") { $0.compareBounds(8_000, 0, type) })
    #expect(try Walk.finds("the type of workouts") { $0.compareBounds(8_000, 65_535, "") })
    #expect(try Walk.finding { $0.compareFull(true, 8_192) } == nil)
    #expect(try Walk.finding { $0.compareFull(false, 8_191) } == nil)
    #expect(try Walk.finds("whether 8191 marks are many") { $0.compareFull(true, 8_191) })
  }

  // Coverages.

  @Test func `coverages that are noted otherwise are found`() throws {
    var settlement = HealthSettlement()
    #expect(try Walk.finding { $0.compareNew(settlement) } == nil)
    settlement.replaces = true
    #expect(
      try Walk.finds("whether a settlement replaces others") { $0.compareNew(settlement) })
    let coverages = [HealthCoverage(Self.stretch(1, 5), exported: Walk.moment(2))]
    #expect(try Walk.finding { $0.compareCoverages(coverages, [[2, 1, 5]]) { "all" } } == nil)
    for must in [[], [[3, 1, 5]], [[2, 0, 5]], [[2, 1, 6]]] as [[[Int64]]] {
      #expect(try Walk.finds("all") { $0.compareCoverages(coverages, must) { "all" } })
    }
    let stretch = Self.stretch(1, 5)
    #expect(try Walk.finding { $0.compareContains(true, 5, stretch) } == nil)
    #expect(try Walk.finds("whether 6 is in \(stretch)") { $0.compareContains(true, 6, stretch) })
  }

  // Pages.

  private static func entry(_ start: Int64, added: Int64) -> HealthPagesTwin.Entry {
    let key = HealthSampleKey(high: 0, low: UInt64(added))
    let keyed = KeyedHealthSample(key: key, sample: sample(start))
    return HealthPagesTwin.Entry(type: "a", sample: keyed, added: added, deleted: nil)
  }

  private static let query = HealthChangeQuery(type: "a", from: Walk.moment(0), limit: 1)

  @Test func `the account tells samples in the order of their time`() {
    var twin = HealthPagesTwin(store: 7, newest: 2)
    twin.entries = [Self.entry(5, added: 1), Self.entry(3, added: 2)]
    let (first, place) = twin.page(Self.query, nil)
    func word(_ low: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, low] }
    let none = [UInt8](repeating: 255, count: 8)
    let anchor = [1] + word(7) + none + [3] + word(2) + word(3) + word(0) + word(2)
    #expect(
      first
        == HealthChangePage(
          added: [twin.entries[1].sample], deleted: [], anchor: HealthAnchor(anchor)))
    let (second, rest) = twin.page(Self.query, place)
    #expect(second.added == [twin.entries[0].sample])
    let (last, end) = twin.page(Self.query, rest)
    #expect(last.added == [])
    #expect(end == HealthPagesTwin.Place(done: 2))
    twin.newest = 3
    twin.entries[0].deleted = 3
    #expect(twin.page(Self.query, end).0.deleted == [twin.entries[0].sample.key])
  }

  @Test func `a page that tells something else is found`() throws {
    var twin = HealthPagesTwin(store: 7, newest: 2)
    twin.entries = [Self.entry(5, added: 1), Self.entry(3, added: 2)]
    let good = Walk.page(Self.query, twin)
    func finding(_ found: HealthChangePage) throws -> String? {
      try Walk.finding { _ = $0.comparePage(found, Self.query, nil, of: twin) }
    }
    #expect(try finding(good) == nil)
    let changes: [(inout HealthChangePage) -> Void] = [
      { $0.added = [] }, { $0.deleted = [HealthSampleKey(high: 0, low: 1)] },
      { $0.anchor = HealthAnchor([1]) },
    ]
    for change in changes {
      var found = good
      change(&found)
      #expect(try finding(found)?.hasPrefix("the page for \(Self.query) of ") == true)
    }
  }

  @Test func `an anchor that says something else is found`() throws {
    let anchor = HealthAnchor([0xAB, 1])
    #expect(try Walk.finding { $0.compareAnchor(2, 2, 7, 7) } == nil)
    #expect(try Walk.finds("what is done by an anchor") { $0.compareAnchor(nil, 2, 7, 7) })
    #expect(try Walk.finds("the store of an anchor") { $0.compareAnchor(2, 2, 8, 7) })
    #expect(try Walk.finding { $0.compareAnchor(anchor, anchor) } == nil)
    #expect(try Walk.finds("ab01, written again,") { $0.compareAnchor(nil, anchor) })
    #expect(try Walk.finding { $0.compareGood(false, false, anchor) } == nil)
    #expect(try Walk.finds("whether ab01 is an anchor") { $0.compareGood(true, false, anchor) })
    #expect(try Walk.finding { $0.compareText("ab01", of: anchor) } == nil)
    #expect(try Walk.finds("the text of an anchor") { $0.compareText("ab1", of: anchor) })
    let twin = HealthPagesTwin(store: 7)
    #expect(try Walk.finding { $0.compareNew(HealthWalk(7), of: twin) } == nil)
    #expect(try Walk.finds("the anchor of a new reader") { $0.compareNew(HealthWalk(8), of: twin) })
  }
}
