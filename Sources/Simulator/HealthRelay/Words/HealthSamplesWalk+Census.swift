import LinkCore
import LinkHealth

// Counts of readings, and what stores keep and remove by them.
extension HealthSamplesWalk {
  /// What was read and left out, in lists.
  struct Readings {
    typealias Reading = (type: String, start: Int64, key: HealthSampleKey)
    var read: [Reading] = []
    var repeated: [String] = []
    var outdated: [Reading] = []

    mutating func add(_ type: String, _ row: HealthRow) {
      if read.contains(where: { $0.type == type && $0.key.low == row.key.low }) {
        repeated.append(type)
      } else {
        read.append((type, row.start.nanoseconds, row.key))
      }
    }

    func covered(_ type: String) -> HealthStretch? {
      let starts = (read + outdated).filter { $0.type == type }.map(\.start).sorted()
      guard let first = starts.first, let last = starts.last else { return nil }
      return HealthStretch(
        type: type, from: HealthSamplesWalk.moment(first), to: HealthSamplesWalk.moment(last))
    }

    func count(_ type: String, in stretch: Int64? = nil) -> HealthCount {
      var (count, digest) = (0, 0 as UInt64)
      for one in read where one.type == type {
        if let stretch, one.start < stretch << 50 || one.start >= (stretch + 1) << 50 { continue }
        count += 1
        digest ^= one.key.low
      }
      return HealthCount(count: count, digest: digest)
    }
  }

  /// What is counted of a type, and what a store that counted so much of it has.
  struct Counts {
    var covered: HealthStretch?
    var repeated: Int
    var outdated: Int
    var isAll: Bool
    var isNothingAll: Bool

    init(_ census: HealthCensus, _ type: String, _ stored: HealthCount) {
      (covered, repeated) = (census.covered(type), census.repeated(type))
      (outdated, isAll) = (census.outdated(type), census.isAll(type, stored: stored))
      isNothingAll = census.isAll(type, stored: nil)
    }

    init(_ readings: Readings, _ type: String, _ stored: HealthCount) {
      covered = readings.covered(type)
      repeated = readings.repeated.filter { $0 == type }.count
      outdated = readings.outdated.filter { $0.type == type }.count
      isAll = covered != nil && stored == readings.count(type)
      isNothingAll = false
    }
  }

  mutating func tryCensus() {
    var census = HealthCensus()
    var readings = Readings()
    var pool: [HealthSample] = []
    for _ in 0..<number(1...4) {
      pool += samples(4)
      let batch = HealthBatch((0..<min(6, pool.count)).map { _ in one(pool) })
      if happens(4) {
        let rows = batch.rows.indices.filter { _ in happens(2) }
        census.leaveOut(batch, rows)
        for row in rows.map({ batch.rows[$0] }) {
          readings.outdated.append(
            (batch.names[Int(row.type)].text, row.start.nanoseconds, row.key))
        }
      } else {
        census.add(batch)
        for row in batch.rows { readings.add(batch.names[Int(row.type)].text, row) }
      }
    }
    compare(census, readings)
  }

  private mutating func compare(_ census: HealthCensus, _ readings: Readings) {
    var covered: [HealthStretch] = []
    for type in ["a", "b", "none", "\u{E9}"] {
      if let stretch = readings.covered(type) { covered.append(stretch) }
      let all = readings.count(type)
      let other = one([
        HealthCount(count: all.count + 1, digest: all.digest), HealthCount(),
        HealthCount(count: all.count, digest: all.digest ^ 1), all,
      ])
      compareCounts(Counts(census, type, other), Counts(readings, type, other), type)
      trySuspects(census, readings, type)
    }
    compareCovered(census.allCovered, covered)
  }

  /// Compares what is counted of a type.
  mutating func compareCounts(_ found: Counts, _ must: Counts, _ type: String) {
    compare("what is covered of \(type)", found.covered, must.covered)
    compare("what is repeated of \(type)", found.repeated, must.repeated)
    compare("what is left out of \(type)", found.outdated, must.outdated)
    compare("whether a store has all of \(type)", found.isAll, must.isAll)
    compare("whether nothing is all of \(type)", found.isNothingAll, must.isNothingAll)
  }

  mutating func compareCovered(_ found: [HealthStretch], _ must: [HealthStretch]) {
    compare("all that is covered", found, must)
  }

  /// Finds the stretches in which a store differs from the readings.
  private mutating func trySuspects(
    _ census: HealthCensus, _ readings: Readings, _ type: String
  ) {
    let covered = readings.covered(type)
    var stored: [Int64: HealthCount] = [:]
    var must: [HealthStretch] = []
    for number in -4...4 as ClosedRange<Int64> {
      let (first, last) = (number << 50, (number + 1) << 50 - 1)
      guard let covered, covered.from.nanoseconds <= last, first <= covered.to.nanoseconds,
        !happens(5)
      else { continue }
      let read = readings.count(type, in: number)
      var count = read
      if happens(3) { count = HealthCount(count: read.count + 1, digest: read.digest) }
      if happens(3) { count = HealthCount(count: count.count, digest: read.digest ^ 3) }
      if read == HealthCount(), count == read { continue }
      stored[number] = count
      guard count != read else { continue }
      must.append(
        HealthStretch(
          type: type, from: Self.moment(max(first, covered.from.nanoseconds)),
          to: Self.moment(min(last, covered.to.nanoseconds))))
    }
    let suspects = HealthSuspects(must)
    compareSuspects(census.suspects(type, stored: stored), suspects.stretches, must)
    tryMarks(suspects)
  }

  /// Compares stretches that a census suspects, and those that are kept of them.
  mutating func compareSuspects(
    _ found: [HealthStretch], _ kept: [HealthStretch], _ must: [HealthStretch]
  ) {
    compare("suspects", found, must)
    compare("stretches of suspects", kept, must)
  }

  private mutating func tryMarks(_ suspects: HealthSuspects) {
    let batch = HealthBatch(samples(3))
    var marks = HealthMarks()
    for _ in 0..<2 { suspects.mark(batch, in: &marks) }
    compareMarks(marks, of: batch, suspects)
  }

  /// Compares the marks of a batch that was marked twice.
  mutating func compareMarks(
    _ marks: HealthMarks, of batch: HealthBatch, _ suspects: HealthSuspects
  ) {
    var places: [HealthSamplePlace] = []
    for row in batch.rows {
      let type = batch.names[Int(row.type)].text
      let isIn = suspects.stretches.contains { stretch in
        guard stretch.type == type else { return false }
        let number = stretch.from.nanoseconds >> 50
        return row.start.nanoseconds >= number << 50
          && row.start.nanoseconds < (number + 1) << 50
      }
      if isIn { places.append(HealthSamplePlace(type: type, start: row.start, key: row.key)) }
    }
    compare("marks of \(suspects.stretches)", marks, HealthMarks(places: places + places))
  }

  // Many samples of a type.

  /// Two samples fewer than a census keeps the keys of, and their count.
  private static let crowd: (census: HealthCensus, count: HealthCount) = {
    var census = HealthCensus()
    var digest: UInt64 = 0
    let most: Int64 = 65_534
    for first in stride(from: 0, to: most, by: 8_000) {
      let batch = HealthBatch((first..<min(first + 8_000, most)).map { plain($0) })
      for row in batch.rows { digest ^= row.key.low }
      census.add(batch)
    }
    return (census, HealthCount(count: Int(most), digest: digest))
  }()

  private static func plain(_ start: Int64, _ value: Double = 1) -> HealthSample {
    HealthSample(
      type: "a", value: .quantity(value), start: moment(start), end: moment(start), source: "s")
  }

  /// Adds samples to a census that has room for two more keys; beyond them only repeats that begin
  /// at the moment of the sample before are known, also of the first that has no room.
  mutating func tryManyKeys() {
    var (census, count) = (Self.crowd.census, Self.crowd.count)
    let fresh = number(1...3)
    var added = (0..<fresh).map { Self.plain(100_000 + Int64($0)) }
    census.add(HealthBatch(added + added.suffix(1) + [Self.plain(7)]))
    var repeats = [census.repeated("a")]
    let early = fresh < 3 ? 2 : 1
    if early == 1 { added.append(Self.plain(7)) }
    // One moment more than there is room for; then the last one again, an early one, and the last.
    let later = [Self.plain(200_000), Self.plain(200_000, 2)]
    let last = [Self.plain(300_000), Self.plain(300_000, 2)]
    added += later + last + [Self.plain(8), last[0]]
    for batch in [later, last, last + [Self.plain(8)], [last[0]]] {
      census.add(HealthBatch(batch))
    }
    repeats.append(census.repeated("a"))
    for key in added.map(\.key) { count.add(key) }
    compareMany(repeats, census.isAll("a", stored: count), count.count, fresh)
  }

  /// Compares how often samples of many were repeated, first and at the end, and whether all count.
  mutating func compareMany(_ repeats: [Int], _ isAll: Bool, _ count: Int, _ fresh: Int) {
    let early = fresh < 3 ? 2 : 1
    compare("repeats of \(65_534 + fresh)", repeats, [early, early + 2])
    compare("whether \(count) is all", isAll, true)
    compare("many samples", count, 65_534 + fresh + 8 - early)
  }

  /// Compares the numbers at which a store takes what waits.
  mutating func tryBounds() {
    compareBounds(HealthBatch.most, HealthRow.none, HealthSample.workoutType)
    let key = HealthSampleKey(high: 0, low: 0)
    let place = HealthSamplePlace(type: "a", start: Self.moment(0), key: key)
    let count = one([0, 8_191, 8_192, 8_193])
    let marks = HealthMarks(places: [HealthSamplePlace](repeating: place, count: count))
    compareFull(marks.isFull, count)
    guard let span = Self.spanned?.spans.first else { return compare("a span", false, true) }
    let spans = HealthMarks(spans: [HealthSpan](repeating: span, count: count))
    compareFull(spans.isFull, count)
  }

  mutating func compareBounds(_ most: Int, _ none: UInt16, _ workouts: String) {
    compare("the most samples of a batch", most, 8_000)
    compare("no name", none, 65_535)
    compare("the type of workouts", workouts, "HKWorkoutTypeIdentifier")
  }

  mutating func compareFull(_ found: Bool, _ count: Int) {
    compare("whether \(count) marks are many", found, count > 8_191)
  }
}
