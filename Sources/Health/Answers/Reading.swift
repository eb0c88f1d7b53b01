import LinkCore

/// What is still to be read: one type after the other, each in batches, each in pages.
///
/// A sample that reaches over the edge of two batches is found by both and taken from the first.
struct Reading: Sendable, Hashable {
  private let identifiers: [String]
  private let from: Timestamp
  private var to: Timestamp
  private let limits: AnswerLimits
  private let batch: Duration
  /// The number of the type that is read now.
  private(set) var place = 0
  private var batchStart: Timestamp
  private var after: HealthSamplePlace?

  init(_ kinds: [HealthKind], from: Timestamp, to: Timestamp, limits: AnswerLimits) {
    identifiers = kinds.map(\.identifier)
    (self.from, self.to) = (from, to)
    self.limits = limits
    // Shorter ones would never come to an end.
    batch = max(limits.batch, .seconds(3_600))
    batchStart = from
    if from >= to { place = identifiers.count }
  }

  private var batchEnd: Timestamp { min(batchStart.advanced(by: batch), to) }

  /// What to read next; `nil` when all was read.
  var query: HealthSampleQuery? {
    guard place < identifiers.count else { return nil }
    return HealthSampleQuery(
      types: [identifiers[place]], from: batchStart, to: batchEnd, after: after,
      limit: max(1, limits.pageLimit))
  }

  /// The starts that this batch gives for the first time.
  var fresh: Range<Timestamp> {
    // Whatever reaches into the whole span comes with its first batch.
    (batchStart == from ? Timestamp(nanoseconds: .min) : batchStart)..<batchEnd
  }

  /// Whether nothing of the type comes after this batch.
  var isLastBatch: Bool { batchEnd >= to }

  /// Whether the end has moved before this batch.
  var isPast: Bool { batchStart >= to }

  /// Goes on after a page that was not the type's last.
  mutating func advance(_ next: HealthSamplePlace?) {
    after = next
    if next == nil { batchStart = batchEnd }
  }

  /// Goes on with the next type.
  mutating func finishType() {
    place += 1
    (batchStart, after) = (from, nil)
    if from >= to { place = identifiers.count }
  }

  /// Leaves out what starts at `cut` or later.
  mutating func shorten(to cut: Timestamp) {
    to = min(to, cut)
  }
}
