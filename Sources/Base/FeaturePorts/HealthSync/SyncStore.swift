public import HoldfastCore
public import HoldfastHealthSamples
public import HoldfastPorts
public import HoldfastSyncData

/// A store of the samples that phones upload, for all users of a backend.
///
/// `apply` is atomic, and durable when it returns. After a failure no part of the batch is visible.
/// `StoredSync` documents the effect of a batch. Any task may call the store, which serializes the
/// calls.
public protocol SyncStore: SuspendableStore {
  /// Returns the epoch: 1 to 64 printable characters that identify one generation of the stored
  /// data.
  func epoch() async throws(StoreFailure) -> String

  /// Returns the time stamp of a phone's newest batch; `nil` if the phone has sent none.
  func newestStamp(of user: String, device: String) async throws(StoreFailure) -> Timestamp?

  /// Returns the time of a user's newest batch; `nil` if no batch had a time stamp.
  ///
  /// The time is that of the phone, but not later than the batch arrived.
  func lastSync(of user: String) async throws(StoreFailure) -> Timestamp?

  /// Applies a batch in one transaction. Returns the numbers of new samples and deletions.
  func apply(_ delivery: SyncDelivery) async throws(StoreFailure) -> IngestCounts

  /// Returns a page of a user's samples that lie at least partly in a time range.
  func samples(
    _ query: HealthSampleQuery, of user: String
  ) async throws(StoreFailure) -> HealthSamplePage

  /// Returns a summary of each stored type of a user, ordered by type identifier.
  func summary(of user: String) async throws(StoreFailure) -> [HealthTypeSummary]

  /// Returns records of a type as they were sent, ordered by start. They follow a position, or
  /// begin with the first record if it is `nil`.
  ///
  /// - Parameter limit: The maximum number of records. A value below 1 has the effect of 1.
  func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) async throws(StoreFailure) -> [SyncRaw]
}

/// A sync store in memory.
public typealias MemorySyncStore = MemoryStore<StoredSync>

extension MemoryStore: SyncStore where Value == StoredSync {
  /// Creates an empty store.
  public init() { self.init(StoredSync()) }

  public func epoch() throws(StoreFailure) -> String { try use { $0.epoch } }

  public func newestStamp(
    of user: String, device: String
  ) throws(StoreFailure) -> Timestamp? {
    try use { $0.newestStamp(of: user, device: device) }
  }

  public func lastSync(of user: String) throws(StoreFailure) -> Timestamp? {
    try use { $0.lastSync(of: user) }
  }

  public func apply(_ delivery: SyncDelivery) throws(StoreFailure) -> IngestCounts {
    try use { $0.apply(delivery) }
  }

  public func samples(
    _ query: HealthSampleQuery, of user: String
  ) throws(StoreFailure) -> HealthSamplePage {
    try use { $0.samples(query, of: user) }
  }

  public func summary(of user: String) throws(StoreFailure) -> [HealthTypeSummary] {
    try use { $0.summary(of: user) }
  }

  public func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    try use { $0.raw(type, after: after, limit: limit, of: user) }
  }
}

/// A source of health samples with HealthKit's semantics: observers, and pages of changes after an
/// anchor.
///
/// Contract: `observe` fires once for its types soon after the call, and again after changes.
/// Several changes may cause a single call. The anchor of a page without changes equals that of its
/// query. Pages never omit a change, but may repeat one. A sample has the same UUID in every
/// delivery.
///
/// A system that woke the app for a change expects an observer before the launch of the app ends.
/// At that time the store of the sync is not open yet, and `observe` has not been called. A launch
/// therefore calls `prepare`, and the source keeps the wakes until `observe` is called.
public protocol HealthSource: Sendable {
  /// Starts to observe the types that an earlier run of the app observed.
  ///
  /// A launch calls this method before it ends. The method returns at once. Changes fire only after
  /// `observe` has been called, which replaces these types. The default implementation does
  /// nothing.
  func prepare(_ types: [String])

  /// Asks the user for permission to read these types. Returns when the question was answered or
  /// needs no answer.
  ///
  /// The system shows the question at most once for each type. It never reports whether the user
  /// allows reading: a type that must not be read has no samples. The default implementation does
  /// nothing.
  ///
  /// - Throws: `.locked` while the device is locked; `.failed` if the question could not be shown.
  func ask(for types: [String]) async throws(HealthSourceFailure)

  /// Observes changes of these types, which replace the types of an earlier call.
  ///
  /// Each call of `fired` passes a wake. The wake must be given back within its budget.
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void) async

  /// Returns the changes after an anchor.
  ///
  /// - Throws: `.locked` while the device is locked and its samples cannot be read.
  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage

  /// Stops observing. Nothing fires after this method has returned.
  func stop() async
}

extension HealthSource {
  /// Does nothing.
  public func prepare(_ types: [String]) {}

  /// Does nothing.
  public func ask(for types: [String]) async throws(HealthSourceFailure) {}
}

/// A store of a phone's sync state: anchors, waiting batches and quarantined batches.
///
/// Changes are applied in the order of the calls. They are atomic, and durable when `apply`
/// returns. `StoredSyncQueue` documents the effect of a step.
public protocol SyncQueueStore: SuspendableStore {
  /// Returns the whole stored state.
  func stored() async throws(StoreFailure) -> StoredSyncQueue

  /// Applies changes in the given order, in one transaction.
  func apply(_ steps: [SyncQueueStep]) async throws(StoreFailure)
}

/// A sync queue store in memory.
public typealias MemorySyncQueueStore = MemoryStore<StoredSyncQueue>

extension MemoryStore: SyncQueueStore where Value == StoredSyncQueue {
  /// Creates an empty queue.
  public init() { self.init(StoredSyncQueue()) }

  public func stored() throws(StoreFailure) -> StoredSyncQueue { try use { $0 } }

  public func apply(_ steps: [SyncQueueStep]) throws(StoreFailure) {
    try use { queue in
      for step in steps { queue.apply(step) }
    }
  }
}
