import LinkCore
import LinkHealth

// Counts of readings, and what stores keep and remove by them.
extension HealthSamplesWalk {
  /// What was read and left out, in lists.
  private struct Readings {
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
      let stretch = readings.covered(type)
      if let stretch { covered.append(stretch) }
      compare("what is covered of \(type)", census.covered(type), stretch)
      let repeated = readings.repeated.filter { $0 == type }.count
      compare("what is repeated of \(type)", census.repeated(type), repeated)
      let outdated = readings.outdated.filter { $0.type == type }.count
      compare("what is left out of \(type)", census.outdated(type), outdated)
      let all = readings.count(type)
      let other = one([
        HealthCount(count: all.count + 1, digest: all.digest), HealthCount(),
        HealthCount(count: all.count, digest: all.digest ^ 1), all,
      ])
      let isAll = stretch != nil && other == all
      compare("whether \(other) is all of \(type)", census.isAll(type, stored: other), isAll)
      compare("whether nothing is all of \(type)", census.isAll(type, stored: nil), false)
      compareSuspects(census, readings, type)
    }
    compare("all that is covered", census.allCovered, covered)
  }

  /// Compares the stretches in which a store differs from the readings.
  private mutating func compareSuspects(
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
    compare("suspects of \(type)", census.suspects(type, stored: stored), must)
    let suspects = HealthSuspects(must)
    compare("stretches of suspects", suspects.stretches, must)
    tryMarks(suspects)
  }

  private mutating func tryMarks(_ suspects: HealthSuspects) {
    let batch = HealthBatch(samples(3))
    var marks = HealthMarks()
    suspects.mark(batch, in: &marks)
    suspects.mark(batch, in: &marks)
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
    let early = fresh < 3 ? 2 : 1
    compare("repeats of \(65_534 + fresh)", census.repeated("a"), early)
    if early == 1 { added.append(Self.plain(7)) }
    // One moment more than there is room for; then the last one again, an early one, and the last.
    let later = [Self.plain(200_000), Self.plain(200_000, 2)]
    let last = [Self.plain(300_000), Self.plain(300_000, 2)]
    added += later + last + [Self.plain(8), last[0]]
    for batch in [later, last, last + [Self.plain(8)], [last[0]]] {
      census.add(HealthBatch(batch))
    }
    compare("repeats of many", census.repeated("a"), early + 2)
    for key in added.map(\.key) { count.add(key) }
    compare("whether \(count) is all", census.isAll("a", stored: count), true)
    compare("many samples", count.count, 65_534 + fresh + 8 - early)
  }

  /// Compares the numbers at which a store takes what waits.
  mutating func tryBounds() {
    compare("the most samples of a batch", HealthBatch.most, 8_000)
    compare("no name", HealthRow.none, 65_535)
    compare("the type of workouts", HealthSample.workoutType, "HKWorkoutTypeIdentifier")
    let key = HealthSampleKey(high: 0, low: 0)
    let place = HealthSamplePlace(type: "a", start: Self.moment(0), key: key)
    let count = one([0, 8_191, 8_192, 8_193])
    let marks = HealthMarks(places: [HealthSamplePlace](repeating: place, count: count))
    compare("whether \(count) places are many", marks.isFull, count > 8_191)
    guard let span = Self.spanned?.spans.first else { return compare("a span", false, true) }
    let spans = HealthMarks(spans: [HealthSpan](repeating: span, count: count))
    compare("whether \(count) spans are many", spans.isFull, count > 8_191)
  }
}
