#if canImport(HealthKit)
  import Foundation
  public import HealthKit
  import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastHealth
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

    /// Returns the first and last start of each type. Their numbers are unknown, because HealthKit
    /// tells them only by reading all samples.
    public func summary() async throws(StoreFailure) -> [HealthTypeSummary] {
      var found: [HealthTypeSummary] = []
      for type in types {
        guard let first = try await end(of: type, ascending: true),
          let last = try await end(of: type, ascending: false)
        else { continue }
        found.append(HealthTypeSummary(type: type, count: nil, first: first, last: last))
      }
      return found
    }

    /// Returns the last start of each type. The data of a live source is always up to date, so the
    /// time of the last import is the current time.
    public func stored() async throws(StoreFailure) -> StoredHealth {
      var stored = StoredHealth(lastImport: clock.wall)
      for type in types { stored.lastSamples[type] = try await end(of: type, ascending: false) }
      return stored
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

    /// Returns the start of the first or last sample of a type, or `nil` if there is none.
    private func end(
      of type: String, ascending: Bool
    ) async throws(StoreFailure) -> Timestamp? {
      try await read(type, nil, limit: 1, ascending: ascending).first?.start
    }

    private func read(
      _ type: String, _ predicate: NSPredicate?, limit: Int, ascending: Bool = true
    ) async throws(StoreFailure) -> [HealthSample] {
      try open()
      guard let sampleType = HealthKitTypes.type(type) else { return [] }
      let result: Result<[HealthSample], HealthKitFailure> = await withCheckedContinuation { done in
        let query = HKSampleQuery(
          sampleType: sampleType, predicate: predicate, limit: limit,
          sortDescriptors: [
            NSSortDescriptor(keyPath: \HKSample.startDate, ascending: ascending)
          ]
        ) { [samples] _, found, error in
          done.resume(
            returning: Result { () throws(HealthKitFailure) in
              if let error { throw HealthKitFailure(error) }
              var list: [HealthSample] = []
              for sample in found ?? [] { list.append(try samples.sample(sample)) }
              return list
            })
        }
        store.execute(query)
      }
      switch result {
      case .success(let samples): return samples
      case .failure(.notAsked), .failure(.noData): return []
      case .failure(let failure): throw StoreFailure(failure)
      }
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
