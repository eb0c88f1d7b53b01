import HoldfastCore
import HoldfastHealthSamples

/// The progress of reading samples. Types are read one after the other, each type in batches, and
/// each batch in pages.
///
/// A sample that crosses the edge between two batches appears in both. It is taken from the first.
struct Reading: Sendable, Hashable {
  private let identifiers: [String]
  private let from: Timestamp
  private var to: Timestamp
  private let limits: AnswerLimits
  private let batch: Duration
  /// The index of the type that is being read.
  private(set) var index = 0
  private var batchStart: Timestamp
  private var after: HealthSamplePosition?

  init(_ kinds: [HealthKind], from: Timestamp, to: Timestamp, limits: AnswerLimits) {
    identifiers = kinds.map(\.identifier)
    (self.from, self.to) = (from, to)
    self.limits = limits
    // With shorter or empty batches, reading might never reach the end.
    batch = max(limits.batch, .seconds(3_600))
    batchStart = from
    if from >= to { index = identifiers.count }
  }

  private var batchEnd: Timestamp { min(batchStart.advanced(by: batch), to) }

  /// The next query of samples, or `nil` when all samples were read.
  var query: HealthSampleQuery? {
    guard index < identifiers.count else { return nil }
    return HealthSampleQuery(
      types: [identifiers[index]], from: batchStart, to: batchEnd, after: after,
      limit: max(1, limits.pageLimit))
  }

  /// The range of starts whose samples appear in this batch for the first time.
  var fresh: Range<Timestamp> {
    // Samples that begin before the complete interval and extend into it appear in the first batch.
    (batchStart == from ? Timestamp(nanoseconds: .min) : batchStart)..<batchEnd
  }

  /// Whether this batch is the last of its type.
  var isLastBatch: Bool { batchEnd >= to }

  /// Whether the end of the interval has moved before this batch.
  var isPast: Bool { batchStart >= to }

  /// Continues after a page that was not the last of its type.
  mutating func advance(_ next: HealthSamplePosition?) {
    after = next
    if next == nil { batchStart = batchEnd }
  }

  /// Continues with the next type.
  mutating func finishType() {
    index += 1
    (batchStart, after) = (from, nil)
    if from >= to { index = identifiers.count }
  }

  /// Moves the end of the interval to `cut`, unless it is already earlier.
  mutating func shorten(to cut: Timestamp) {
    to = min(to, cut)
  }
}
