import HoldfastCore

// Exports with a long tag, many names or many samples.
extension RandomExport {
  private static let moment = Timestamp(nanoseconds: 1_767_600_000_000_000_000)
  private static let written = "2026-01-05 08:00:00 +0000"

  /// Returns the attributes of a sample with the given source and a fixed time.
  static func attributes(_ source: String) -> [Attribute] {
    var date = WrittenValue(written)
    date.moment = moment
    return [("sourceName", WrittenValue(source)), ("startDate", date), ("endDate", date)]
  }

  /// Returns a record with the given value.
  ///
  /// The values 124, 988, 1,275 and 1,727 end a span.
  private static func mark(_ value: Int) -> WrittenTag {
    let more = [("type", WrittenValue("t")), ("value", WrittenValue("\(value)"))]
    return WrittenTag(name: "Record", attributes: attributes("s") + more, isEmpty: true)
  }

  mutating func drawIntervals() {
    drawRoot()
    for _ in 0..<number(1...9) { add(Self.mark(one([1, 16, 124, 813, 988, 1_275, 1_727]))) }
    end("HealthData")
  }

  /// Draws a tag whose length is close to 64 KiB.
  mutating func drawLongTag() {
    drawRoot()
    let begin = draft.bytes.count
    let length = 65_536 + one([-1, 0, 0, 1, 1, 2])
    let tag = "<Record type=\"t\" sourceName=\"s\" value=\"1\" startDate=\"\(Self.written)\" "
    let (last, inner, end) = ("endDate=\"\(Self.written)\" x=\"", "<Correlation/>", "\"/>")
    let padding = length - (tag + last + inner + end).utf8.count
    let start = tag + last + String(of: "x", count: padding)
    if length > 65_536 {
      draft.add(.broken("tooLong"), start)
      draft.add(.start(WrittenTag(name: "Correlation", isEmpty: true)), inner)
      draft.add(.skipped(shown: 0), end)
    } else {
      var record = Self.mark(1)
      record.isEmpty = false
      draft.add(.start(record), start + inner + end)
    }
    add(Self.mark(2))
    self.end("HealthData")
    draft.cuts = happens(3) ? [] : [begin + number(0...1), begin + length - one([0, 1, 2])]
  }

  /// Draws more names than fit into the initial table, some of them twice.
  mutating func drawManyNames() {
    drawRoot()
    let count = one([257, 512, 513, 520, 540])
    let step = one([1, 3, 7])
    for index in 0..<count + 200 {
      let tail = String(of: "z", count: index % count % 19)
      drawZone(Self.repaired + WrittenValue("\(index * step % count)\(tail)"))
    }
  }

  /// A control byte, which the reader removes.
  private static let repaired: WrittenValue = {
    var value = WrittenValue(raw: [1], text: "")
    value.isRepaired = true
    return value
  }()

  mutating func drawZone(_ zone: WrittenValue) {
    let attributes = [("key", WrittenValue("HKTimeZone")), ("value", zone)]
    let start = WrittenTag(name: "MetadataEntry", attributes: attributes, isEmpty: true)
    draft.add(
      .start(start),
      Array("<MetadataEntry key=\"HKTimeZone\" value=\"".utf8) + zone.raw + Array("\"/>".utf8))
  }

  /// Draws about as many samples as a batch holds. Some of them may end a span.
  mutating func drawFullBatch() {
    let count = one([8_191, 8_192, 8_193, 8_300, 8_300])
    let ends = one([[], [0], [100], [8_190], [8_191], [8_191, 8_192], [100, 8_190, 8_191]])
    let dates = "startDate=\"\(Self.written)\" endDate=\"\(Self.written)\""
    let (workout, activity) = ("<Workout sourceName=\"s\" \(dates) ", WrittenValue("a"))
    let record = "<Record sourceName=\"s\" \(dates) type=\"t\" value=\""
    let usual: (WrittenTag, String) =
      happens(2)
      ? (Self.mark(1), record + "1\"/>")
      : (
        WrittenTag(
          name: "Workout",
          attributes: Self.attributes("s") + [("workoutActivityType", activity)], isEmpty: true),
        workout + "workoutActivityType=\"a\"/>"
      )
    draft.add(.start(WrittenTag(name: "HealthData")), "<HealthData>")
    for index in 0..<count {
      let (tag, text) = ends.contains(index) ? (Self.mark(124), record + "124\"/>") : usual
      draft.add(.start(tag), text)
    }
    let length = draft.length(of: draft.pieces.count)
    draft.cuts = [number(1...length), length]
  }
}
