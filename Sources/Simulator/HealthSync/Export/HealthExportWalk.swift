import LinkCore
import LinkHealth

/// A reader of exports beside a twin that is told what is written and need not read it.
struct HealthExportWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  /// The export that is being written.
  var draft = ExportDraft()
  /// Where a piece of the next bytes to be read must end.
  var cuts: [Int] = []

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many exports of each kind; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    tryFull()
    for _ in 0..<times where stray == nil {
      tryWhole()
      tryCut()
      tryValues()
      tryBeginnings()
      tryLong()
      tryEnds()
      tryWorkouts()
      tryOpen()
      if happens(3) { tryElements() }
    }
    return stray
  }

  private mutating func tryWhole() {
    for _ in 0..<2 {
      drawExport()
      compareDraft("an export")
      if happens(3) { tryLook() }
    }
  }

  private mutating func tryCut() {
    drawExport()
    let places = draft.things.indices.filter {
      draft.shown($0) != nil && draft.pieces[$0].count > 1
    }
    guard !places.isEmpty else { return }
    let place = one(places)
    let length = draft.pieces[place].count
    let count = one([1, 2, 3, 4, 8, 9, length - 2, length - 1, number(1...length - 1)])
    guard let shown = draft.shown(place), count > 0, count < length else { return }
    draft.cut(place, behind: count, isShown: count >= shown)
    compareDraft("an export that is cut off")
  }

  /// Tries records that differ in their dates and numbers.
  private mutating func tryValues() {
    draft = ExportDraft()
    drawRoot()
    for _ in 0..<16 {
      let (date, value) = (date(seconds(), flawed: 2), figure())
      let tag = ExportStart(
        name: "Record",
        attributes: [
          ("type", ExportWritten("t")), ("sourceName", ExportWritten("s")), ("startDate", date),
          ("endDate", date), ("value", value),
        ], isEmpty: true)
      var bytes = Array("<Record type='t' sourceName='s' startDate='".utf8) + date.raw
      bytes += Array("' endDate='".utf8) + date.raw + Array("' value='".utf8) + value.raw
      draft.add(.start(tag), bytes + Array("'/>".utf8))
    }
    compareDraft("values")
  }
}

// What a reader makes of bytes.
extension HealthExportWalk {
  /// What was read, and the reader behind it.
  struct Found {
    var batches: [HealthBatch] = []
    var error: HealthExportError?
    var tally: HealthExportTally
    /// The most bytes that were held back.
    var held = 0
  }

  /// Reads bytes in pieces that end anywhere.
  mutating func read(_ bytes: [UInt8]) -> Found {
    var reader = HealthExportReader()
    var found = Found(tally: reader.tally)
    let most = bytes.count < 400 ? one([1, 2, 5, 400]) : one([20, 60, 300, 5_000, 200_000])
    let small: UInt64 = one([2, 10, 1_000])
    var place = 0
    while place < bytes.count {
      let isLong = bytes.count > 9_000
      let size = happens(small) && !isLong ? number(1...3) : number(1...most) * (isLong ? 200 : 1)
      let end = min(bytes.count, cuts.first { $0 > place } ?? place + size)
      let piece = bytes[place..<end]
      reader.append(piece.span)
      place = end
      if happens(8) { continue }
      take(&reader, &found)
      if found.error != nil { return found }
      found.held = max(found.held, place - reader.tally.bytes)
    }
    reader.finish()
    for _ in 0..<2 { take(&reader, &found) }
    return found
  }

  /// Takes what is ready.
  private mutating func take(_ reader: inout HealthExportReader, _ found: inout Found) {
    do {
      while let batch = try reader.next() {
        found.batches.append(batch)
        if found.batches.count > 9_999 { return compare("batches", "endless", "done") }
      }
    } catch {
      found.error = error
      var again: HealthExportError?
      do { _ = try reader.next() } catch { again = error }
      compareAgain(again, error)
    }
    found.tally = reader.tally
  }

  /// Compares what is read of the draft with what was meant.
  @discardableResult
  mutating func compareDraft(_ what: String) -> [HealthBatch] {
    let bytes = draft.bytes
    let found = read(bytes)
    let isSound = stray == nil
    compareFound(found)
    if isSound, let difference = stray {
      stray = "\(what): \(difference): \(Self.text(bytes).debugDescription.prefix(9_000))"
    }
    return found.batches
  }

  /// Compares an error with the one that is told again.
  mutating func compareAgain(_ again: HealthExportError?, _ error: HealthExportError) {
    compare("an error of a reader, the second time,", again, error)
  }

  /// Compares what was read with what the parts of the draft mean.
  mutating func compareFound(_ found: Found) {
    let twin = ExportTwin(draft.things)
    compare("the error of", found.error, twin.error)
    let samples = found.batches.flatMap { batch in batch.rows.map { batch[$0] } }
    for (sample, must) in zip(samples, twin.samples) { compare("a sample of", sample, must) }
    compare("the number of samples of", samples.count, twin.samples.count)
    let keys = found.batches.flatMap { $0.rows.map(\.key) }
    compare("the keys of", keys, twin.samples.map { HealthSampleAccount.key($0) })
    let isShort = found.held <= 65_536
    compare("whether little is held of", isShort, true)
    compareTally(found.tally, twin)
    if found.error == nil { compareBatches(found.batches) }
  }

  private mutating func compareTally(_ tally: HealthExportTally, _ twin: ExportTwin) {
    let skipped = tally.skipped.map { "\($0.reason.rawValue) \($0.count)" }
    compare("what is skipped of", skipped, twin.skipped)
    let sums = HealthExportSkip.allCases.map { tally[$0] }
    compare("the counts of", sums, ExportTwin.reasons.map { twin.counts[$0] ?? 0 })
    compare("the types skipped of", tally.skippedOfType, twin.skippedOfType)
    compare("the version of", tally.version, twin.version)
    compare("the locale of", tally.locale, twin.locale)
    compare("the date of", tally.exported, twin.exported)
    compare("the end of", tally.isWhole, twin.isWhole)
    compare("the bytes of", tally.bytes, draft.length(of: twin.read))
    compare("the types of", tally.samples, twin.samplesOfType)
    compare("the number of samples of", tally.total, twin.samples.count)
    compare("the texts repaired of", tally.repaired, twin.repairedCount)
  }

  /// Compares stretches and names of batches; a stretch ends with its batch at the latest.
  mutating func compareBatches(_ batches: [HealthBatch]) {
    for batch in batches {
      let spans = ExportFigures.spans(batch.rows.map(\.key))
      compare("the lengths of stretches", batch.spans.map(\.count), spans.map(\.count))
      let digests = spans.map { HealthSampleAccount.hash($0.flatMap(HealthSampleAccount.block)) }
      compare("the digests of stretches", batch.spans.map(\.digest), digests)
      compare("names told twice", Set(batch.names.map(\.key)).count, batch.names.count)
      let workouts = batch.rows.filter { if case .workout = $0.value { true } else { false } }
      compare("the workouts of a batch", batch.workouts.count, workouts.count)
    }
  }
}
