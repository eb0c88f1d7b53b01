public import HoldfastCore
public import HoldfastHealth
public import HoldfastHealthSamples
public import HoldfastPorts

/// A read-only source of a person's health samples: a store or HealthKit.
///
/// Any task may call its methods.
public protocol HealthReading: SuspendableStore {
  /// Returns a page of samples that lie at least partly in a time range.
  func samples(_ query: HealthSampleQuery) async throws(StoreFailure) -> HealthSamplePage

  /// Returns a summary of each stored type, ordered by type identifier.
  func summary() async throws(StoreFailure) -> [HealthTypeSummary]

  /// Returns how recent the samples are, without reading them.
  func stored() async throws(StoreFailure) -> StoredHealth
}

/// A store of a person's health samples.
///
/// `add` is atomic, and durable when it returns. After a failure no part of the batch is visible. A
/// sample is identified by its content (`HealthSampleKey`), so adding it again has no effect. Any
/// task may call the store, which serializes the calls.
public protocol HealthStore: HealthReading {
  /// Adds the new samples of a batch in one transaction. Returns how many were new.
  func add(_ batch: HealthBatch) async throws(StoreFailure) -> HealthAddition

  /// Returns the number of samples of each type. Types without a known digest are omitted.
  func totals() async throws(StoreFailure) -> [String: HealthCount]

  /// Returns the numbers of samples that begin in a coverage interval. The keys are the intervals
  /// of `SampleCounts.interval(of:)`.
  func counts(_ interval: CoverageInterval) async throws(StoreFailure) -> [Int64: HealthCount]

  /// Returns the export date of the newest reconciled import.
  func newestExport() async throws(StoreFailure) -> Timestamp?

  /// Returns the intervals that reconciled imports cover, by type and date.
  func coverages() async throws(StoreFailure) -> [HealthCoverage]

  /// Returns the indexes of the batch's rows that begin in the intervals and are not stored.
  func missing(_ batch: HealthBatch, in intervals: [CoverageInterval]) async throws(StoreFailure)
    -> [Int]

  /// Removes all marks. It is called before an import adds its first marks.
  func clearMarks() async throws(StoreFailure)

  /// Marks samples of a complete import for the next `reconcile`.
  ///
  /// The marks use no memory, and are lost when the store closes.
  func mark(_ marks: HealthMarks) async throws(StoreFailure)

  /// Removes the unmarked samples in the intervals, clears the marks, and stores the date and
  /// coverage of the import. All of this is one transaction.
  ///
  /// - Returns: The number of removed samples, by type.
  func reconcile(_ reconciliation: ImportReconciliation) async throws(StoreFailure) -> [String: Int]

  /// Returns the additions and deletions of a type after an anchor, in pages.
  ///
  /// A reader that continues until the anchor no longer changes has received every sample that was
  /// added and still exists, and every sample that was deleted and was not added again. An anchor
  /// of another store is ignored.
  func changes(_ query: HealthChangeQuery) async throws(StoreFailure) -> HealthChangePage

  /// Returns the number of the newest change. It increases with each addition and removal.
  func newestChange() async throws(StoreFailure) -> Int64

  /// Stores the time at which an import ended. A later call replaces it.
  func noteImport(at time: Timestamp) async throws(StoreFailure)

  /// Stores that an import began and has not reached the end of its export, or with `nil` that none
  /// is unfinished. Answers say so.
  func noteUnfinished(since time: Timestamp?) async throws(StoreFailure)
}

extension HealthStore {
  /// Adds samples in order. More than 8,000 samples take several transactions.
  @discardableResult
  public func add(_ samples: [HealthSample]) async throws(StoreFailure) -> HealthAddition {
    var done = HealthAddition()
    var rest = samples[...]
    while !rest.isEmpty {
      done += try await add(HealthBatch(rest.prefix(HealthBatch.most)))
      rest = rest.dropFirst(HealthBatch.most)
    }
    return done
  }
}

/// A health store in memory.
public typealias MemoryHealthStore = MemoryStore<StoredHealthSamples>

extension MemoryStore: HealthReading where Value == StoredHealthSamples {
  public func samples(_ query: HealthSampleQuery) throws(StoreFailure) -> HealthSamplePage {
    try use { $0.samples(query) }
  }

  public func summary() throws(StoreFailure) -> [HealthTypeSummary] { try use { $0.summary } }

  public func stored() throws(StoreFailure) -> StoredHealth { try use { $0.stored } }
}

extension MemoryStore: HealthStore where Value == StoredHealthSamples {
  /// Creates an empty store.
  public init() { self.init(StoredHealthSamples()) }

  public func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    try use { samples throws(StoreFailure) in try samples.add(batch) }
  }

  public func totals() throws(StoreFailure) -> [String: HealthCount] { try use { $0.totals } }

  public func counts(_ interval: CoverageInterval) throws(StoreFailure) -> [Int64: HealthCount] {
    try use { $0.counts(interval) }
  }

  public func newestExport() throws(StoreFailure) -> Timestamp? { try use { $0.newestExport } }

  public func coverages() throws(StoreFailure) -> [HealthCoverage] { try use { $0.coverages } }

  public func missing(
    _ batch: HealthBatch, in intervals: [CoverageInterval]
  ) throws(StoreFailure) -> [Int] {
    try use { $0.missing(batch, in: intervals) }
  }

  public func clearMarks() throws(StoreFailure) { try use { $0.clearMarks() } }

  public func mark(_ marks: HealthMarks) throws(StoreFailure) { try use { $0.mark(marks) } }

  public func reconcile(_ reconciliation: ImportReconciliation) throws(StoreFailure) -> [String:
    Int]
  {
    try use { $0.reconcile(reconciliation) }
  }

  public func changes(_ query: HealthChangeQuery) throws(StoreFailure) -> HealthChangePage {
    try use { $0.changes(query) }
  }

  public func newestChange() throws(StoreFailure) -> Int64 { try use { $0.newestChange } }

  public func noteImport(at time: Timestamp) throws(StoreFailure) {
    try use { samples throws(StoreFailure) in samples.lastImport = time }
  }

  public func noteUnfinished(since time: Timestamp?) throws(StoreFailure) {
    try use { samples throws(StoreFailure) in samples.unfinishedSince = time }
  }
}
