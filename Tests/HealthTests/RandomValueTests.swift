import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Property tests of codecs, batches and pages with random values.
@Suite struct RandomValueTests {
  @Test(arguments: randomSeeds)
  func `questions and replies are read as they were written`(seed: UInt64) throws {
    var random = RandomValues(generator: RandomSource(seed: seed))
    for _ in 0..<10 {
      let (query, summaryQuery) = (random.query(), random.summaryQuery())
      let (reply, summary) = (random.reply(), random.summaryReply())
      #expect(try HealthDataQuery.read(query.payload) == query)
      #expect(try SummaryQuery.read(summaryQuery.payload) == summaryQuery)
      #expect(try HealthReply.read(reply.object.bytes) == reply)
      #expect(try SummaryReply.read(summary.object.bytes) == summary)
      #expect(try HealthObject(reading: summary.object.bytes) == summary.object)
      var empty = reply
      empty.points = []
      let commas = max(0, reply.points.count - 1)
      let length = reply.points.reduce(commas) { $0 + $1.length }
      #expect(reply.object.bytes.count == empty.object.bytes.count + length)
    }
  }

  @Test(arguments: randomSeeds)
  func `a batch holds its samples, their keys and each name once`(seed: UInt64) {
    var random = RandomValues(generator: RandomSource(seed: seed))
    for _ in 0..<10 {
      let samples = random.samples()
      let batch = HealthBatch(samples)
      #expect(batch.rows.map { batch[$0] } == samples)
      #expect(batch.rows.map(\.key) == samples.map { MurmurHash3.key($0) })
      #expect(samples.map(\.key) == batch.rows.map(\.key))
      #expect(batch.names.map(\.key) == batch.names.map { MurmurHash3.key($0.text) })
      #expect(Set(batch.names.map(\.key)).count == batch.names.count)
      let intervals = random.intervals(samples)
      let inside = samples.indices.filter { index in
        intervals.contains { interval in
          ["", samples[index].type].contains(interval.type) && interval.from <= samples[index].start
            && samples[index].start <= interval.to
        }
      }
      #expect(batch.rows(in: intervals) == inside)
      let rest = batch.without(inside)
      let outside = samples.indices.filter { !inside.contains($0) }
      #expect(rest.rows.map { rest[$0] } == outside.map { samples[$0] })
    }
  }

  @Test(arguments: randomSeeds)
  func `pages return each change once even if the store changes between them`(seed: UInt64) {
    var random = RandomChanges(generator: RandomSource(seed: seed))
    var (known, seen): (Set<HealthSampleKey>, Set<HealthSampleKey>) = ([], [])
    var anchor: HealthAnchor?
    for round in 0..<30 {
      // In the last rounds the store does not change.
      if round < 20 { random.change() }
      let limit = round < 20 ? random.number(1...5) : 100
      let page = random.page(after: anchor, limit: limit)
      let added = page.added.map(\.key)
      #expect(added.count + page.deleted.count <= limit)
      #expect(seen.isDisjoint(with: added) && Set(added).count == added.count)
      seen.formUnion(added)
      known = known.union(added).subtracting(page.deleted)
      #expect(HealthChangeCursor(page.anchor, of: 7)?.anchor == page.anchor)
      #expect(HealthChangeCursor(page.anchor, of: 8) == nil)
      anchor = page.anchor
    }
    #expect(known == random.keys())
    #expect(random.page(after: anchor, limit: 1) == anchor.map { HealthChangePage(anchor: $0) })
  }
}
