public import HoldfastCore
public import HoldfastHealthSamples

/// The health samples of a person, as a value.
public struct StoredHealthSamples: Sendable, Hashable {
  /// The position of a sample among those of its type.
  fileprivate struct Position: Hashable, Comparable {
    var start: Timestamp
    var key: HealthSampleKey

    static func < (left: Self, right: Self) -> Bool {
      (left.start, left.key) < (right.start, right.key)
    }
  }

  /// The stored samples of one type.
  fileprivate struct TypeSamples: Hashable {
    var samples: [HealthSampleKey: HealthSample] = [:]
    /// The positions of the samples, in order.
    var positions: [Position] = []
    /// The longest duration of a sample in nanoseconds. A sample that starts longer than
    /// this before a time span does not overlap the span.
    var longest: Int64 = 0
    /// The number of the change that added each sample.
    var additions: [HealthSampleKey: Int64] = [:]
  }

  /// The number of the newest addition or removal.
  public private(set) var newestChange: Int64 = 0
  /// For each type, the samples that were removed and not added again, with the number of the
  /// change that removed them.
  private var deletions: [String: [HealthSampleKey: Int64]] = [:]

  private var samplesByType: [String: TypeSamples] = [:]
  private var covered: [HealthCoverage] = []
  /// The date of the newest reconciled export.
  public private(set) var newestExport: Timestamp?
  /// The samples that the next `reconcile` does not remove.
  fileprivate var marks: Set<HealthSamplePosition> = []
  /// The end time of the last import.
  package var lastImport: Timestamp?
  /// The start of the import that has not ended.
  package var unfinishedSince: Timestamp?

  /// Creates an empty value.
  public init() {}

  /// Adds the new samples of a batch. Returns the numbers of new and known samples.
  ///
  /// - Throws: `.other` if a sample is not valid. In that case nothing is added.
  public mutating func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    var durations: [Int64] = []
    for row in batch.rows { durations.append(try row.checkedDuration()) }
    var addition = HealthAddition()
    for (row, duration) in zip(batch.rows, durations) {
      let sample = batch[row]
      if samplesByType[sample.type, default: TypeSamples()].insert(
        sample, row.key, lasting: duration)
      {
        addition.added += 1
        samplesByType[sample.type]?.additions[row.key] = newestChange + 1
        deletions[sample.type]?[row.key] = nil
      } else {
        addition.known += 1
      }
    }
    if addition.added > 0 { newestChange += 1 }
    return addition
  }

  /// Returns one page of the samples that overlap a time span.
  public func samples(_ query: HealthSampleQuery) -> HealthSamplePage {
    query.page { type, after, limit in
      samplesByType[type]?.samples(query, after: after, limit: limit) ?? []
    }
  }

  /// A summary of each type, ordered by identifier.
  public var summary: [HealthTypeSummary] {
    samplesByType.compactMap { type, shelf in
      guard let first = shelf.positions.first, let last = shelf.positions.last else { return nil }
      return HealthTypeSummary(
        type: type, count: shelf.positions.count, first: first.start, last: last.start,
        sources: Set(shelf.samples.values.map(\.source)).sorted())
    }.sorted { $0.type < $1.type }
  }
}

extension StoredHealthSamples {
  /// The sample counts of each type.
  public var totals: [String: HealthCount] {
    samplesByType.mapValues { shelf in
      shelf.positions.reduce(into: HealthCount()) { $0.add($1.key) }
    }
  }

  /// Returns the counts of samples that begin in an interval, grouped by
  /// `SampleCounts.interval(of:)`.
  public func counts(_ interval: CoverageInterval) -> [Int64: HealthCount] {
    var counts: [Int64: HealthCount] = [:]
    for position in samplesByType[interval.type]?.positions ?? []
    where interval.contains(position.start) {
      counts[SampleCounts.interval(of: position.start), default: HealthCount()].add(position.key)
    }
    return counts
  }

  /// The coverage of reconciled exports, ordered by type and date.
  public var coverages: [HealthCoverage] {
    covered.sorted {
      ($0.interval.type, $0.exported) < ($1.interval.type, $1.exported)
    }
  }

  /// Returns the indices of the rows that begin in the intervals and are not stored.
  public func missing(_ batch: HealthBatch, in intervals: [CoverageInterval]) -> [Int] {
    batch.rows(in: intervals).filter { index in
      let row = batch.rows[index]
      return samplesByType[batch.names[Int(row.type)].text]?.samples[row.key] == nil
    }
  }

  /// Removes all marks.
  public mutating func clearMarks() { marks = [] }

  /// Marks samples for the next `reconcile`.
  public mutating func mark(_ marks: HealthMarks) { self.marks.formUnion(marks.positions) }

  /// Removes unmarked samples from the intervals of a reconciliation, and removes all marks.
  ///
  /// The method also records the date and the coverage of the export.
  ///
  /// - Returns: The number of removed samples, by type.
  public mutating func reconcile(_ reconciliation: ImportReconciliation) -> [String: Int] {
    defer { marks = [] }
    var removed: [String: Int] = [:]
    for interval in reconciliation.intervals {
      let type = interval.type
      let keys = samplesByType[type]?.remove(interval, except: marks) ?? []
      for key in keys { deletions[type, default: [:]][key] = newestChange + 1 }
      if !keys.isEmpty { removed[type, default: 0] += keys.count }
      if samplesByType[type]?.positions.isEmpty == true { samplesByType[type] = nil }
    }
    if !removed.isEmpty { newestChange += 1 }
    for interval in reconciliation.covered { covered.note(interval, of: reconciliation) }
    if let exported = reconciliation.exported {
      // An export that replaces all others becomes the newest, even if another has a later date.
      newestExport = reconciliation.replaces ? exported : max(newestExport ?? exported, exported)
    }
    return removed
  }

  /// Returns a page of the additions and deletions of a type after an anchor.
  public func changes(_ query: HealthChangeQuery) -> HealthChangePage {
    HealthChangeCursor.page(query, of: 0, newest: newestChange) { span in
      deletions[span.type]?.values.contains { $0 > span.done } ?? false
        || samplesByType[span.type]?.additions.values.contains { $0 > span.done } ?? false
    } deletions: { span, key, limit in
      let found = deletions[span.type]?.lazy.filter { one in
        span.done < one.value && one.value <= span.until && key.map { $0 < one.key } ?? true
      }.map(\.key)
      return Array((found.map { $0.sorted() } ?? []).prefix(limit))
    } additions: { span, position, limit in
      samplesByType[span.type]?.added(span, after: position, limit: limit) ?? []
    }
  }

  /// The times that show how recent the samples are.
  package var stored: StoredHealth {
    StoredHealth(
      lastSamples: samplesByType.compactMapValues { $0.positions.last?.start },
      lastImport: lastImport,
      unfinished: unfinishedSince.map { StoredHealth.Unfinished(since: $0, isRunning: false) })
  }
}

extension StoredHealthSamples.TypeSamples {
  /// Removes the unmarked samples of an interval. Returns their keys.
  fileprivate mutating func remove(
    _ interval: CoverageInterval, except marks: Set<HealthSamplePosition>
  ) -> [HealthSampleKey] {
    let removed = positions.filter {
      interval.contains($0.start)
        && !marks.contains(HealthSamplePosition(type: interval.type, start: $0.start, key: $0.key))
    }
    for position in removed { (samples[position.key], additions[position.key]) = (nil, nil) }
    let left = samples
    positions.removeAll { left[$0.key] == nil }
    return removed.map(\.key)
  }

  /// Returns up to `limit` samples after a position that were added by the changes of a span.
  fileprivate func added(
    _ span: HealthChangeSpan, after position: HealthPosition, limit: Int
  ) -> [KeyedHealthSample] {
    let begin = positions.end { ($0.start, $0.key) <= (position.start, position.key) }
    return positions[begin...].lazy.filter { position in
      additions[position.key].map { span.done < $0 && $0 <= span.until } ?? false
    }.prefix(limit).compactMap { position in
      samples[position.key].map { KeyedHealthSample(key: position.key, sample: $0) }
    }
  }

  /// Adds a sample. Returns false if it is already stored.
  fileprivate mutating func insert(
    _ sample: HealthSample, _ key: HealthSampleKey, lasting duration: Int64
  ) -> Bool {
    guard samples[key] == nil else { return false }
    samples[key] = sample
    let position = StoredHealthSamples.Position(start: sample.start, key: key)
    if let last = positions.last, position < last {
      positions.insert(position, at: positions.end { $0 < position })
    } else {
      positions.append(position)
    }
    longest = max(longest, duration)
    return true
  }

  fileprivate func samples(
    _ query: HealthSampleQuery, after: HealthSamplePosition?, limit: Int
  ) -> [(key: HealthSampleKey, sample: HealthSample)] {
    let begin =
      if let after {
        positions.end { ($0.start, $0.key) <= (after.start, after.key) }
      } else {
        positions.end { $0.start < query.earliestStart(longest: longest) }
      }
    var found: [(key: HealthSampleKey, sample: HealthSample)] = []
    for position in positions[begin...] {
      guard found.count < limit, position.start < query.to else { break }
      guard let sample = samples[position.key], query.covers(start: sample.start, end: sample.end)
      else { continue }
      found.append((position.key, sample))
    }
    return found
  }
}

extension HealthSampleQuery {
  /// Builds one page, type by type.
  ///
  /// - Parameter read: A function that returns up to `limit` samples of a type, in order, after a
  ///   position or from the first sample.
  package func page<Failure: Error>(
    read: (_ type: String, _ after: HealthSamplePosition?, _ limit: Int) throws(Failure) ->
      [(key: HealthSampleKey, sample: HealthSample)]
  ) throws(Failure) -> HealthSamplePage {
    guard from < to else { return HealthSamplePage(samples: []) }
    // One extra sample shows whether another page follows. SQLite accepts up to 2^31 - 1.
    let wanted = min(max(1, limit), Int(Int32.max) - 1)
    var samples: [HealthSample] = []
    var last: HealthSamplePosition?
    for type in typesLeft {
      let position = after.flatMap { $0.type == type ? $0 : nil }
      for (key, sample) in try read(type, position, wanted - samples.count + 1) {
        guard samples.count < wanted else {
          return HealthSamplePage(samples: samples, next: last ?? after)
        }
        samples.append(sample)
        last = HealthSamplePosition(type: type, start: sample.start, key: key)
      }
    }
    return HealthSamplePage(samples: samples)
  }

  /// Returns the earliest start of a sample that can overlap the time span.
  ///
  /// - Parameter longest: The longest duration of a sample in nanoseconds.
  package func earliestStart(longest: Int64) -> Timestamp {
    let (first, overflow) = from.nanoseconds.subtractingReportingOverflow(longest)
    return Timestamp(nanoseconds: overflow ? .min : first)
  }
}

extension HealthRow {
  /// Returns the duration in nanoseconds.
  ///
  /// - Throws: `.other` if the row cannot be stored because it ends before it begins, lasts longer
  ///   than 2^63 ns (292 years), or has a quantity that is not finite.
  package func checkedDuration() throws(StoreFailure) -> Int64 {
    let (duration, overflow) = end.nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    guard !overflow, duration >= 0 else {
      throw .other(detail: "A sample ends before it begins, or lasts for centuries.")
    }
    if case .quantity(let quantity) = value, !quantity.isFinite {
      throw .other(detail: "A quantity is not finite.")
    }
    return duration
  }
}
