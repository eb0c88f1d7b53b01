import LinkCore
import LinkHealth

// Coverages of stores, and readings that come in spans.
extension HealthSamplesWalk {
  mutating func tryCoverages() {
    var coverages: [HealthCoverage] = []
    var must: [[Int64]] = []
    for _ in 0..<number(1...5) {
      let from = Int64(number(0...5))
      let to = from + Int64(number(0...4))
      let exported: Int64? = happens(6) ? nil : Int64(number(1...2))
      let replaces = happens(3)
      var settlement = HealthSettlement(exported: exported.map { Self.moment($0) })
      compareNew(settlement)
      settlement.replaces = replaces
      let stretch = HealthStretch(type: "a", from: Self.moment(from), to: Self.moment(to))
      coverages.note(stretch, of: settlement)
      if replaces {
        must = must.filter { old in !(old[1]...old[2]).contains { from <= $0 && $0 <= to } }
      }
      if let exported {
        let isKnown = must.contains { $0[0] >= exported && $0[1] <= from && $0[2] >= to }
        if !isKnown {
          must = must.filter { !($0[0] <= exported && $0[1] >= from && $0[2] <= to) }
          must.append([exported, from, to])
        }
      }
      compareCoverages(coverages, must) { "coverages after \(from) to \(to) of \(exported ?? 0)" }
      for moment in from - 1...to + 1 {
        compareContains(stretch.contains(Self.moment(moment)), moment, stretch)
      }
    }
  }

  mutating func compareNew(_ settlement: HealthSettlement) {
    compare("whether a settlement replaces others", settlement.replaces, false)
  }

  /// Compares coverages: of each when it was exported, and its first and last moment.
  mutating func compareCoverages(
    _ coverages: [HealthCoverage], _ must: [[Int64]], _ words: () -> String
  ) {
    let found = coverages.map { coverage in
      [coverage.exported, coverage.stretch.from, coverage.stretch.to].map(\.nanoseconds)
    }
    compare(words(), found, must)
  }

  mutating func compareContains(_ found: Bool, _ moment: Int64, _ stretch: HealthStretch) {
    let isIn = stretch.from.nanoseconds <= moment && moment <= stretch.to.nanoseconds
    compare("whether \(moment) is in \(stretch)", found, isIn)
  }

  // Spans.

  /// Values of the exported samples whose keys end spans, and of others.
  static let values: (ends: [Int], others: [Int]) = {
    var (ends, others): ([Int], [Int]) = ([], [])
    var value = 0
    while ends.count < 3, value < 99_999 {
      let isEnd = HealthSampleAccount.key(exported(value)).low % 1_024 == 0
      if isEnd { ends.append(value) } else if others.count < 9 { others.append(value) }
      value += 1
    }
    return (ends, others)
  }()

  private static func exported(_ value: Int) -> HealthSample {
    let time = moment(1_767_571_200_000_000_000)
    return HealthSample(
      type: "T", value: .quantity(Double(value)), start: time, end: time, source: "s")
  }

  /// Returns a batch of an export with samples of these values.
  static func batch(_ values: [Int]) -> HealthBatch? {
    let records = values.map {
      "<Record type=\"T\" sourceName=\"s\" startDate=\"2026-01-05 00:00:00 +0000\" "
        + "endDate=\"2026-01-05 00:00:00 +0000\" value=\"\($0)\"/>\n"
    }
    let text = "<?xml version=\"1.0\"?>\n<HealthData>\n\(records.joined())</HealthData>\n"
    var reader = HealthExportReader()
    // The span of a whole array is not there before iOS 26.
    let slice = Array(text.utf8)[...]
    reader.append(slice.span)
    reader.finish()
    do throws(HealthExportError) { return try reader.next() } catch { return nil }
  }

  /// A batch with two spans.
  static let spanned = batch([values.others[0], values.ends[0], values.others[1]])

  /// Cuts values behind those that end spans.
  private static func spans(_ values: [Int]) -> [[Int]] {
    var all: [[Int]] = [[]]
    for value in values {
      all[all.count - 1].append(value)
      if Self.values.ends.contains(value) { all.append([]) }
    }
    return all.filter { !$0.isEmpty }
  }

  /// The blocks of the keys of all values.
  private static let blocks: [Int: [UInt8]] = {
    var blocks: [Int: [UInt8]] = [:]
    for value in values.ends + values.others {
      blocks[value] = HealthSampleAccount.block(HealthSampleAccount.key(exported(value)))
    }
    return blocks
  }()

  private static func digest(_ values: [Int]) -> HealthSampleKey {
    HealthSampleAccount.hash(values.flatMap { blocks[$0] ?? [] })
  }

  private mutating func values() -> [Int] {
    (0..<number(1...7)).map { _ in
      happens(2) ? one(Self.values.ends) : one(Self.values.others)
    }
  }

  mutating func trySpans() {
    let values = values()
    guard let batch = Self.batch(values) else { return compare("an export", false, true) }
    compareSpans(batch, of: values)
    guard stray == nil else { return }
    let gone = values.indices.filter { _ in happens(5) }
    compareWithout(batch.without(gone), gone, batch, values)
    var marks = HealthMarks()
    HealthSuspects([]).mark(batch, in: &marks)
    compareMarks(marks, of: batch)
    tryFingerprints(values)
  }

  /// Compares the rows and spans of a batch of these values.
  mutating func compareSpans(_ batch: HealthBatch, of values: [Int]) {
    let spans = Self.spans(values)
    let digests = spans.map { Self.digest($0) }
    compare("the number of rows of \(values)", batch.rows.count, values.count)
    compare("the lengths of the spans of \(values)", batch.spans.map(\.count), spans.map(\.count))
    compare("the digests of the spans of \(values)", batch.spans.map(\.digest), digests)
  }

  /// Compares the marks of a batch in whose stretches nothing is suspected.
  mutating func compareMarks(_ marks: HealthMarks, of batch: HealthBatch) {
    compare("the marks of spans", marks, HealthMarks(spans: batch.spans))
  }

  /// Compares what is left of a batch of these values without some of its rows.
  mutating func compareWithout(
    _ rest: HealthBatch, _ gone: [Int], _ batch: HealthBatch, _ values: [Int]
  ) {
    var (rows, loose, kept): ([HealthRow], [HealthRow], [HealthSpan]) = ([], [], [])
    var place = 0
    for (number, span) in Self.spans(values).enumerated() {
      let own = (place..<place + span.count)
      place += span.count
      if gone.contains(where: own.contains) {
        for place in own where !gone.contains(place) { loose.append(batch.rows[place]) }
      } else {
        rows += own.map { batch.rows[$0] }
        kept.append(batch.spans[number])
      }
    }
    compare("the rows of \(values) without \(gone)", rest.rows, rows + loose)
    compare("the spans of \(values) without \(gone)", rest.spans, kept)
    // Once more: some rows are of no span now.
    if !rest.rows.isEmpty, kept.isEmpty || !loose.isEmpty {
      compareLast(rest.without([rest.rows.count - 1]), rest)
    }
  }

  /// Compares a batch without its last row, which is of no span.
  mutating func compareLast(_ again: HealthBatch, _ rest: HealthBatch) {
    compare("the rows without the last", again.rows, Array(rest.rows.dropLast()))
    compare("the spans without the last row", again.spans, rest.spans)
  }

  /// Compares fingerprints of batches: equal for the same spans and rows in the same order.
  private mutating func tryFingerprints(_ values: [Int]) {
    var all: [(print: HealthFingerprint, parts: [HealthSampleKey])] = []
    for _ in 0..<6 {
      let isPlain = happens(3)
      let spans = Self.spans(values)
      let cut = number(0...spans.count)
      var batches = [Array(spans[..<cut].joined()), Array(spans[cut...].joined())]
      if happens(4), let last = batches[0].indices.last { batches[0].swapAt(0, last) }
      if happens(4) { batches[1] = Array(batches[1].dropLast()) }
      var (print, parts): (HealthFingerprint, [HealthSampleKey]) = (HealthFingerprint(), [])
      for values in batches where !values.isEmpty {
        let plain = HealthBatch(values.map { Self.exported($0) })
        guard let batch = isPlain ? plain : Self.batch(values) else { continue }
        print.add(batch)
        parts +=
          isPlain ? batch.rows.map(\.key) : Self.spans(values).map { Self.digest($0) }
      }
      all.append((print, parts))
    }
    for (one, two) in zip(all, all.dropFirst()) {
      compareSameness(one.print == two.print, one.parts, two.parts)
    }
    var prints = [HealthFingerprint(), HealthFingerprint()]
    let (one, two) = (values[0], values[values.count - 1])
    prints[0].add(HealthBatch([Self.exported(one)]))
    prints[1].add(HealthBatch([Self.exported(two)]))
    compareSameness(prints[0] == prints[1], one, two)
    compareSameness(HealthFingerprint() == all[0].print, [], all[0].parts)
  }

  /// Compares whether the fingerprints of two values are the same.
  mutating func compareSameness<Value: Equatable>(_ found: Bool, _ one: Value, _ two: Value) {
    compare("whether \(one) has the fingerprint of \(two)", found, one == two)
  }
}
