public import HoldfastCore

/// An interval of one type or of all types. It contains the samples that begin in it, including
/// those that begin at its end.
public struct CoverageInterval: Sendable, Hashable {
  /// The value of `type` that stands for all types.
  public static let everyType = ""

  /// HealthKit's identifier, or `everyType`.
  public var type: String
  /// The start of the interval.
  public var from: Timestamp
  /// The end of the interval, inclusive.
  public var to: Timestamp

  /// Creates an interval.
  public init(type: String, from: Timestamp, to: Timestamp) {
    (self.type, self.from, self.to) = (type, from, to)
  }

  /// Returns whether the interval is of this type or of all types.
  public func applies(to type: String) -> Bool { self.type == type || self.type == Self.everyType }

  /// Returns whether another interval is completely within this one.
  func covers(_ other: CoverageInterval) -> Bool {
    applies(to: other.type) && from <= other.from && other.to <= to
  }

  /// Returns whether the interval contains a sample with this start.
  public func contains(_ start: Timestamp) -> Bool { from <= start && start <= to }
}

/// An interval that a complete reading covers.
///
/// A sample in the interval that the reading does not contain was deleted at its source. No older
/// reading restores it.
public struct HealthCoverage: Sendable, Hashable {
  /// The covered interval.
  public var interval: CoverageInterval
  /// The time at which the source wrote the reading.
  public var exported: Timestamp

  /// Creates a coverage.
  public init(_ interval: CoverageInterval, exported: Timestamp) {
    (self.interval, self.exported) = (interval, exported)
  }
}

extension [HealthCoverage] {
  /// Adds an interval that a reconciled reading covers.
  ///
  /// An interval within a coverage of the same or a later date is not added. A reading that
  /// replaces others applies in its interval regardless of its date.
  public mutating func note(_ interval: CoverageInterval, of reconciliation: ImportReconciliation) {
    if reconciliation.replaces {
      removeAll {
        interval.applies(to: $0.interval.type) && $0.interval.from <= interval.to
          && interval.from <= $0.interval.to
      }
    }
    guard let exported = reconciliation.exported else { return }
    let isKnown = contains { exported <= $0.exported && $0.interval.covers(interval) }
    guard !isKnown else { return }
    removeAll { $0.exported <= exported && interval.covers($0.interval) }
    append(HealthCoverage(interval, exported: exported))
  }
}

/// A digest of all samples of a reading, in order. Readings of the same bytes have equal digests.
public struct HealthFingerprint: Sendable, Hashable {
  private var digest = HealthSampleKey(high: 0, low: 0)
  private var count = 0

  /// Creates the digest of no samples.
  public init() {}

  /// Adds the samples of a batch. Samples in spans are added by the digest of their span.
  public mutating func add(_ batch: HealthBatch) {
    var rest = batch.rows[...]
    for span in batch.spans {
      add(span.digest)
      rest = rest.dropFirst(span.count)
    }
    for row in rest { add(row.key) }
    count += batch.rows.count
  }

  private mutating func add(_ key: HealthSampleKey) {
    var hasher = HealthSampleKeyHasher()
    hasher.add(digest)
    hasher.add(key)
    digest = hasher.finished()
  }
}

/// The intervals in which the samples of a store differ from the sample counts of a reading. A
/// second pass over the reading finds the samples in these intervals.
public struct HealthSuspects: Sendable {
  /// The intervals, sorted by type and time.
  public let intervals: [CoverageInterval]
  private let numbers: [String: Set<Int64>]

  /// Creates suspects from the results of `SampleCounts.suspects` for some types.
  public init(_ intervals: [CoverageInterval]) {
    self.intervals = intervals
    numbers = Dictionary(grouping: intervals, by: \.type).mapValues { intervals in
      Set(intervals.map { SampleCounts.interval(of: $0.from) })
    }
  }

  /// Adds the samples of a batch that are in the intervals, and all spans of the batch, to `marks`.
  public func mark(_ batch: HealthBatch, in marks: inout HealthMarks) {
    marks.spans += batch.spans
    let numbers = batch.names.map { self.numbers[$0.text] }
    for row in batch.rows {
      guard let type = numbers[Int(row.type)], type.contains(SampleCounts.interval(of: row.start))
      else { continue }
      marks.positions.append(
        HealthSamplePosition(
          type: batch.names[Int(row.type)].text, start: row.start, key: row.key))
    }
  }
}

/// The marks of samples of a complete reading. A store keeps marked samples when it removes others.
public struct HealthMarks: Sendable, Hashable {
  /// The samples in suspect intervals.
  public var positions: [HealthSamplePosition]
  /// The spans of the complete reading.
  public var spans: [HealthSpan]

  /// Creates marks. By default, there are none.
  public init(positions: [HealthSamplePosition] = [], spans: [HealthSpan] = []) {
    (self.positions, self.spans) = (positions, spans)
  }

  /// Whether the marks should be passed to the store before more are added. This keeps them below 3
  /// MB.
  public var isFull: Bool { positions.count >= 8_192 || spans.count >= 8_192 }
}

/// The import reconciliation: the work that a store performs after a reading was added to it.
public struct ImportReconciliation: Sendable, Hashable {
  /// The intervals in which samples without a mark are removed.
  public var intervals: [CoverageInterval]
  /// The time at which the source wrote the reading.
  public var exported: Timestamp?
  /// The intervals that the reading covers: one for all types, or one for each type. There are none
  /// if the reading is incomplete.
  public var covered: [CoverageInterval]
  /// Whether the reading applies in the interval that it covers even if it is not the newest
  /// reading.
  public var replaces: Bool

  /// Creates a reconciliation. By default, it removes nothing.
  public init(
    intervals: [CoverageInterval] = [], exported: Timestamp? = nil,
    covered: [CoverageInterval] = [],
    replaces: Bool = false
  ) {
    (self.intervals, self.exported) = (intervals, exported)
    (self.covered, self.replaces) = (covered, replaces)
  }
}
