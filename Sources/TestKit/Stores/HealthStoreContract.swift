import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthSamples

/// Checks the promises of `HealthStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func healthStoreContract(make: () async throws -> any HealthStore) async throws {
  let checks: [@Sendable (any HealthStore) async throws -> Void] = [
    startsEmpty, storesEveryField, knowsByContent, findsByOverlap, ordersAndPages, summarises,
    refusesNonsense, takesManyAtOnce, countsByInterval, countsAll, removesWhatAReadingLacks,
    forgetsMarks, findsWhatIsMissing, pagesChanges, reportsDeletions, forgetsUndoneDeletions,
    startsAnewWithAForeignAnchor, failsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

private let steps = "HKQuantityTypeIdentifierStepCount"

private func sample(
  _ type: String = steps, _ value: Double = 1, from start: Int64, to end: Int64? = nil,
  source: String = "Phone"
) -> HealthSample {
  HealthSample(
    type: type, value: .quantity(value), unit: "count", start: Timestamp(nanoseconds: start),
    end: Timestamp(nanoseconds: end ?? start), source: source)
}

private func query(
  _ types: [String] = [steps], from: Int64 = .min, to: Int64 = .max,
  after: HealthSamplePosition? = nil, limit: Int = 100
) -> HealthSampleQuery {
  HealthSampleQuery(
    types: types, from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to), after: after,
    limit: limit)
}

private func startsEmpty(_ store: any HealthStore) async throws {
  try ContractViolation.unless(try await store.summary(), is: [], "a new store holds nothing")
  try ContractViolation.unless(
    try await store.samples(query()), is: HealthSamplePage(samples: []), "a new store has no page")
  try ContractViolation.unless(
    try await store.add([]), is: HealthAddition(), "nothing adds nothing")
}

private func storesEveryField(_ store: any HealthStore) async throws {
  let sleep = "HKCategoryTypeIdentifierSleepAnalysis"
  let workout = HealthSample.workoutType
  let time = (Timestamp(nanoseconds: -1), Timestamp(nanoseconds: 1_700_000_000_123_456_789))
  let all = [
    HealthSample(
      type: steps, value: .quantity(0.1), unit: "count", start: time.0, end: time.1,
      source: "Ännas\u{A0}Watch", device: "name:Apple Watch", zone: "Europe/Zurich"),
    HealthSample(
      type: sleep, value: .category("HKCategoryValueSleepAnalysisAsleepREM"), start: time.0,
      end: time.0, source: ""),
    HealthSample(
      type: workout,
      value: .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityTypeWalking", duration: .milliseconds(1_500), distance: 2.5,
          energy: 0.1, steps: 3)), start: time.1, end: time.1, source: "Phone"),
    HealthSample(
      type: workout, value: .workout(WorkoutValue(activity: "HKWorkoutActivityTypeOther")),
      start: Timestamp(nanoseconds: time.1.nanoseconds + 1), end: .init(nanoseconds: .max - 1),
      source: "Phone"),
  ]
  let addition = try await store.add(all)
  try ContractViolation.unless(addition, is: HealthAddition(added: 4), "all of them are new")
  let page = try await store.samples(query([steps, sleep, workout]))
  try ContractViolation.unless(
    page, is: HealthSamplePage(samples: all), "everything comes back as it was put")
}

private func knowsByContent(_ store: any HealthStore) async throws {
  let first = sample(from: 5, to: 9)
  var same = first
  (same.device, same.zone) = ("another", "Europe/Zurich")
  let added = try await store.add([first, same])
  try ContractViolation.unless(
    added, is: HealthAddition(added: 1, known: 1), "device and zone tell no samples apart")
  try ContractViolation.unless(
    try await store.samples(query()).samples, is: [first], "the first one stays")
  var others = Array(repeating: first, count: 6)
  others[0].type = "other"
  others[1].value = .quantity(2)
  others[2].unit = nil
  others[3].start = Timestamp(nanoseconds: 4)
  others[4].end = Timestamp(nanoseconds: 10)
  others[5].source = "Watch"
  try ContractViolation.unless(
    try await store.add(others), is: HealthAddition(added: 6),
    "type, value, unit, start, end and source each make another sample")
  try ContractViolation.unless(
    try await store.add(others), is: HealthAddition(known: 6), "again they are known")
}

private func findsByOverlap(_ store: any HealthStore) async throws {
  let all = [
    sample(from: 0, to: 100), sample(from: 10, to: 20), sample(from: 20), sample(from: 29, to: 31),
    sample(from: 30),
  ]
  try await store.add(all)
  let found = try await store.samples(query(from: 20, to: 30)).samples
  try ContractViolation.unless(
    found, is: [all[0], all[2], all[3]],
    "a span holds what reaches into it, readings at its start, and nothing at its end")
  try ContractViolation.unless(
    try await store.samples(query(from: 19, to: 20)).samples, is: [all[0], all[1]],
    "what began before a span is found")
  try ContractViolation.unless(
    try await store.samples(query(from: 30, to: 20)).samples, is: [], "no span holds nothing")
}

private func ordersAndPages(_ store: any HealthStore) async throws {
  let late = (1...3).map { sample("b", Double($0), from: 7) }.sorted { $0.key < $1.key }
  let early = [sample("a", from: 3), sample("a", from: 8)]
  try await store.add((late + early).reversed())
  let whole = late + early
  for limit in 0...6 {
    var found: [HealthSample] = []
    var place: HealthSamplePosition?
    var pages = 0
    repeat {
      let page = try await store.samples(
        query(["b", "none", "a", "b"], after: place, limit: limit))
      found += page.samples
      place = page.next
      pages += 1
    } while place != nil && pages < 10
    try ContractViolation.unless(
      found, is: whole, "pages of \(limit) hold all, by type as asked, start and key")
    let size = max(limit, 1)
    try ContractViolation.unless(
      pages, is: (whole.count + size - 1) / size, "the last page of \(limit) says that it is")
  }
}

private func summarises(_ store: any HealthStore) async throws {
  try await store.add([sample("b", from: 4), sample("a", from: 9, to: 12), sample("b", from: 2)])
  try await store.add([sample("b", from: 4), sample("b", from: -3, source: "Band")])
  try ContractViolation.unless(
    try await store.summary(),
    is: [
      HealthTypeSummary(
        type: "a", count: 1, first: Timestamp(nanoseconds: 9), last: Timestamp(nanoseconds: 9),
        sources: ["Phone"]),
      HealthTypeSummary(
        type: "b", count: 3, first: Timestamp(nanoseconds: -3), last: Timestamp(nanoseconds: 4),
        sources: ["Band", "Phone"]),
    ], "a summary counts each sample once and names the sources, by type in order")
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredHealth(
      lastSamples: ["a": Timestamp(nanoseconds: 9), "b": Timestamp(nanoseconds: 4)]),
    "a store without an import tells the last sample of each type")
  for time: Int64 in [5, 7] { try await store.noteImport(at: Timestamp(nanoseconds: time)) }
  try ContractViolation.unless(
    try await store.stored().lastImport, is: Timestamp(nanoseconds: 7),
    "a store remembers the last import")
  for time: Int64? in [8, 9, nil, nil, 10] {
    let began = time.map { Timestamp(nanoseconds: $0) }
    try await store.noteUnfinished(since: began)
    try ContractViolation.unless(
      try await store.stored().unfinished?.since, is: began,
      "a store remembers the import that has not ended")
  }
}

private func refusesNonsense(_ store: any HealthStore) async throws {
  for wrong in [
    sample(from: 2, to: 1), sample(steps, .nan, from: 1), sample(steps, .infinity, from: 1),
  ] {
    do {
      try await store.add([sample(from: 1), wrong])
    } catch {
      try ContractViolation.unless(
        try await store.summary(), is: [], "nothing of a refused batch is visible")
      continue
    }
    throw ContractViolation("\(wrong) is refused: it was taken")
  }
  try ContractViolation.unless(
    try await store.add([sample(from: 1)]), is: HealthAddition(added: 1),
    "a store works after a refusal")
}

private func takesManyAtOnce(_ store: any HealthStore) async throws {
  let many = (0..<8_001).map { sample(from: Int64($0), source: "source \($0)") }
  try ContractViolation.unless(
    try await store.add(many), is: HealthAddition(added: 8_001), "more than a batch are taken")
}

private func count(_ samples: HealthSample...) -> HealthCount {
  samples.reduce(into: HealthCount()) { $0.add($1.key) }
}

private func interval(_ type: String = steps, from: Int64 = .min, to: Int64 = .max)
  -> CoverageInterval
{
  CoverageInterval(type: type, from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to))
}

private func countsByInterval(_ store: any HealthStore) async throws {
  let bucket: Int64 = 1 << 50
  let all = [sample(from: -1), sample(from: 0), sample(from: bucket - 1), sample(from: bucket)]
  try await store.add(all + [sample("b", from: 0)])
  try ContractViolation.unless(
    try await store.counts(interval()),
    is: [-1: count(all[0]), 0: count(all[1], all[2]), 1: count(all[3])],
    "samples are counted by their start")
  try ContractViolation.unless(
    try await store.counts(interval(from: 0, to: bucket)),
    is: [0: count(all[1], all[2]), 1: count(all[3])], "both ends of a stretch are in it")
  try ContractViolation.unless(
    try await store.counts(interval("none")), is: [:], "unknown types hold nothing")
}

private func countsAll(_ store: any HealthStore) async throws {
  let all = (1...4).map { sample(from: $0) }
  try await store.add([all[0], all[1], sample("b", from: 1)])
  try await store.add([all[3], all[1], all[2]])
  try ContractViolation.unless(
    try await store.totals(),
    is: [steps: count(all[0], all[1], all[2], all[3]), "b": count(sample("b", from: 1))],
    "each sample is counted once, in any order")
  _ = try await store.reconcile(ImportReconciliation(intervals: [interval(from: 2, to: 3)]))
  try ContractViolation.unless(
    try await store.totals()[steps], is: count(all[0], all[3]), "a removal is taken off")
}

private func findsWhatIsMissing(_ store: any HealthStore) async throws {
  try ContractViolation.unless(try await store.coverages(), is: [], "no reading was settled")
  let covered = [interval(from: 2, to: 4), interval("none", from: 0, to: 9)]
  _ = try await store.reconcile(
    ImportReconciliation(exported: Timestamp(nanoseconds: 9), covered: covered))
  try ContractViolation.unless(
    try await store.coverages(),
    is: covered.map { HealthCoverage($0, exported: Timestamp(nanoseconds: 9)) },
    "a store knows what was covered, by type")
  try await store.add([sample(from: 3)])
  let batch = HealthBatch([
    sample(from: 1), sample(from: 2), sample(from: 3), sample(steps, 7, from: 3), sample(from: 4),
    sample(from: 5), sample("none", from: 3), sample("b", from: 3),
  ])
  try ContractViolation.unless(
    try await store.missing(batch, in: covered), is: [1, 3, 4, 6],
    "rows in the stretches that are not stored are missing")
  try ContractViolation.unless(
    try await store.missing(batch, in: [interval(CoverageInterval.everyType, from: 2, to: 3)]),
    is: [1, 3, 6, 7], "a stretch of all types holds rows of each")
}

private func forgetsMarks(_ store: any HealthStore) async throws {
  let all = (1...3).map { sample(from: $0) }
  func marks(_ place: Int) -> HealthMarks {
    HealthMarks(positions: [
      HealthSamplePosition(type: steps, start: all[place].start, key: all[place].key)
    ])
  }
  try await store.add(all)
  try await store.mark(marks(0))
  try await store.clearMarks()
  try await store.mark(marks(1))
  try await store.mark(marks(2))
  var reconciliation = ImportReconciliation(intervals: [interval()])
  try ContractViolation.unless(
    try await store.reconcile(reconciliation), is: [steps: 1],
    "only marks that were not cleared count"
  )
  reconciliation.intervals = [interval(from: 3)]
  try ContractViolation.unless(
    try await store.reconcile(reconciliation), is: [steps: 1],
    "marks do not outlive what they were for")
  try ContractViolation.unless(
    try await store.samples(query()).samples, is: [all[1]], "what is not in a stretch stays")
}

private func removesWhatAReadingLacks(_ store: any HealthStore) async throws {
  let all = [
    sample(from: 1), sample(from: 2), sample(steps, 7, from: 2), sample(from: 3, source: "Band"),
    sample(from: 4),
  ]
  let workout = HealthSample(
    type: HealthSample.workoutType, value: .workout(WorkoutValue(activity: "walk")),
    start: Timestamp(nanoseconds: 2), end: Timestamp(nanoseconds: 3), source: "Phone")
  try await store.add(all + [workout, sample("b", from: 2)])
  try ContractViolation.unless(try await store.newestExport(), is: nil, "no reading was settled")
  try await store.mark(
    HealthMarks(positions: [HealthSamplePosition(type: steps, start: all[2].start, key: all[2].key)]
    ))
  let removed = try await store.reconcile(
    ImportReconciliation(
      intervals: [
        interval(from: 2, to: 3), interval(HealthSample.workoutType, from: 2, to: 3),
      ], exported: Timestamp(nanoseconds: 9)))
  try ContractViolation.unless(
    removed, is: [steps: 2, HealthSample.workoutType: 1], "what a reading lacks is removed")
  try ContractViolation.unless(
    try await store.samples(query([steps, "b", HealthSample.workoutType])).samples,
    is: [all[0], all[2], all[4], sample("b", from: 2)], "what is kept, or outside, stays")
  try ContractViolation.unless(
    try await store.summary().map {
      "\($0.type) \($0.count ?? -1) \($0.first.nanoseconds) \($0.sources ?? [])"
    }, is: ["\(steps) 3 1 [\"Phone\"]", "b 1 2 [\"Phone\"]"], "the summary follows")
  _ = try await store.reconcile(ImportReconciliation(exported: Timestamp(nanoseconds: 5)))
  try ContractViolation.unless(
    try await store.newestExport(), is: Timestamp(nanoseconds: 9), "the newest date counts")
  _ = try await store.reconcile(
    ImportReconciliation(exported: Timestamp(nanoseconds: 8), replaces: true))
  try ContractViolation.unless(
    try await store.newestExport(), is: Timestamp(nanoseconds: 8),
    "the date of a reading that replaces counts from then on")
  try ContractViolation.unless(
    try await store.add([all[1], workout]), is: HealthAddition(added: 2),
    "what was removed can come back")
}

private func failsWhenClosed(_ store: any HealthStore) async throws {
  try await closes(store) { _ = try await store.summary() }
}
