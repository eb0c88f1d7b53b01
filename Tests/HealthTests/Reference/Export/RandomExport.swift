import HoldfastCore

/// A generator of complete, truncated and damaged exports.
struct RandomExport: RandomInput {
  /// A kind of export.
  enum Kind {
    case whole, cutOff, values, otherRoot, oddEnd, workouts, openSamples, elements
    case longTag, manyNames, manyIntervals, fullBatch
  }

  var generator: RandomSource
  /// The export that is being drawn.
  var draft = ExportDraft()

  init(generator: RandomSource) { self.generator = generator }

  /// Draws the kinds of several exports.
  mutating func kinds() -> [Kind] {
    var kinds: [Kind] = [
      .whole, .whole, .cutOff, .values, .otherRoot, .otherRoot, .oddEnd, .oddEnd, .oddEnd,
      .workouts, .openSamples,
      one([.longTag, .longTag, .manyNames, .manyIntervals, .manyIntervals]),
    ]
    if happens(3) { kinds.append(.elements) }
    if happens(8) { kinds.append(.fullBatch) }
    return kinds
  }

  /// Draws an export of the given kind.
  mutating func draft(_ kind: Kind) -> ExportDraft {
    draft = ExportDraft()
    switch kind {
    case .whole: drawExport()
    case .cutOff: drawCutOff()
    case .values: drawValues()
    case .otherRoot: drawOtherRoot()
    case .oddEnd: drawOddEnd()
    case .workouts: drawWorkouts()
    case .openSamples: drawOpenSamples()
    case .elements: drawElements()
    case .longTag: drawLongTag()
    case .manyNames: drawManyNames()
    case .manyIntervals: drawIntervals()
    case .fullBatch: drawFullBatch()
    }
    return draft
  }

  private mutating func drawCutOff() {
    drawExport()
    let positions = draft.parts.indices.filter {
      draft.shown($0) != nil && draft.pieces[$0].count > 1
    }
    guard !positions.isEmpty else { return }
    let position = one(positions)
    let length = draft.pieces[position].count
    let count = one([1, 2, 3, 4, 8, 9, length - 2, length - 1, number(1...length - 1)])
    guard let shown = draft.shown(position), count > 0, count < length else { return }
    draft.cut(position, behind: count, isShown: count >= shown)
  }

  /// Draws records that differ in their dates and numbers.
  private mutating func drawValues() {
    drawRoot()
    for _ in 0..<16 {
      let (date, value) = (date(seconds(), flawed: 2), figure())
      let tag = WrittenTag(
        name: "Record",
        attributes: [
          ("type", WrittenValue("t")), ("sourceName", WrittenValue("s")), ("startDate", date),
          ("endDate", date), ("value", value),
        ], isEmpty: true)
      var bytes = Array("<Record type='t' sourceName='s' startDate='".utf8) + date.raw
      bytes += Array("' endDate='".utf8) + date.raw + Array("' value='".utf8) + value.raw
      draft.add(.start(tag), bytes + Array("'/>".utf8))
    }
  }

  private mutating func drawOtherRoot() {
    drawProlog()
    if happens(4) {
      // After this text the reader does not wait for the rest of a document type definition.
      draft.add(.skipped(shown: 0), "x")
      if happens(3) { draft = ExportDraft() }
    } else {
      let name =
        happens(2)
        ? String(of: "r", count: one([62, 63, 64, 65, 100])) : one(["gpx", "Record", "a"])
      add(WrittenTag(name: name, isEmpty: happens(2)))
      drawRoot()
      end("HealthData")
    }
  }
}
