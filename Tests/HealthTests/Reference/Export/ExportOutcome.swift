import HoldfastCore
import HoldfastHealthSamples

/// Everything that a reader returns for an export.
struct ExportOutcome: Equatable {
  /// A span of samples in a batch.
  struct Span: Equatable {
    var count: Int
    var digest: HealthSampleKey
  }

  var error: HealthExportError?
  /// The error of a second call to the reader.
  var errorAgain: HealthExportError?
  var samples: [HealthSample] = []
  var keys: [HealthSampleKey] = []
  var batches: [[Span]] = []
  var skipped: [String] = []
  var skippedOfType: [String: Int] = [:]
  var samplesOfType: [String: Int] = [:]
  var version: Int?
  var locale: String?
  var exported: Timestamp?
  var isWhole = false
  var bytes = 0
  /// The number of texts that were repaired.
  var repaired = 0
  /// Whether the reader never held more than 64 KiB of unread input.
  var holdsLittle = true
  /// Whether each batch contains each name only once and no workouts of other batches.
  var isCompact = true

  /// Adds the batches that are ready, and copies the reader's counts.
  mutating func take(_ reader: inout HealthExportReader) {
    do {
      while batches.count < 9_999, let batch = try reader.next() { add(batch) }
    } catch {
      self.error = error
      do { _ = try reader.next() } catch { errorAgain = error }
    }
    let counts = reader.counts
    skipped = counts.skipped.map { "\($0.reason.rawValue) \($0.count)" }
    (skippedOfType, samplesOfType) = (counts.skippedOfType, counts.samples)
    (version, locale, exported) = (counts.version, counts.locale, counts.exported)
    (isWhole, bytes, repaired) = (counts.isWhole, counts.bytes, counts.repaired)
  }

  private mutating func add(_ batch: HealthBatch) {
    samples += batch.rows.map { batch[$0] }
    keys += batch.rows.map(\.key)
    batches.append(batch.spans.map { Span(count: $0.count, digest: $0.digest) })
    let workouts = batch.rows.filter { if case .workout = $0.value { true } else { false } }
    let hasUniqueNames = Set(batch.names.map(\.key)).count == batch.names.count
    isCompact = isCompact && hasUniqueNames && workouts.count == batch.workouts.count
  }
}

extension RandomExport {
  /// Reads a draft in pieces that end at its cuts or at random positions.
  mutating func read(_ draft: ExportDraft) -> ExportOutcome {
    let bytes = draft.bytes
    var (reader, outcome) = (HealthExportReader(), ExportOutcome())
    let most = bytes.count < 400 ? one([1, 2, 5, 400]) : one([20, 60, 300, 5_000, 200_000])
    let small: UInt64 = one([2, 10, 1_000])
    let isLong = bytes.count > 9_000
    var position = 0
    while position < bytes.count {
      let size = happens(small) && !isLong ? number(1...3) : number(1...most) * (isLong ? 200 : 1)
      let end = min(bytes.count, draft.cuts.first { $0 > position } ?? position + size)
      let piece = bytes[position..<end]
      reader.append(piece.span)
      position = end
      if happens(8) { continue }
      outcome.take(&reader)
      if outcome.error != nil { return outcome }
      if position - reader.counts.bytes > 65_536 { outcome.holdsLittle = false }
    }
    reader.finish()
    for _ in 0..<2 { outcome.take(&reader) }
    return outcome
  }
}
