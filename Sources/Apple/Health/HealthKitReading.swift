#if canImport(HealthKit)
  import Foundation
  public import HealthKit
  import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastHealth
  public import HoldfastHealthSamples
  public import HoldfastPorts
  import Synchronization

  /// A reader of this device's health samples, which HealthKit stores.
  ///
  /// A type that the user was not asked about, or does not allow to be read, has no samples.
  /// HealthKit never tells which of both is the case. While the device is locked, each call fails
  /// with `.locked`.
  public final class HealthKitReading: HealthReading {
    /// The maximum number of samples on a page, whatever a query allows.
    private static let longestPage = 100_000
    /// The number of samples that HealthKit is asked for at once, unless more begin in one second.
    private static let longestRead = 10_000
    /// The number of types that are read at the same time, because each question needs all of them.
    private static let mostReads = 8
    /// The number of samples that are counted.
    private static let mostCounted = 1_000

    private let store: HKHealthStore
    private let samples: HealthKitSamples
    private let types: [String]
    private let clock: any LinkClock
    private let isClosed = Mutex(false)

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - store: The app's connection to HealthKit. An app needs only one.
    ///   - types: HealthKit's identifiers of the types that `summary` and `stored` report.
    ///   - units: The units of quantities.
    public init(
      _ store: HKHealthStore = HKHealthStore(), types: [String] = HealthKitTypes.all,
      units: HealthKitUnits = HealthKitUnits(), clock: any LinkClock = BootClock()
    ) {
      (self.store, self.clock) = (store, clock)
      self.types = Set(types).sorted()
      samples = HealthKitSamples(units: units)
    }

    public func samples(
      _ query: HealthSampleQuery
    ) async throws(StoreFailure) -> HealthSamplePage {
      let limit = min(max(1, query.limit), Self.longestPage)
      var found: [HealthSample] = []
      if query.from < query.to {
        for type in query.typesLeft where found.count <= limit {
          found += try await overlapping(query, of: type, limit: limit + 1 - found.count)
        }
      }
      guard found.count > limit else { return HealthSamplePage(samples: found) }
      let page = Array(found.prefix(limit))
      return HealthSamplePage(
        samples: page,
        next: page.last.map { HealthSamplePosition(type: $0.type, start: $0.start, key: $0.key) })
    }

    /// Returns the first and last start of each type, and its sources.
    ///
    /// HealthKit counts samples only by reading all of them. A type has a count if it has at most
    /// 1,000 samples.
    public func summary() async throws(StoreFailure) -> [HealthTypeSummary] {
      try await ofEachType { type throws(StoreFailure) in try await self.summary(of: type) }
        .map(\.value)
    }

    /// Returns the last start of each type. The data of a live source is always up to date, so the
    /// time of the last import is the current time.
    public func stored() async throws(StoreFailure) -> StoredHealth {
      let last = try await ofEachType { type throws(StoreFailure) in
        try await self.end(of: type, ascending: false)
      }
      return StoredHealth(
        lastSamples: Dictionary(last.map { ($0.type, $0.value) }) { $1 }, lastImport: clock.wall)
    }

    public func check() async throws(StoreFailure) {
      guard HKHealthStore.isHealthDataAvailable() else {
        throw .other(detail: "this device has no health data")
      }
      if let type = types.first { _ = try await end(of: type, ascending: true) } else { try open() }
    }

    public func close() async { isClosed.withLock { $0 = true } }

    private func open() throws(StoreFailure) {
      if isClosed.withLock({ $0 }) { throw .closed }
    }
  }

  extension HealthKitReading {
    /// Returns the first samples of a type on a page, ordered by start and key.
    ///
    /// HealthKit orders only by start, so all samples of a second are read before they are ordered.
    private func overlapping(
      _ query: HealthSampleQuery, of type: String, limit: Int
    ) async throws(StoreFailure) -> [HealthSample] {
      var found: [HealthSample] = []
      var from = query.after.flatMap { $0.type == type ? $0.start : nil }
      var size = min(limit, Self.longestRead)
      while true {
        let batch = try await read(type, span(query, from: from), limit: size)
        let isLast = batch.count < size
        var whole = batch[...]
        if !isLast, let second = batch.last?.start {
          // More samples may begin in the last second.
          whole = batch.prefix { $0.start < second }
          from = second
          if whole.isEmpty { size *= 2 }
        }
        found += query.ordered(whole, of: type)
        if isLast || found.count >= limit { return Array(found.prefix(limit)) }
      }
    }

    /// Returns a predicate for at least the samples that a page needs.
    ///
    /// Samples are read in whole seconds, so the span is wider by one. The page leaves out the rest.
    private func span(_ query: HealthSampleQuery, from: Timestamp?) -> NSPredicate {
      let second = Duration.seconds(1)
      let end = query.to.advanced(by: second).date
      let overlap = HKQuery.predicateForSamples(
        withStart: query.from.advanced(by: .zero - second).date, end: end)
      guard let from else { return overlap }
      return NSCompoundPredicate(andPredicateWithSubpredicates: [
        overlap,
        HKQuery.predicateForSamples(withStart: from.date, end: end, options: .strictStartDate),
      ])
    }

    private func read(
      _ type: String, _ predicate: NSPredicate?, limit: Int
    ) async throws(StoreFailure) -> [HealthSample] {
      let found = try await query(type, predicate, limit: limit)
      do throws(HealthKitFailure) {
        return try found.map { one throws(HealthKitFailure) in try samples.sample(one) }
      } catch {
        throw StoreFailure(error)
      }
    }

    private func query(
      _ type: String, _ predicate: NSPredicate?, limit: Int, ascending: Bool = true
    ) async throws(StoreFailure) -> [HKSample] {
      try await answer(type, to: []) { sampleType, done in
        HKSampleQuery(
          sampleType: sampleType, predicate: predicate, limit: limit,
          sortDescriptors: [NSSortDescriptor(keyPath: \HKSample.startDate, ascending: ascending)]
        ) { _, found, error in done(found, error) }
      }
    }

    /// Runs a query of a type. If the user was not asked about it, or this system does not have it,
    /// the answer is the one without data.
    private func answer<Found: Sendable>(
      _ type: String, to nothing: Found,
      _ query: (HKSampleType, @escaping @Sendable (Found?, (any Error)?) -> Void) -> HKQuery
    ) async throws(StoreFailure) -> Found {
      try open()
      guard let sampleType = HealthKitTypes.type(type) else { return nothing }
      let result: Result<Found, HealthKitFailure> = await withCheckedContinuation { done in
        store.execute(
          query(sampleType) { found, error in
            done.resume(
              returning: error.map { .failure(HealthKitFailure($0)) } ?? .success(found ?? nothing))
          })
      }
      switch result {
      case .success(let found): return found
      case .failure(.notAsked), .failure(.noData): return nothing
      case .failure(let failure): throw StoreFailure(failure)
      }
    }
  }

  extension HealthKitReading {
    /// Reads something of each type, of a few types at the same time. Returns what there is, ordered
    /// by type.
    private func ofEachType<Value: Sendable>(
      _ read: @escaping @Sendable (String) async throws(StoreFailure) -> Value?
    ) async throws(StoreFailure) -> [(type: String, value: Value)] {
      let results = await withTaskGroup(
        of: (type: String, value: Result<Value?, StoreFailure>).self
      ) { group in
        var left = types[...]
        var results: [String: Result<Value?, StoreFailure>] = [:]
        var running = 0
        while true {
          while running < Self.mostReads, let type = left.popFirst() {
            running += 1
            group.addTask {
              do throws(StoreFailure) {
                return (type, .success(try await read(type)))
              } catch {
                return (type, .failure(error))
              }
            }
          }
          guard let next = await group.next() else { return results }
          running -= 1
          results[next.type] = next.value
          // The others would most likely fail for the same reason.
          if case .failure = next.value { left = [] }
        }
      }
      var found: [(type: String, value: Value)] = []
      for type in types {
        if let value = try results[type]?.get() { found.append((type, value)) }
      }
      return found
    }

    /// Returns the start of the first or last sample of a type, or `nil` if there is none.
    private func end(of type: String, ascending: Bool) async throws(StoreFailure) -> Timestamp? {
      try await query(type, nil, limit: 1, ascending: ascending).first
        .map { Timestamp(second: $0.startDate) }
    }

    /// Returns the summary of a type, or `nil` if it has no samples.
    private func summary(of type: String) async throws(StoreFailure) -> HealthTypeSummary? {
      let first = try await query(type, nil, limit: Self.mostCounted + 1)
      guard let start = first.first, var end = first.last else { return nil }
      let isAll = first.count <= Self.mostCounted
      if !isAll, let last = try await query(type, nil, limit: 1, ascending: false).first {
        end = last
      }
      return HealthTypeSummary(
        type: type, count: isAll ? count(first) : nil, first: Timestamp(second: start.startDate),
        last: Timestamp(second: end.startDate), sources: try await sources(of: type))
    }

    /// Returns the number of samples, each key once, or `nil` if one of them cannot be read.
    private func count(_ found: [HKSample]) -> Int? {
      var keys: Set<HealthSampleKey> = []
      for one in found {
        guard let sample = try? samples.sample(one) else { return nil }
        keys.insert(sample.key)
      }
      return keys.count
    }

    private func sources(of type: String) async throws(StoreFailure) -> [String] {
      let sources: Set<HKSource> = try await answer(type, to: []) { sampleType, done in
        HKSourceQuery(sampleType: sampleType, samplePredicate: nil) { _, found, error in
          done(found, error)
        }
      }
      return Set(sources.map(\.name.printable)).sorted()
    }
  }

  extension HealthSampleQuery {
    /// Returns the samples that belong to the page, each key once, in the order of pages.
    fileprivate func ordered(_ samples: ArraySlice<HealthSample>, of type: String) -> [HealthSample]
    {
      var found: [HealthSampleKey: HealthSample] = [:]
      for sample in samples where covers(start: sample.start, end: sample.end) {
        let key = sample.key
        if let after, after.type == type, (sample.start, key) <= (after.start, after.key) {
          continue
        }
        found[key] = sample
      }
      return found.sorted { ($0.value.start, $0.key) < ($1.value.start, $1.key) }.map(\.value)
    }
  }
#endif
