public import LinkCore
public import LinkDriver
public import LinkHealth
public import LinkStorage

/// Reads the health samples of a person: a store, or HealthKit, to which nothing is added.
///
/// Calls may come from any task.
public protocol HealthReading: Store {
  /// Returns one page of samples that lie in a span, at least in part.
  func samples(_ query: HealthSampleQuery) async throws(StoreFailure) -> HealthSamplePage

  /// Returns what is kept of each type, ordered by its identifier.
  func summary() async throws(StoreFailure) -> [HealthTypeSummary]

  /// Returns how fresh the samples are, without reading them.
  func stored() async throws(StoreFailure) -> StoredHealth
}

/// A store of the health samples of a person.
///
/// `add` is atomic, and durable when it returns; after a failure nothing of it is visible. A sample
/// is identified by its content (`HealthSampleKey`), so adding it again changes nothing. Calls may
/// come from any task; the store puts them in order.
public protocol HealthStore: HealthReading {
  /// Adds what is new of a batch in one transaction, and returns how much that was.
  func add(_ batch: HealthBatch) async throws(StoreFailure) -> HealthAddition

  /// Returns how many samples there are of each type; types whose digest is not known are left out.
  func totals() async throws(StoreFailure) -> [String: HealthCount]

  /// Returns how many samples begin in a stretch, by `HealthCensus.stretch(of:)`.
  func counts(_ stretch: HealthStretch) async throws(StoreFailure) -> [Int64: HealthCount]

  /// Returns when the newest reading was written that was settled.
  func newestExport() async throws(StoreFailure) -> Timestamp?

  /// Returns what settled readings cover, by type and date.
  func coverages() async throws(StoreFailure) -> [HealthCoverage]

  /// Returns the places of the rows that begin in the stretches and are not stored.
  func missing(_ batch: HealthBatch, in stretches: [HealthStretch]) async throws(StoreFailure)
    -> [Int]

  /// Forgets all marks, before the first ones of a reading.
  func clearMarks() async throws(StoreFailure)

  /// Marks samples that a complete reading holds, for the next `settle`. They need no memory, and
  /// are gone when the store closes.
  func mark(_ marks: HealthMarks) async throws(StoreFailure)

  /// Removes samples of stretches that are not marked, forgets the marks and notes the date of the
  /// reading and what it covers; in one transaction.
  ///
  /// Returns how many samples were removed, by type.
  func settle(_ settlement: HealthSettlement) async throws(StoreFailure) -> [String: Int]

  /// Returns what was added and deleted of a type after an anchor, in pages.
  ///
  /// A reader that asks until the anchor stays the same has seen each sample that was added and is
  /// still there, and each that was deleted and has not come back. An anchor of another store
  /// counts as none.
  func changes(_ query: HealthChangeQuery) async throws(StoreFailure) -> HealthChangePage

  /// Returns the number of the newest change, which is greater after each addition and removal.
  func newestChange() async throws(StoreFailure) -> Int64

  /// Stores when an import ended; the latest counts.
  func noteImport(at time: Timestamp) async throws(StoreFailure)
}

extension HealthStore {
  /// Adds samples; more than 8,000 in several transactions, in order.
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
  /// An empty store.
  public init() { self.init(StoredHealthSamples()) }

  public func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    try use { samples throws(StoreFailure) in try samples.add(batch) }
  }

  public func totals() throws(StoreFailure) -> [String: HealthCount] { try use { $0.totals } }

  public func counts(_ stretch: HealthStretch) throws(StoreFailure) -> [Int64: HealthCount] {
    try use { $0.counts(stretch) }
  }

  public func newestExport() throws(StoreFailure) -> Timestamp? { try use { $0.newestExport } }

  public func coverages() throws(StoreFailure) -> [HealthCoverage] { try use { $0.coverages } }

  public func missing(
    _ batch: HealthBatch, in stretches: [HealthStretch]
  ) throws(StoreFailure) -> [Int] {
    try use { $0.missing(batch, in: stretches) }
  }

  public func clearMarks() throws(StoreFailure) { try use { $0.clearMarks() } }

  public func mark(_ marks: HealthMarks) throws(StoreFailure) { try use { $0.mark(marks) } }

  public func settle(_ settlement: HealthSettlement) throws(StoreFailure) -> [String: Int] {
    try use { $0.settle(settlement) }
  }

  public func changes(_ query: HealthChangeQuery) throws(StoreFailure) -> HealthChangePage {
    try use { $0.changes(query) }
  }

  public func newestChange() throws(StoreFailure) -> Int64 { try use { $0.newestChange } }

  public func noteImport(at time: Timestamp) throws(StoreFailure) {
    try use { samples throws(StoreFailure) in samples.lastImport = time }
  }
}
