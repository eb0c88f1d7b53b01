import LinkCore
import LinkHealth

/// Samples that are put into batches, counted, marked and told page by page, beside plain lists.
struct HealthSamplesWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many batches, censuses, coverages and stores; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryBatch()
      tryQuery()
      tryOrder()
      tryCensus()
      for _ in 0..<3 { tryCoverages() }
      trySpans()
      for _ in 0..<2 { tryPages() }
      if happens(2) { tryManyKeys() }
      if happens(4) { tryBounds() }
    }
    return stray
  }

  // Samples.

  static let types = ["a", "b", "\u{E9}", "e\u{301}"]
  static let stretch: Int64 = 1_125_899_906_842_624

  static func moment(_ nanoseconds: Int64) -> Timestamp { Timestamp(nanoseconds: nanoseconds) }

  mutating func start() -> Int64 {
    let base = Int64(number(-2...2)) * Self.stretch
    return base + one([-1, 0, 1, 5])
  }

  private static let texts = [
    "", "s", "a", "0123456", "01234567", "012345678", "0123456789abcde", "0123456789abcdef",
    "0123456789abcdef0", "\u{E9}", "e\u{301}",
  ]

  mutating func sample(_ type: String) -> HealthSample {
    let start = start()
    return HealthSample(
      type: type, value: value(), unit: happens(2) ? nil : one(["count", "m", "s"]),
      start: Self.moment(start), end: Self.moment(start + one([0, 0, 1, 60])),
      source: one(Self.texts), device: happens(3) ? one(Self.texts) : nil,
      zone: maybe(one(["UTC", "s"])))
  }

  private mutating func value() -> HealthSampleValue {
    switch number(0...5) {
    case 0: return .category(one(Self.texts))
    case 1:
      return .workout(
        WorkoutValue(
          activity: one(["R", "", "s"]), duration: maybe(.seconds(60)), distance: maybe(5),
          energy: maybe(1)))
    case _: return .quantity(one([0, -0.0, 1, 2, -1.5]))
    }
  }

  mutating func samples(_ most: Int) -> [HealthSample] {
    (0..<number(0...most)).map { _ in sample(one(Self.types)) }
  }

  // Batches.

  private mutating func tryBatch() {
    let samples = samples(5)
    let batch = HealthBatch(samples)
    compareBatch(batch, of: samples)
    guard stray == nil else { return }
    let stretches = stretches()
    let places = Self.places(of: batch, in: stretches)
    compareRows(batch.rows(in: stretches), places, stretches)
    compareRest(batch.without(places), of: batch, without: places)
  }

  /// Compares the names, rows and workouts of a batch with those of its samples.
  mutating func compareBatch(_ batch: HealthBatch, of samples: [HealthSample]) {
    var names: [String] = []
    var workouts: [WorkoutValue] = []
    func number(_ text: String?) -> UInt16 {
      guard let text else { return 65_535 }
      let place = names.firstIndex { Array($0.utf8) == Array(text.utf8) }
      if place == nil { names.append(text) }
      return UInt16(place ?? names.count - 1)
    }
    for (row, sample) in zip(batch.rows, samples) {
      let numbers = [sample.type, sample.unit, sample.source, sample.device, sample.zone].map {
        number($0)
      }
      let found = [row.type, row.unit, row.source, row.device, row.zone]
      compare("the names of \(sample)", found, numbers)
      compare("the times of \(sample)", [row.start, row.end], [sample.start, sample.end])
      let value: HealthRow.Value
      switch sample.value {
      case .quantity(let quantity): value = .quantity(quantity)
      case .category(let name): value = .category(number(name))
      case .workout(let workout):
        value = .workout(UInt32(workouts.count))
        workouts.append(workout)
      }
      compare("the value of \(sample)", row.value, value)
      let key = HealthSampleAccount.key(sample)
      compare("the keys of \(sample)", [row.key, sample.key], [key, key])
      compare("the sample of a row", batch[row], sample)
    }
    compare("the count of rows", batch.rows.count, samples.count)
    compare("the workouts", batch.workouts, workouts)
    compareNames(batch.names.map(\.text), batch.names.map(\.key), names)
    compare("the spans of a batch", batch.spans, [])
  }

  mutating func compareNames(
    _ texts: [String], _ keys: [HealthSampleKey], _ names: [String]
  ) {
    compare("the names of a batch", texts.map { Array($0.utf8) }, names.map { Array($0.utf8) })
    compare("the keys of \(names)", keys, names.map { HealthSampleAccount.key($0) })
  }

  mutating func stretches() -> [HealthStretch] {
    (0..<number(0...3)).map { _ in
      let from = start()
      return HealthStretch(
        type: one(Self.types), from: Self.moment(from),
        to: Self.moment(one([from - 1, from, from + 1, from + 5, from + Self.stretch])))
    }
  }

  /// Returns the rows that begin in some stretches.
  static func places(of batch: HealthBatch, in stretches: [HealthStretch]) -> [Int] {
    var places: [Int] = []
    for (place, row) in batch.rows.enumerated() {
      let type = batch.names[Int(row.type)].text
      let isIn = stretches.contains { stretch in
        stretch.type == type && stretch.from.nanoseconds <= row.start.nanoseconds
          && stretch.to.nanoseconds >= row.start.nanoseconds
      }
      if isIn { places.append(place) }
    }
    return places
  }

  mutating func compareRows(_ found: [Int], _ must: [Int], _ stretches: [HealthStretch]) {
    compare("the rows in \(stretches)", found, must)
  }

  mutating func compareRest(
    _ rest: HealthBatch, of batch: HealthBatch, without places: [Int]
  ) {
    var kept: [HealthRow] = []
    for (place, row) in batch.rows.enumerated() where !places.contains(place) { kept.append(row) }
    compare("what is left without \(places)", rest.rows, kept)
    compare("the names that are left", rest.names, batch.names)
    compare("the workouts that are left", rest.workouts, batch.workouts)
  }

  // Questions.

  private mutating func tryQuery() {
    let types = (0..<number(0...4)).map { _ in one(["a", "b", "c"]) }
    let (from, to) = (Int64(number(0...4)), Int64(number(0...4)))
    var query = HealthSampleQuery(types: types, from: Self.moment(from), to: Self.moment(to))
    compareLimit(query.limit)
    let key = HealthSampleKey(high: 1, low: 2)
    if happens(2) {
      query.after = HealthSamplePlace(
        type: one(["a", "b", "c"]), start: Self.moment(1), key: key)
    }
    compareTypes(query.typesLeft, of: query)
    for start in 0...4 as ClosedRange<Int64> {
      for end in start...5 {
        let found = query.covers(start: Self.moment(start), end: Self.moment(end))
        compareCover(found, start, end, from, to)
      }
    }
  }

  mutating func compareLimit(_ limit: Int) {
    compare("how many samples a page holds", limit, 10_000)
  }

  /// Compares the types that a question goes on with.
  mutating func compareTypes(_ found: [String], of query: HealthSampleQuery) {
    var left: [String] = []
    for type in query.types where !left.contains(type) { left.append(type) }
    if let after = query.after {
      while let first = left.first, first != after.type { left.removeFirst() }
    }
    compare("the types that are left of \(query)", found, left)
  }

  /// Compares whether a sample is within a time.
  mutating func compareCover(
    _ found: Bool, _ start: Int64, _ end: Int64, _ from: Int64, _ to: Int64
  ) {
    let endedEarly = end < from || (end == from && start < end)
    let isIn = from < to && start < to && !endedEarly
    compare("whether \(start) to \(end) is in \(from) to \(to)", found, isIn)
  }

  private mutating func tryOrder() {
    let words: [UInt64] = [0, 1, .max]
    let (one, two) = ([one(words), one(words)], [self.one(words), self.one(words)])
    let (left, right) = (
      HealthSampleKey(high: one[0], low: one[1]), HealthSampleKey(high: two[0], low: two[1])
    )
    compareOrder(left < right, left, right)
    let start: Int64 = self.one([.min, .min + 1, -1, 0, 1, .max])
    comparePlace(HealthPlace.before(Self.moment(start)), before: start)
    var added = HealthAddition()
    added += HealthAddition(added: 3)
    added += HealthAddition(known: 4)
    added += HealthAddition(added: 10, known: 20)
    compareSum(added)
  }

  mutating func compareOrder(
    _ found: Bool, _ left: HealthSampleKey, _ right: HealthSampleKey
  ) {
    let (one, two) = ([left.high, left.low], [right.high, right.low])
    compare("\(left) < \(right)", found, one.lexicographicallyPrecedes(two))
  }

  mutating func comparePlace(_ place: HealthPlace, before start: Int64) {
    let must = start == .min ? start : start - 1
    compare("the place before \(start)", place.start.nanoseconds, must)
    compare("the key before \(start)", place.key, HealthSampleKey(high: .max, low: .max))
  }

  /// Compares the sum of 3 that were new, 4 that were known, and 10 and 20.
  mutating func compareSum(_ found: HealthAddition) {
    compare("what was added", [found.added, found.known], [13, 24])
  }
}
