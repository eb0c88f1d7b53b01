import HoldfastCore
import HoldfastHealthSamples

/// A store that scans all of its samples for each query.
struct ReferenceStore {
  private let rows: [(key: HealthSampleKey, sample: HealthSample)]
  /// Whether a query also returns samples that only touch an end of its interval, as the stores of
  /// some platforms do.
  private let isLoose: Bool
  /// The maximum number of samples in a page, even if the query allows more.
  private let most: Int

  init(_ samples: [HealthSample], isLoose: Bool, most: Int = 10_000) {
    var rows: [(key: HealthSampleKey, sample: HealthSample)] = []
    for sample in samples {
      let key = sample.key
      if !rows.contains(where: { $0.key == key }) { rows.append((key, sample)) }
    }
    self.rows = rows.sorted { ($0.sample.start, $0.key) < ($1.sample.start, $1.key) }
    (self.isLoose, self.most) = (isLoose, most)
  }

  func page(_ query: HealthSampleQuery) -> HealthSamplePage {
    let found = rows.filter { row in
      let (start, end) = (row.sample.start, row.sample.end)
      let isNear = isLoose && (start == query.to || end == query.from)
      let hasEnded = end < query.from || (end == query.from && start < end)
      let isWithin = query.from < query.to && start < query.to && !hasEnded
      guard isWithin || isNear,
        query.types.contains(row.sample.type)
      else { return false }
      guard let after = query.after else { return true }
      return (start, row.key) > (after.start, after.key)
    }
    let page = found.prefix(max(1, min(most, query.limit)))
    guard let last = page.last, page.count < found.count else {
      return HealthSamplePage(samples: page.map(\.sample))
    }
    let next = HealthSamplePosition(type: last.sample.type, start: last.sample.start, key: last.key)
    return HealthSamplePage(samples: page.map(\.sample), next: next)
  }
}
