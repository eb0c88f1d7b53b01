import LinkCore
import LinkHealth

// Exports that are long in one way.
extension HealthExportWalk {
  private static let moment = Timestamp(nanoseconds: 1_767_600_000_000_000_000)
  private static let written = "2026-01-05 08:00:00 +0000"

  /// Tries an export that is long in one way.
  mutating func tryLong() {
    switch number(0...9) {
    case 0...2: tryLongTag()
    case 3...4: tryManyNames()
    case _:
      draft = ExportDraft()
      drawRoot()
      for _ in 0..<number(1...9) { drawMark(one([1, 16, 124, 813, 988, 1_275, 1_727])) }
      end("HealthData")
      compareDraft("stretches")
    }
  }

  /// Tries an export that fills a batch, once in a few times.
  mutating func tryFull() {
    switch number(0...15) {
    case 0: tryFullNames()
    case 1...3: tryCrowd()
    case _: break
    }
  }

  /// Returns the attributes of a sample of a source, always at the same moment.
  static func attributes(_ source: String) -> [Attribute] {
    var date = ExportWritten(written)
    date.moment = moment
    return [("sourceName", ExportWritten(source)), ("startDate", date), ("endDate", date)]
  }

  /// Adds a record of this value. With 124, 988, 1,275 and 1,727 a stretch ends.
  private mutating func drawMark(_ value: Int) {
    let more = [("type", ExportWritten("t")), ("value", ExportWritten("\(value)"))]
    add(ExportStart(name: "Record", attributes: Self.attributes("s") + more, isEmpty: true))
  }

  // Long tags.

  /// Tries a tag of 64 KiB, or of a byte less or more.
  private mutating func tryLongTag() {
    draft = ExportDraft()
    drawRoot()
    let begin = draft.bytes.count
    let length = 65_536 + one([-1, 0, 0, 1, 1, 2])
    let tag = "<Record type=\"t\" sourceName=\"s\" value=\"1\" startDate=\"\(Self.written)\" "
    let (last, inner, end) = ("endDate=\"\(Self.written)\" x=\"", "<Correlation/>", "\"/>")
    let padding = length - (tag + last + inner + end).utf8.count
    let start = tag + last + String(of: "x", count: padding)
    if length > 65_536 {
      draft.add(.broken("tooLong"), start)
      draft.add(.start(ExportStart(name: "Correlation", isEmpty: true)), inner)
      draft.add(.skipped(shown: 0), end)
    } else {
      let more = [("type", ExportWritten("t")), ("value", ExportWritten("1"))]
      let record = ExportStart(name: "Record", attributes: Self.attributes("s") + more)
      draft.add(.start(record), start + inner + end)
      draft.add(.skipped(shown: 0), "")
    }
    drawMark(2)
    self.end("HealthData")
    cuts = happens(3) ? [] : [begin + number(0...1), begin + length - one([0, 1, 2])]
    compareDraft("a long tag")
    cuts = []
  }

  // Many names.

  /// Tries so many names that there must be more room for them, each of them twice.
  private mutating func tryManyNames() {
    draft = ExportDraft()
    drawRoot()
    let count = one([257, 512, 513, 520, 540])
    let step = one([1, 3, 7])
    for place in 0..<count + 200 {
      let tail = String(of: "z", count: place % count % 19)
      var zone = ExportWritten(raw: [1], text: "")
      zone.isRepaired = true
      zone = zone + ExportWritten("\(place * step % count)\(tail)")
      drawZone(zone)
    }
    compareDraft("many names")
  }

  mutating func drawZone(_ zone: ExportWritten) {
    let attributes = [("key", ExportWritten("HKTimeZone")), ("value", zone)]
    let start = ExportStart(name: "MetadataEntry", attributes: attributes, isEmpty: true)
    let quote: [UInt8] = [0x22]
    draft.add(
      .start(start),
      Array("<MetadataEntry key=\"HKTimeZone\" value=".utf8) + quote + zone.raw + quote
        + Array("/>".utf8))
  }

  /// Tries names of two mebibytes, and a byte more: then there is no room for others.
  private mutating func tryFullNames() {
    draft = ExportDraft()
    drawRoot()
    let (hasRows, isFull) = one([(true, true), (true, true), (false, true), (true, false)])
    if hasRows { drawMark(1) }
    let kind = number(0...2)
    drawOpen(kind)
    // It counts once, although it is forgotten.
    var odd = ExportWritten(raw: [1], text: "")
    odd.isRepaired = true
    drawZone(odd + ExportWritten("r"))
    // The names of the first record, those of the open sample, and the zones.
    var room = (2 << 20) - (hasRows ? 4 : 2) - [18, 4, 2][kind] + (isFull ? 1 : 0)
    var letter = UInt8(ascii: "A")
    while room > 0 {
      let zone = [UInt8](repeating: letter, count: min(room, 65_000))
      drawZone(ExportWritten(raw: zone, text: Self.text(zone)))
      room -= zone.count
      letter += 1
    }
    if isFull, happens(2) { drawZone(ExportWritten("UTC")) }
    end("Record")
    drawMark(2)
    drawOpen(kind)
    cuts = [3 << 20]
    let batches = compareDraft("full names")
    cuts = []
    compareForgotten(batches, hasRows ? (isFull ? [1, 3] : [4]) : [3], isFull: isFull)
  }

  /// Compares the sizes of batches of long names, and whether the last one forgot them.
  mutating func compareForgotten(_ batches: [HealthBatch], _ sizes: [Int], isFull: Bool) {
    compare("the rows of batches", batches.map(\.rows.count), sizes)
    let bytes = batches.last?.names.reduce(0) { $0 + $1.text.utf8.count } ?? 0
    compare("whether names are forgotten", bytes < 200_000, isFull)
  }

  /// Adds a sample without its end.
  private mutating func drawOpen(_ kind: Int) {
    var attributes = Self.attributes("p") + [("device", ExportWritten("d"))]
    switch kind {
    case 0:
      attributes += [("type", ExportWritten("HKCategoryTypeX")), ("value", ExportWritten("v"))]
    case 1:
      attributes += [("type", ExportWritten("q")), ("value", ExportWritten("1"))]
      attributes += [("unit", ExportWritten("u"))]
    case _: attributes += [("workoutActivityType", ExportWritten("a"))]
    }
    add(ExportStart(name: kind == 2 ? "Workout" : "Record", attributes: attributes))
  }

  // Many samples.

  /// Tries as many samples as a batch has, or some more, with ends of stretches among them.
  private mutating func tryCrowd() {
    let count = one([8_191, 8_192, 8_193, 8_300, 8_300])
    let ends = one([[], [0], [100], [8_190], [8_191], [8_191, 8_192], [100, 8_190, 8_191]])
    let isWorkout = happens(2)
    func tag(_ name: String, _ more: String) -> [UInt8] {
      let dates = "startDate=\"\(Self.written)\" endDate=\"\(Self.written)\""
      return Array("<\(name) sourceName=\"s\" \(dates) \(more)/>".utf8)
    }
    let activity = "workoutActivityType=\"a\""
    let plain = isWorkout ? tag("Workout", activity) : tag("Record", "type=\"t\" value=\"1\"")
    let end = tag("Record", "type=\"t\" value=\"124\"")
    func sample(_ type: String, _ value: HealthSampleValue) -> HealthSample {
      HealthSample(type: type, value: value, start: Self.moment, end: Self.moment, source: "s")
    }
    let samples = [
      isWorkout
        ? sample(HealthSample.workoutType, .workout(WorkoutValue(activity: "a")))
        : sample("t", .quantity(1)),
      sample("t", .quantity(124)),
    ]
    let kinds = (0..<count).map { ends.contains($0) ? 1 : 0 }
    var bytes = Array("<HealthData>".utf8)
    for kind in kinds { bytes += kind == 0 ? plain : end }
    cuts = [number(1...bytes.count), bytes.count]
    let found = read(bytes)
    cuts = []
    compareCrowd(found, kinds, of: samples)
  }

  /// Compares what was read of many samples, each of which is one of a few.
  mutating func compareCrowd(_ found: Found, _ kinds: [Int], of samples: [HealthSample]) {
    let keysOfKinds = samples.map { HealthSampleAccount.key($0) }
    let keys = kinds.map { keysOfKinds[$0] }
    compare("the keys of a crowd", found.batches.flatMap { $0.rows.map(\.key) }, keys)
    compareBatches(found.batches)
    compare("the sizes of batches", found.batches.map(\.rows.count), Self.sizes(keys))
    compare("the number of samples of a crowd", found.tally.total, kinds.count)
    for batch in found.batches {
      let (first, last) = (batch.rows.first.map { batch[$0] }, batch.rows.last.map { batch[$0] })
      let isSound = [first, last].allSatisfy { $0.map(samples.contains) ?? false }
      compare("the samples of a crowd", isSound, true)
    }
  }

  /// Returns the sizes of batches: each ends where a stretch ends behind 8,192 samples or more.
  private static func sizes(_ keys: [HealthSampleKey]) -> [Int] {
    var sizes: [Int] = []
    var open = 0
    for span in ExportFigures.spans(keys) {
      open += span.count
      guard open >= 8_192 else { continue }
      sizes.append(open)
      open = 0
    }
    return open > 0 ? sizes + [open] : sizes
  }
}
