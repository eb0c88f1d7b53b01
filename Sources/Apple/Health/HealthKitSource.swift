#if canImport(HealthKit)
  import Dispatch
  import Foundation
  public import HealthKit
  import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastPorts
  public import HoldfastSyncData
  import Synchronization

  /// A source of this device's health samples, which HealthKit stores.
  ///
  /// Each launch of the app makes the source and calls `prepare` before the launch ends. HealthKit
  /// reports only to an observer that exists then what it woke the app for. The app needs the
  /// entitlement for HealthKit and the one for its background delivery.
  ///
  /// HealthKit reports nothing while the device is locked, and its samples cannot be read then.
  public final class HealthKitSource: HealthSource {
    private typealias Fired = @Sendable ([String], Wake) -> Void

    private struct State {
      /// The running observers, by type.
      var observers: [String: HKObserverQuery] = [:]
      /// The types whose observer ended with an error. HealthKit does not call it again.
      var ended: Set<String> = []
      var fired: Fired?
      /// The wakes that came before `observe`.
      var early: [(type: String, wake: Wake)] = []
      var undelivered: [String: String] = [:]
    }

    private let store: HKHealthStore
    private let samples: HealthKitSamples
    private let clock: any LinkClock
    private let budget: Duration
    private let events: @Sendable (HealthKitEvent) -> Void
    private let state = Mutex(State())
    /// The queue on which observers fire and on which their completion handlers are called.
    private let queue = DispatchQueue(label: "holdfast.health")

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - store: The app's connection to HealthKit. An app needs only one.
    ///   - units: The units of quantities.
    ///   - budget: The time that HealthKit grants to an observer. Apple documents no number.
    ///   - events: A closure for the app's log. HealthKit's threads call it, so it must return
    ///     quickly.
    public init(
      _ store: HKHealthStore = HKHealthStore(), units: HealthKitUnits = HealthKitUnits(),
      budget: Duration = .seconds(10), clock: any LinkClock = BootClock(),
      events: @escaping @Sendable (HealthKitEvent) -> Void = { _ in }
    ) {
      (self.store, self.budget, self.clock, self.events) = (store, budget, clock, events)
      samples = HealthKitSamples(units: units)
    }

    /// The types for which HealthKit refused delivery in the background, each with the reason. The
    /// usual one is a missing entitlement.
    public var undelivered: [String: String] { state.withLock(\.undelivered) }

    public func prepare(_ types: [String]) { observe(types) }

    public func ask(for types: [String]) async throws(HealthSourceFailure) {
      guard HKHealthStore.isHealthDataAvailable() else {
        throw .failed(detail: "this device has no health data")
      }
      var read: Set<HKObjectType> = []
      for type in types {
        if let object = HealthKitTypes.type(type) {
          read.insert(object)
        } else if !HealthKitTypes.isKnown(type) {
          throw HealthSourceFailure(.unknown(type))
        }
      }
      guard !read.isEmpty else { return }
      let failure = await withCheckedContinuation { continuation in
        // The app writes nothing.
        store.requestAuthorization(toShare: nil, read: read) { isShown, error in
          let refused: HealthKitFailure? =
            isShown ? nil : .other(detail: "HealthKit did not ask the user")
          continuation.resume(returning: error.map { HealthKitFailure($0) } ?? refused)
        }
      }
      if let failure { throw HealthSourceFailure(failure) }
      // An observer that began before the question has ended with an error. Delivery may have been
      // refused before it, also where the observer runs.
      observe(state.withLock { Array($0.observers.keys) }, delivering: types)
    }

    public func observe(
      _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
    ) async {
      let early = state.withLock { state in
        state.fired = fired
        defer { state.early = [] }
        return state.early
      }
      observe(types)
      // HealthKit reports nothing at first about types without samples.
      fired(types, Wake(budget: budget) { _ in })
      // The other wakes are given back when they are released.
      for (type, wake) in early where types.contains(type) { fired([type], wake) }
    }

    public func page(
      _ type: String, from start: HealthPageStart, limit: Int
    ) async throws(HealthSourceFailure) -> SourcePage {
      guard let sampleType = HealthKitTypes.type(type) else {
        // A newer system reads all samples after this anchor.
        if HealthKitTypes.isKnown(type) { return SourcePage(anchor: HealthKitPlace.none) }
        throw HealthSourceFailure(.unknown(type))
      }
      let place = HealthKitPlace(start, now: clock.wall)
      let result: Result<SourcePage, HealthKitFailure> = await withCheckedContinuation { done in
        let query = HKAnchoredObjectQuery(
          type: sampleType, predicate: place.predicate, anchor: place.anchor, limit: max(1, limit)
        ) { [samples] _, added, deleted, anchor, error in
          done.resume(
            returning: Result { () throws(HealthKitFailure) in
              if let error { throw HealthKitFailure(error) }
              return try samples.page(added ?? [], deleted ?? [], place, anchor)
            })
        }
        store.execute(query)
      }
      switch result {
      case .success(let page): return page
      case .failure(let failure): throw HealthSourceFailure(failure)
      }
    }

    public func stop() async {
      // The wakes are given back when they are released.
      _ = state.withLock { state in
        for query in state.observers.values { store.stop(query) }
        (state.observers, state.ended, state.fired) = ([:], [], nil)
        defer { state.early = [] }
        return state.early
      }
      // An observer that fires at this time ends first.
      await withCheckedContinuation { done in queue.async { done.resume() } }
    }
  }

  extension HealthKitSource {
    /// Observes exactly these types. An observer that has ended is replaced.
    ///
    /// - Parameter delivered: The types for which delivery is enabled even if their observer runs.
    private func observe(_ types: [String], delivering delivered: [String] = []) {
      state.withLock { state in
        for (type, query) in state.observers {
          let isWanted = types.contains(type)
          guard !isWanted || state.ended.contains(type) else { continue }
          store.stop(query)
          state.observers[type] = nil
          if !isWanted {
            state.undelivered[type] = nil
            endDelivery(type)
          }
        }
        state.ended = []
        for type in types {
          guard let sampleType = HealthKitTypes.type(type) else { continue }
          if state.observers[type] == nil {
            let query = observer(of: type, sampleType)
            state.observers[type] = query
            store.execute(query)
          } else if !delivered.contains(type) {
            continue
          }
          beginDelivery(type, sampleType)
        }
      }
    }

    private func observer(of type: String, _ sampleType: HKSampleType) -> HKObserverQuery {
      HKObserverQuery(sampleType: sampleType, predicate: nil) { [weak self] query, done, error in
        guard let self else { return done() }
        let completion = ObserverCompletion(done, on: queue)
        let wake = Wake(budget: budget) { _ in completion.call() }
        let failure = error.map { HealthKitFailure($0) }
        queue.async { [self] in fire(type, query, wake, failure) }
      }
    }

    /// Passes a wake to the listener, also after an error, because the next page reports the reason.
    ///
    /// The call of an observer that was stopped is given back.
    private func fire(
      _ type: String, _ query: HKObserverQuery, _ wake: Wake, _ failure: HealthKitFailure?
    ) {
      let (isRunning, fired) = state.withLock { state -> (Bool, Fired?) in
        guard state.observers[type] === query else { return (false, nil) }
        if let failure, failure != .locked { state.ended.insert(type) }
        if state.fired == nil { state.early.append((type, wake)) }
        return (true, state.fired)
      }
      guard isRunning else { return }
      events(failure.map { .failed(type: type, reason: $0.detail) } ?? .fired(type: type))
      fired?([type], wake)
    }

    private func beginDelivery(_ type: String, _ sampleType: HKSampleType) {
      store.enableBackgroundDelivery(for: sampleType, frequency: .immediate) {
        [weak self] isEnabled, error in
        guard let self else { return }
        let reason = error.map { HealthKitFailure($0).detail } ?? "HealthKit gave no reason"
        state.withLock { $0.undelivered[type] = isEnabled ? nil : reason }
        events(isEnabled ? .delivered(type: type) : .undelivered(type: type, reason: reason))
      }
    }

    /// Ends delivery of a type that is no longer observed. Otherwise HealthKit would wake the app
    /// for it, and would count completion handlers that nobody calls.
    private func endDelivery(_ type: String) {
      guard let sampleType = HealthKitTypes.type(type) else { return }
      store.disableBackgroundDelivery(for: sampleType) { _, _ in }
    }
  }

  /// The completion handler of an observer.
  ///
  /// HealthKit does not declare its handlers Sendable. The class is confined to a queue, so that no
  /// two threads use the handler.
  private final class ObserverCompletion: @unchecked Sendable {
    private let queue: DispatchQueue
    private var handler: (() -> Void)?

    init(_ handler: @escaping () -> Void, on queue: DispatchQueue) {
      (self.handler, self.queue) = (handler, queue)
    }

    /// Calls the handler on the queue. Further calls have no effect.
    func call() { queue.async { self.run() } }

    private func run() {
      dispatchPrecondition(condition: .onQueue(queue))
      let handler = handler
      self.handler = nil
      handler?()
    }
  }

  extension HealthKitSamples {
    /// Returns a page with the results of an anchored query.
    fileprivate func page(
      _ added: [HKSample], _ deleted: [HKDeletedObject], _ place: HealthKitPlace,
      _ anchor: HKQueryAnchor?
    ) throws(HealthKitFailure) -> SourcePage {
      guard let anchor,
        let next = place.next(anchor, isEmpty: added.isEmpty && deleted.isEmpty)
      else { throw .other(detail: "HealthKit returned no anchor that can be stored") }
      var page = SourcePage(deleted: deleted.map { UUID128($0.uuid) }, anchor: next)
      for sample in added {
        page.added.append(
          SourceSample(uuid: UUID128(sample.uuid), sample: try self.sample(sample)))
      }
      return page
    }
  }

  extension UUID128 {
    fileprivate init(_ uuid: UUID) {
      let uuid = uuid.uuid
      self = unsafe withUnsafeBytes(of: uuid) { unsafe UUID128(bytes: $0) }
    }
  }
#endif
