// A stand-in for Apple's module HealthKit that runs on Linux: the data and the faults of a script.
import Foundation
import Synchronization

/// The health data of a device, one list of additions and deletions, and what was done with it.
///
/// Each test makes its own.
@_spi(Script) public final class ScriptedHealth: @unchecked Sendable {
  /// The value that `HKHealthStore.isHealthDataAvailable` returns in a task.
  @TaskLocal public static var isAvailable = true
  /// The identifiers of the types that the system does not have in a task, because it is too old.
  @TaskLocal public static var lacks: Set<String> = []

  private struct State {
    var rows: [(type: String, added: HKSample?, deleted: HKDeletedObject?)] = []
    var executed: Set<ObjectIdentifier> = []
    /// The queries that were executed. They are kept, so that no identity is used twice.
    var kept: [HKQuery] = []
    var observers: [HKObserverQuery] = []
    var isLocked = false
    var asked: Set<String>?
    var deliveries: [String: HKUpdateFrequency] = [:]
    var misuses: [String] = []
    var open = 0
    var completions = 0
    var observerCalls: [@Sendable () -> Void] = []
    var failures: [HKError] = []
    var deliveryError: HKError?
    var askError: HKError?
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "healthd", attributes: .concurrent)
  /// Whether calls of observers wait for `release`.
  private let holdsObservers: Bool

  public init(holdsObservers: Bool = false) { self.holdsObservers = holdsObservers }

  // MARK: The script

  /// Adds samples, and calls the observers of their types.
  public func add(_ samples: [HKSample]) {
    for sample in samples { for quantity in sample.quantities { quantity.join(self) } }
    state.withLock { for s in samples { $0.rows.append((s.sampleType.identifier, s, nil)) } }
    fire(Set(samples.map(\.sampleType.identifier)))
  }

  /// Deletes a sample, and calls the observers of its type.
  public func delete(_ uuid: UUID) {
    let type: String? = state.withLock { state in
      guard let place = state.rows.firstIndex(where: { $0.added?.uuid == uuid }) else { return nil }
      state.rows[place].added = nil
      state.rows.append((state.rows[place].type, nil, HKDeletedObject(uuid)))
      return state.rows[place].type
    }
    if let type { fire([type]) }
  }

  /// Calls the observers of these types, also without a change.
  public func fire(_ types: Set<String>, error: HKError? = nil) {
    let observers = state.withLock { state in
      state.observers.filter { types.contains($0.type.identifier) }
    }
    for query in observers { call(query, error) }
  }

  /// Locks or unlocks the device.
  public func lock(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

  /// Lets the next queries fail, one with each error.
  public func fail(_ errors: [HKError]) { state.withLock { $0.failures += errors } }

  /// Lets each request for background delivery fail.
  public func refuseDelivery(_ error: HKError?) { state.withLock { $0.deliveryError = error } }

  /// Lets each request for permission fail.
  public func refuseQuestion(_ error: HKError?) { state.withLock { $0.askError = error } }

  /// Makes reading fail for types that the user was not asked about.
  public func requirePermission() { state.withLock { $0.asked = $0.asked ?? [] } }

  /// The number of observer calls that wait.
  public var held: Int { state.withLock { $0.observerCalls.count } }

  /// Runs one of the observer calls that wait.
  public func release(_ index: Int) {
    let run: (@Sendable () -> Void)? = state.withLock { state in
      state.observerCalls.indices.contains(index) ? state.observerCalls.remove(at: index) : nil
    }
    run?()
  }

  // MARK: What was done

  /// Uses that would end a real app or be dropped.
  public var misuses: [String] { state.withLock(\.misuses) }

  /// The number of completion handlers that were given and not called, and of those called.
  public var handlers: (open: Int, called: Int) { state.withLock { ($0.open, $0.completions) } }

  /// The types that are delivered in the background, each with its frequency.
  public var deliveries: [String: HKUpdateFrequency] { state.withLock(\.deliveries) }

  /// The types of running observers, in order.
  public var observed: [String] { state.withLock { $0.observers.map(\.type.identifier).sorted() } }

  /// The types that the user was asked about.
  public var asked: Set<String> { state.withLock { $0.asked ?? [] } }

  /// The UUIDs of the samples of a type.
  public func uuids(of type: String) -> Set<UUID> {
    state.withLock { state in
      Set(state.rows.filter { $0.type == type }.compactMap { $0.added?.uuid })
    }
  }

  func note(_ misuse: String) { state.withLock { $0.misuses.append(misuse) } }

  // MARK: The store's side

  /// Runs a callback on HealthKit's queue.
  func call(_ run: @escaping @Sendable () -> Void) { queue.async { run() } }

  func ask(_ types: [String]) -> HKError? {
    state.withLock { state in
      if let error = state.askError { return error }
      state.asked = (state.asked ?? []).union(types)
      return nil
    }
  }

  func deliver(_ type: String, _ frequency: HKUpdateFrequency?) -> HKError? {
    state.withLock { state in
      if let error = state.deliveryError { return error }
      state.deliveries[type] = frequency
      return nil
    }
  }

  /// Returns false if the query was executed before.
  func begin(_ query: HKQuery) -> Bool {
    state.withLock { state in
      state.kept.append(query)
      return state.executed.insert(ObjectIdentifier(query)).inserted
    }
  }

  /// Apple calls an observer at first only if its type has samples. Without permission it calls it
  /// once with an error, and never again.
  func observe(_ query: HKObserverQuery) {
    let type = query.type.identifier
    let isAllowed = state.withLock { $0.asked?.contains(type) ?? true }
    guard isAllowed else { return call(query, HKError(.errorAuthorizationNotDetermined)) }
    let holdsAny = state.withLock { state in
      state.observers.append(query)
      return state.rows.contains { $0.type == type }
    }
    if holdsAny { call(query, nil) }
  }

  private func call(_ query: HKObserverQuery, _ error: HKError?) {
    state.withLock { $0.open += 1 }
    let calls = Mutex(0)
    let run: @Sendable () -> Void = { [self] in
      let done: HKObserverQueryCompletionHandler = {
        let isFirst = calls.withLock { count in
          count += 1
          return count == 1
        }
        guard isFirst else { return self.note("a completion handler was called twice") }
        self.state.withLock { state in
          state.open -= 1
          state.completions += 1
        }
      }
      query.handler(query, done, error)
    }
    guard holdsObservers else { return call(run) }
    state.withLock { $0.observerCalls.append(run) }
  }

  func stop(_ query: HKQuery) {
    state.withLock { state in state.observers.removeAll { $0 === query } }
  }

  private func failure(of type: HKSampleType) -> HKError? {
    state.withLock { state in
      if !state.failures.isEmpty { return state.failures.removeFirst() }
      if state.isLocked { return HKError(.errorDatabaseInaccessible) }
      guard let asked = state.asked, !asked.contains(type.identifier) else { return nil }
      return HKError(.errorAuthorizationNotDetermined)
    }
  }

  func answer(_ query: HKAnchoredObjectQuery) {
    call { [self] in
      if let error = failure(of: query.type) { return query.handler(query, nil, nil, nil, error) }
      let rows = state.withLock(\.rows)
      var (added, deleted): ([HKSample], [HKDeletedObject]) = ([], [])
      var place = query.anchor?.place ?? 0
      for (index, row) in rows.enumerated().dropFirst(place) {
        if query.limit > 0, added.count + deleted.count == query.limit { break }
        // The anchor also moves past the changes of other types.
        place = index + 1
        guard row.type == query.type.identifier else { continue }
        if let sample = row.added, query.filter?.evaluate(with: sample) ?? true {
          added.append(sample)
        }
        // A deletion has no dates, so a predicate does not exclude it.
        if let gone = row.deleted { deleted.append(gone) }
      }
      query.handler(query, added, deleted, HKQueryAnchor(place), nil)
    }
  }

  func answer(_ query: HKSampleQuery) {
    let isAscending = query.order.first?.ascending
    if let order = query.order.first, order.keyPath != \HKSample.startDate {
      note("the stand-in sorts only by the start")
    }
    call { [self] in
      if let error = failure(of: query.type) { return query.handler(query, nil, error) }
      var found = state.withLock(\.rows).compactMap(\.added).filter {
        $0.sampleType == query.type && (query.filter?.evaluate(with: $0) ?? true)
      }
      if let isAscending {
        found.sort { isAscending ? $0.startDate < $1.startDate : $0.startDate > $1.startDate }
      }
      query.handler(query, query.limit > 0 ? Array(found.prefix(query.limit)) : found, nil)
    }
  }

  func answer(_ query: HKSourceQuery) {
    call { [self] in
      if let error = failure(of: query.type) { return query.handler(query, nil, error) }
      let found = state.withLock(\.rows).compactMap(\.added).filter { $0.sampleType == query.type }
      query.handler(query, Set(found.map(\.sourceRevision.source)), nil)
    }
  }
}
