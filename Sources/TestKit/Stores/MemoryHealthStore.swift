public import LinkRuntime
public import LinkWire

/// A health store in memory, which fails when a test tells it to.
public actor MemoryHealthStore: HealthStore {
  private var kept: [HealthSampleKey: HealthSample] = [:]
  private var faults = Faults()

  /// Makes an empty store.
  public init() {}

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    faults.plan(count, failure)
  }

  public func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    try faults.check()
    var addition = HealthAddition()
    var fresh = kept
    for row in batch.rows {
      let sample = batch[row]
      guard sample.start <= sample.end else {
        throw .other(detail: "A sample ends before it begins.")
      }
      if case .quantity(let quantity) = sample.value, !quantity.isFinite {
        throw .other(detail: "A quantity is not finite.")
      }
      if fresh[row.key] == nil {
        fresh[row.key] = sample
        addition.added += 1
      } else {
        addition.known += 1
      }
    }
    kept = fresh
    return addition
  }

  public func samples(
    _ query: HealthSampleQuery
  ) throws(StoreFailure) -> HealthSamplePage {
    try faults.check()
    var page = HealthSamplePage(samples: [])
    for type in query.typesLeft {
      for place in places(of: type, query) {
        guard page.samples.count < max(1, query.limit) else { return page }
        guard let sample = kept[place.key] else { continue }
        page.samples.append(sample)
        page.next = place
      }
    }
    page.next = nil
    return page
  }

  public func summary() throws(StoreFailure) -> [HealthTypeSummary] {
    try faults.check()
    return Dictionary(grouping: kept.values, by: \.type).map { type, samples in
      let starts = samples.map(\.start).sorted()
      return HealthTypeSummary(
        type: type, count: samples.count, first: starts[0], last: starts[starts.count - 1])
    }.sorted { $0.type < $1.type }
  }

  public func close() { faults.isClosed = true }

  /// What a query has not answered yet of a type, in order.
  private func places(of type: String, _ query: HealthSampleQuery) -> [HealthSamplePlace] {
    kept.filter { $0.value.type == type && query.covers(start: $0.value.start, end: $0.value.end) }
      .map { HealthSamplePlace(type: type, start: $0.value.start, key: $0.key) }
      .filter { place in
        guard let after = query.after, after.type == type else { return true }
        return (place.start, place.key) > (after.start, after.key)
      }
      .sorted { ($0.start, $0.key) < ($1.start, $1.key) }
  }
}
