import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastHealthSamples

/// Tests of the time that a complete import covers, and of stored samples that it does not contain.
@Suite struct SampleCountsTests {
  private static let bucket: Int64 = 1 << 50

  private static func sample(_ type: String, _ start: Int64, value: Double = 1) -> HealthSample {
    HealthSample(
      type: type, value: .quantity(value), start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start), source: "s")
  }

  private static func sampleCounts(_ samples: [HealthSample]) -> SampleCounts {
    var sampleCounts = SampleCounts()
    // In batches of 3, a name has a different number in each batch.
    for start in stride(from: 0, to: samples.count, by: 3) {
      sampleCounts.add(HealthBatch(samples[start..<min(start + 3, samples.count)]))
    }
    return sampleCounts
  }

  private static func count(_ samples: [HealthSample]) -> HealthCount {
    samples.reduce(into: HealthCount()) { $0.add($1.key) }
  }

  private static func interval(_ type: String, _ from: Int64, _ to: Int64) -> CoverageInterval {
    CoverageInterval(
      type: type, from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to))
  }

  @Test func `an import covers all types up to its date or its latest sample, whichever is later`()
  {
    let sampleCounts = Self.sampleCounts([
      Self.sample("a", 5), Self.sample("b", 7), Self.sample("a", -2), Self.sample("a", 3),
    ])
    func covered(_ made: Int64?) -> [CoverageInterval] {
      sampleCounts.covered(until: made.map { Timestamp(nanoseconds: $0) }, stored: ["c"])
    }
    #expect(covered(9) == [Self.interval("", .min, 9)])
    #expect(covered(6) == [Self.interval("", .min, 7)])
    #expect(covered(nil) == [Self.interval("", .min, 7)])
    #expect(SampleCounts().covered(until: nil) == [])
  }

  @Test func `unreadable types are not covered, but other types of the import and the store are`() {
    let sampleCounts = Self.sampleCounts([Self.sample("a", 5), Self.sample("b", 7)])
    #expect(
      sampleCounts.covered(
        until: Timestamp(nanoseconds: 9), except: ["b", "d"], stored: ["c", "d"])
        == [Self.interval("a", .min, 9), Self.interval("c", .min, 9)])
  }

  @Test func `a sample that is read twice is counted once`() {
    let one = Self.sample("a", 5)
    let sampleCounts = Self.sampleCounts([one, Self.sample("a", 6), Self.sample("b", 5), one])
    #expect(["a", "c"].map { sampleCounts.repeated($0) } == [1, 0])
    let stored = Self.count([Self.sample("a", 6), one])
    #expect(sampleCounts.isAll("a", stored: stored))
    #expect(!sampleCounts.isAll("a", stored: nil))
    #expect(!sampleCounts.isAll("c", stored: stored))
    // The number of samples is the same, but one of them differs.
    #expect(!sampleCounts.isAll("a", stored: Self.count([Self.sample("a", 7), one])))
  }

  @Test func `a count combines the number of its samples with the keys of all of them`() {
    let (one, two) = (Self.sample("a", 1), Self.sample("a", 2))
    #expect(Self.count([one, two]) == HealthCount(count: 2, digest: one.key.low ^ two.key.low))
  }

  @Test func `a sample of any type that is repeated much later counts as a repeat`() {
    let samples = (0..<20).map { Self.sample($0 % 2 == 0 ? "a" : "b", Int64($0)) }
    let sampleCounts = Self.sampleCounts(samples + samples)
    #expect(["a", "b"].map { sampleCounts.repeated($0) } == [10, 10])
  }

  @Test func `intervals whose samples differ are suspect, limited to the covered time`() {
    let sampleCounts = Self.sampleCounts([
      Self.sample("a", 5), Self.sample("a", Self.bucket + 5), Self.sample("a", 2 * Self.bucket + 5),
    ])
    let stored = (0...2).map { Self.count([Self.sample("a", $0 * Self.bucket + 5)]) }
    let all = Self.interval("a", 5, 2 * Self.bucket + 5)
    #expect(sampleCounts.suspects(all, stored: [0: stored[0], 1: stored[1], 2: stored[2]]) == [])
    // The first bucket has two samples, the second has a different sample, and the third has none.
    let two = Self.count([Self.sample("a", 5), Self.sample("a", 6)])
    let other = Self.count([Self.sample("a", Self.bucket + 6)])
    #expect(
      sampleCounts.suspects(all, stored: [0: two, 1: other, 2: HealthCount()]) == [
        Self.interval("a", 5, Self.bucket - 1),
        Self.interval("a", Self.bucket, 2 * Self.bucket - 1),
        Self.interval("a", 2 * Self.bucket, 2 * Self.bucket + 5),
      ])
    // The import contains no samples of this type.
    let none = Self.interval("none", 1, 9)
    #expect(sampleCounts.suspects(none, stored: [0: stored[0]]) == [none])
    #expect(sampleCounts.suspects(none, stored: [:]) == [])
  }

  @Test func `beyond 65,536 samples of a type only consecutive repeats are detected`() {
    var sampleCounts = SampleCounts()
    let samples = (0..<70_000).map { Self.sample("a", Int64($0)) }
    for start in stride(from: 0, to: samples.count, by: 7_000) {
      sampleCounts.add(HealthBatch(samples[start..<(start + 7_000)]))
    }
    #expect(sampleCounts.repeated("a") == 0)
    sampleCounts.add(HealthBatch([samples[69_999], samples[3]]))
    #expect(sampleCounts.repeated("a") == 1)
    // No sample is missing, but the counts differ, so the samples have to be compared by key.
    #expect(!sampleCounts.isAll("a", stored: Self.count(samples)))
    #expect(
      sampleCounts.suspects(Self.interval("a", 0, 9), stored: [0: Self.count(samples)]).count == 1)
    // The stale stored sample and the repeated sample make both counts equal.
    let stale = Self.count(samples + [Self.sample("a", 5, value: 2)])
    #expect(!sampleCounts.isAll("a", stored: stale))
    #expect(sampleCounts.suspects(Self.interval("a", 0, 9), stored: [0: stale]).count == 1)
  }

  @Test func `consecutive repeats of the first sample above the limit are detected`() {
    var sampleCounts = SampleCounts()
    func add(_ starts: Range<Int64>) {
      sampleCounts.add(HealthBatch(starts.map { Self.sample("a", $0) }))
    }
    for first in stride(from: 0, to: 65_536, by: 4_096) as StrideTo<Int64> {
      add(first..<(first + 4_096))
    }
    add(7..<8)
    #expect(sampleCounts.repeated("a") == 1)
    for _ in 0..<3 { add(65_536..<65_537) }
    #expect(sampleCounts.repeated("a") == 3)
    add(7..<8)
    #expect(sampleCounts.repeated("a") == 3)
  }

  /// Returns a row with the given key. Its type is the name at the given index.
  private static func row(_ type: UInt16, key: UInt64, at start: Int64) -> HealthRow {
    let start = Timestamp(nanoseconds: start)
    return HealthRow(
      key: HealthSampleKey(high: 0, low: key), type: type, source: 0, start: start, end: start)
  }

  @Test func `repeats of the first million samples are detected, later only consecutive ones`() {
    let names = (0...17).map { HealthName("t\($0)") }
    var sampleCounts = SampleCounts()
    func add(_ rows: [HealthRow]) { sampleCounts.add(HealthBatch(names: names, rows: rows)) }
    let numbers: Range<UInt64> = 0..<65_536
    // A type with too many samples and a repeated sample leave the room of other types unchanged.
    let many: Range<UInt64> = 0..<65_538
    add(many.map { Self.row(17, key: $0, at: Int64($0)) })
    add([Self.row(17, key: 65_537, at: 65_537)])
    #expect(sampleCounts.repeated("t17") == 1)
    add([Self.row(0, key: 0, at: 0), Self.row(0, key: 0, at: 0)])
    for type: UInt16 in 0..<16 {
      add(numbers.map { Self.row(type, key: $0, at: Int64($0)) })
    }
    add([Self.row(0, key: 5, at: 5)])
    #expect(sampleCounts.repeated("t0") == 3)
    // Adds a sample for which there is no room, and repeats the last one for which there was room.
    add([Self.row(15, key: 70_000, at: 70_000), Self.row(15, key: 65_535, at: 65_535)])
    #expect(sampleCounts.repeated("t15") == 1)
    // Adds two samples with the same start, repeats both at once, and repeats the first one later.
    let later: [(key: UInt64, start: Int64)] = [(1, 1), (2, 1), (1, 1), (2, 1), (3, 2), (1, 1)]
    add(later.map { Self.row(16, key: $0.key, at: $0.start) })
    #expect(sampleCounts.repeated("t16") == 2)
  }

  @Test func `outdated rows are counted, and their time is covered`() {
    var sampleCounts = SampleCounts()
    let batch = HealthBatch([
      Self.sample("a", 5), Self.sample("a", -2), Self.sample("b", 3), Self.sample("a", 9),
    ])
    sampleCounts.leaveOut(batch, [0, 1, 3])
    #expect(["a", "b"].map { sampleCounts.outdated($0) } == [3, 0])
    #expect(sampleCounts.covered(until: nil) == [Self.interval("", .min, 9)])
  }

  @Test func `a second reading marks all spans but only the samples of suspect intervals`() {
    let (near, far) = (Self.sample("a", 5), Self.sample("a", Self.bucket + 5))
    let suspects = HealthSuspects([Self.interval("a", 2, 9)])
    var marks = HealthMarks()
    var batch = HealthBatch([near, far, Self.sample("b", 5)])
    batch.spans = [HealthSpan(digest: far.key, count: 2)]
    suspects.mark(batch, in: &marks)
    let position = HealthSamplePosition(type: "a", start: near.start, key: near.key)
    #expect(marks == HealthMarks(positions: [position], spans: batch.spans))
  }

  @Test func `marks are full at 8,192 entries, which limits memory`() {
    let position = HealthSamplePosition(
      type: "a", start: Timestamp(nanoseconds: 1), key: Self.sample("a", 1).key)
    #expect(!HealthMarks(positions: Array(repeating: position, count: 8_191)).isFull)
    #expect(HealthMarks(positions: Array(repeating: position, count: 8_192)).isFull)
    let span = HealthSpan(digest: position.key, count: 1)
    #expect(!HealthMarks(spans: Array(repeating: span, count: 8_191)).isFull)
    #expect(HealthMarks(spans: Array(repeating: span, count: 8_192)).isFull)
  }

  @Test func `two readings have the same fingerprint only if samples and order are equal`() {
    func fingerprint(_ batches: [[HealthSample]]) -> HealthFingerprint {
      batches.reduce(into: HealthFingerprint()) { $0.add(HealthBatch($1)) }
    }
    let all = (0..<3).map { Self.sample("a", $0) }
    let whole = fingerprint([all])
    #expect(fingerprint([[all[0]], [all[1], all[2]]]) == whole)
    #expect(fingerprint([all.reversed()]) != whole)
    #expect(fingerprint([Array(all[..<2])]) != whole)
    #expect(fingerprint([[all[0], all[1], Self.sample("a", 2, value: 2)]]) != whole)
    #expect(fingerprint([[Self.sample("a", 0, value: 2), all[1], all[2]]]) != whole)
    #expect(fingerprint([]) == HealthFingerprint())
  }

  @Test func `a fingerprint depends on spans, not on batches`() {
    let numbers: Range<UInt64> = 0..<4
    let rows = numbers.map { Self.row(0, key: $0, at: Int64($0)) }
    let digests = [HealthSampleKey(high: 1, low: 2), HealthSampleKey(high: 3, low: 4)]
    func batch(_ rows: [HealthRow], _ digests: [HealthSampleKey]) -> HealthBatch {
      let spans = digests.map { HealthSpan(digest: $0, count: rows.count / digests.count) }
      return HealthBatch(names: [HealthName("a")], rows: rows, spans: spans)
    }
    func fingerprint(_ batches: [HealthBatch]) -> HealthFingerprint {
      batches.reduce(into: HealthFingerprint()) { $0.add($1) }
    }
    let whole = fingerprint([batch(rows, digests)])
    let halves = [batch(Array(rows[..<2]), [digests[0]]), batch(Array(rows[2...]), [digests[1]])]
    #expect(fingerprint(halves) == whole)
    // The digests are the same, but they are of fewer samples.
    #expect(fingerprint([batch(Array(rows[..<2]), digests)]) != whole)
  }

  @Test func `an import reconciliation replaces no coverage by default`() {
    let (early, late) = (Self.interval("a", 0, 9), Self.interval("a", 5, 12))
    var all = [HealthCoverage(early, exported: Timestamp(nanoseconds: 2))]
    all.note(late, of: ImportReconciliation(exported: Timestamp(nanoseconds: 1)))
    #expect(all.map(\.interval) == [early, late])
  }

  @Test func `coverage of all types includes each type, but coverage of one type not all types`() {
    func note(_ notes: (type: String, at: Int64, to: Int64, replaces: Bool)...) -> [String] {
      var all: [HealthCoverage] = []
      for note in notes {
        all.note(
          Self.interval(note.type, 0, note.to),
          of: ImportReconciliation(
            exported: Timestamp(nanoseconds: note.at), replaces: note.replaces))
      }
      return all.map { "\($0.interval.type)\($0.exported.nanoseconds)" }
    }
    #expect(note(("a", 1, 9, false), ("", 2, 9, false)) == ["2"])
    #expect(note(("", 2, 9, false), ("a", 1, 9, false)) == ["2"])
    #expect(note(("", 1, 9, false), ("a", 2, 9, false)) == ["1", "a2"])
    #expect(note(("a", 2, 9, false), ("", 1, 9, false)) == ["a2", "1"])
    #expect(note(("a", 2, 9, false), ("", 1, 9, true)) == ["1"])
    #expect(note(("a", 2, 9, false), ("b", 1, 9, true)) == ["a2", "b1"])
  }

  @Test func `coverage within an interval that is not older is redundant`() {
    func note(_ notes: (Int64, Int64, Int64)..., replacing: Bool = false) -> [[Int64]] {
      var all: [HealthCoverage] = []
      for (number, note) in notes.enumerated() {
        let reconciliation = ImportReconciliation(
          exported: Timestamp(nanoseconds: note.0),
          replaces: replacing && number == notes.count - 1)
        all.note(Self.interval("a", note.1, note.2), of: reconciliation)
      }
      return all.map {
        [$0.exported.nanoseconds, $0.interval.from.nanoseconds, $0.interval.to.nanoseconds]
      }
    }
    #expect(note((2, 0, 9), (1, 0, 9)) == [[2, 0, 9]])
    #expect(note((2, 0, 9), (1, 0, 10)) == [[2, 0, 9], [1, 0, 10]])
    #expect(note((1, 0, 9), (2, 0, 9)) == [[2, 0, 9]])
    #expect(note((1, 0, 9), (2, 1, 9)) == [[1, 0, 9], [2, 1, 9]])
    #expect(note((2, 0, 9), (2, 0, 9)) == [[2, 0, 9]])
    #expect(note((2, 0, 9), (2, 1, 8)) == [[2, 0, 9]])
    #expect(note((2, 1, 8), (2, 0, 9)) == [[2, 0, 9]])
    #expect(note((2, 0, 9), (1, 9, 12), replacing: true) == [[1, 9, 12]])
    #expect(note((2, 0, 9), (1, 10, 12), replacing: true) == [[2, 0, 9], [1, 10, 12]])
    #expect(note((2, 9, 12), (1, 0, 9), replacing: true) == [[1, 0, 9]])
    #expect(note((2, 10, 12), (1, 0, 9), replacing: true) == [[2, 10, 12], [1, 0, 9]])
  }

  @Test func `a batch names a text once even if many samples contain it`() {
    let batch = HealthBatch([Self.sample("a", 1), Self.sample("b", 2), Self.sample("a", 3)])
    #expect(batch.names.map(\.text) == ["a", "s", "b"])
    #expect(batch.rows.map(\.type) == [0, 2, 0])
    #expect(batch.rows.map(\.source) == [1, 1, 1])
  }

  @Test func `a batch without some rows keeps the spans that lose none`() throws {
    var generator = HealthExportGenerator(.init(seed: 1, firstDay: 20_000, days: 12))
    var reader = HealthExportReader()
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    reader.append(bytes)
    reader.finish()
    let batch = try #require(try reader.next())
    let first = batch.spans[0].count
    #expect(batch.spans.count > 2)
    #expect(batch.without([]) == batch)
    // Removes the last row of the first span and the first row of the third.
    let third = first + batch.spans[1].count
    let rest = batch.without([first - 1, third])
    #expect(rest.spans == [batch.spans[1]] + batch.spans[3...])
    let spanned = rest.spans.reduce(0) { $0 + $1.count }
    #expect(Array(rest.rows[..<batch.spans[1].count]) == Array(batch.rows[first..<third]))
    #expect(rest.rows.count == batch.rows.count - 2)
    #expect(Array(rest.rows[spanned...].prefix(first - 1)) == Array(batch.rows[..<(first - 1)]))
  }

  @Test func `a batch without spans keeps the rows that are not taken out`() {
    let (first, last) = (Self.sample("a", 1), Self.sample("a", 3))
    let batch = HealthBatch([first, Self.sample("a", 2), last])
    #expect(batch.without([1]) == HealthBatch([first, last]))
  }
}
