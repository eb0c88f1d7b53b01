import HoldfastCore
import HoldfastHealthSamples

/// The properties of Apple Health exports that have arbitrary content and end anywhere.
enum ExportProperty {
  private struct Read: Equatable {
    var samples: [HealthSample] = []
    var spans: [HealthSpan] = []
    var counts: ExportCounts
    var error: HealthExportError?
  }

  static func check(_ bytes: [UInt8]) throws(Broken) {
    let root = Array("<HealthData>".utf8)
    for start in [[], root] {
      let all = start + bytes
      let found = try sameHoweverCut(all, read)
      guard found.error == nil else { continue }
      try hold(found.counts.bytes == all.count, "every octet is read")
      try hold(found.samples.count == found.counts.total, "every sample is counted")
      try hold(
        found.spans.map(\.count).reduce(0, +) == found.samples.count, "spans cover all samples")
      for sample in found.samples {
        try hold(sample.start <= sample.end, "no sample ends before it begins")
        if case .quantity(let quantity) = sample.value {
          try hold(quantity.isFinite, "a quantity is finite")
        }
      }
    }
  }

  private static func read(_ pieces: [[UInt8]]) -> Read {
    var reader = HealthExportReader()
    var found = Read(counts: reader.counts)
    func take() throws(HealthExportError) {
      while let batch = try reader.next() {
        found.samples += batch.rows.map { batch[$0] }
        found.spans += batch.spans
      }
    }
    do throws(HealthExportError) {
      for piece in pieces {
        reader.append(piece.span)
        try take()
      }
      reader.finish()
      try take()
      found.counts = reader.counts
    } catch {
      found.error = error
    }
    return found
  }
}
