package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastHealth
package import HoldfastHealthSamples

/// A store of a person's health samples in one SQLite file, `health.sqlite`.
///
/// Each `add` is one transaction and survives the end of the process. A power failure may undo the
/// newest transactions, each completely. Their samples can be imported again.
package typealias SQLiteHealthStore = SQLiteFile<HealthTables>

extension SQLiteFile: HealthReading where T == HealthTables {
  package func samples(_ query: HealthSampleQuery) throws(StoreFailure) -> HealthSamplePage {
    try read { tables throws(StoreFailure) in try tables.page(query) }
  }

  package func summary() throws(StoreFailure) -> [HealthTypeSummary] {
    try read { tables throws(StoreFailure) in try tables.summary() }
  }

  package func stored() throws(StoreFailure) -> StoredHealth {
    var stored = try read { tables throws(StoreFailure) in try tables.stored() }
    if stored.unfinished != nil { stored.unfinished?.isRunning = hasWriter }
    return stored
  }
}

extension SQLiteFile: HealthStore where T == HealthTables {
  package func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    try write { tables throws(StoreFailure) in try tables.add(batch) }
  }

  package func totals() throws(StoreFailure) -> [String: HealthCount] {
    try read { tables throws(StoreFailure) in try tables.totals() }
  }

  package func counts(_ interval: CoverageInterval) throws(StoreFailure) -> [Int64: HealthCount] {
    try read { tables throws(StoreFailure) in try tables.counts(interval) }
  }

  package func newestExport() throws(StoreFailure) -> Timestamp? {
    try read { tables throws(StoreFailure) in try tables.newestExport() }
  }

  package func coverages() throws(StoreFailure) -> [HealthCoverage] {
    try read { tables throws(StoreFailure) in try tables.coverages() }
  }

  package func missing(
    _ batch: HealthBatch, in intervals: [CoverageInterval]
  ) throws(StoreFailure) -> [Int] {
    try read { tables throws(StoreFailure) in try tables.missing(batch, in: intervals) }
  }

  package func clearMarks() throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.clearMarks() }
  }

  package func mark(_ marks: HealthMarks) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.mark(marks) }
  }

  package func reconcile(_ reconciliation: ImportReconciliation) throws(StoreFailure) -> [String:
    Int]
  {
    try write { tables throws(StoreFailure) in try tables.reconcile(reconciliation) }
  }

  package func changes(_ query: HealthChangeQuery) throws(StoreFailure) -> HealthChangePage {
    try read { tables throws(StoreFailure) in try tables.changes(query) }
  }

  package func newestChange() throws(StoreFailure) -> Int64 {
    try read { tables throws(StoreFailure) in try tables.newestChange() }
  }

  package func noteImport(at time: Timestamp) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.noteImport(at: time) }
  }

  package func noteUnfinished(since time: Timestamp?) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.noteUnfinished(since: time) }
  }
}

extension SQLValue {
  /// Creates a value of sixteen bytes, with the most significant byte first.
  static func key(_ key: HealthSampleKey) -> SQLValue {
    .uuid(UUID128(high: key.high, low: key.low))
  }

  static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }
}

extension Statement {
  func bind(_ key: HealthSampleKey, at index: Int32) {
    bind(UUID128(high: key.high, low: key.low), at: index)
  }
}

extension Row {
  func key(_ column: Int32) throws(StoreFailure) -> HealthSampleKey {
    let bytes = try uuid(column)
    return HealthSampleKey(high: bytes.high, low: bytes.low)
  }
}
