import HoldfastCore

/// The totals of the samples of one type and one source in one span.
struct Cell: Sendable, Hashable {
  var type: Int
  var source: Int
  var bucket: Bucket
  /// The part of all days that the cell covers, such as all Mondays.
  var part: CalendarPart?
  /// The kind of workout.
  var activity: String?
  /// The sums. They are a single number, the four numbers of a meal, or the distance, energy, steps
  /// and minutes of a workout.
  var sums = SIMD4<Double>.zero
  /// The number of samples in each sum. Every workout counts in the minutes.
  var counts = SIMD4<Double>.zero
  /// The average over time of the values, or of the heart rates during the workouts.
  var held = HeldAverage()
  /// The times of the workouts.
  var sessions: [Range<Timestamp>] = []
  /// The start and end of the last sample, or of the longest or shortest workout.
  var latest: Range<Timestamp>?
  /// Whether the figure compares days, and only days that are not whole have data.
  var isOfPartialDays = false

  /// Whether all sums are finite. Sums above about 1.8e308 are infinite.
  var isFinite: Bool { sums - sums == .zero }

  /// Adds a value in the way that the figure requires. For figures that compare days, values are
  /// summed.
  mutating func take(_ value: Double, at index: Int = 0, for figure: Figure) {
    defer { counts[index] += 1 }
    switch figure {
    case .sum, .average, .averageOverTime, .averagePerDay, .minPerDay, .maxPerDay, .averagePerNight,
      .minPerNight,
      .maxPerNight:
      sums[index] += value
    case .min: sums[index] = counts[index] == 0 ? value : Swift.min(sums[index], value)
    case .max: sums[index] = counts[index] == 0 ? value : Swift.max(sums[index], value)
    // Samples arrive in chronological order.
    case .latest, .shortest, .longest: sums[index] = value
    case .count: break
    }
  }
}

/// The cells of an answer: one for each combination of type, source, kind of workout and span that
/// has samples.
///
/// There are at most `limit` cells. If the limit is reached, the caller shortens the answer.
struct Cells: Sendable {
  private(set) var all: [Cell] = []
  private let limit: Int
  private var indices: [Key: Int] = [:]
  /// The index of the last cell of each source of the current type. Samples arrive in chronological
  /// order.
  private var latest: [Int] = []
  private var latestType = 0

  private struct Key: Hashable {
    var type: Int
    var source: Int
    var start: Timestamp
    var activity: String?
  }

  init(limit: Int) {
    self.limit = limit
  }

  /// Changes one cell. Returns false and changes nothing if there is no room for the cell.
  mutating func update(
    type: Int, source: Int, bucket: Bucket, activity: String? = nil,
    _ change: (inout Cell) -> Void
  ) -> Bool {
    guard let index = index(type: type, source: source, bucket: bucket, activity) else {
      return false
    }
    change(&all[index])
    return true
  }

  /// Changes the cell at an index.
  mutating func update(at index: Int, _ change: (inout Cell) -> Void) { change(&all[index]) }

  private mutating func index(
    type: Int, source: Int, bucket: Bucket, _ activity: String?
  ) -> Int? {
    if type != latestType {
      latestType = type
      latest.removeAll()
    }
    while latest.count <= source { latest.append(-1) }
    if latest[source] >= 0, all[latest[source]].bucket.start == bucket.start,
      all[latest[source]].activity == activity
    {
      return latest[source]
    }
    let key = Key(type: type, source: source, start: bucket.start, activity: activity)
    if let known = indices[key] {
      latest[source] = known
      return known
    }
    guard all.count < limit else { return nil }
    all.append(Cell(type: type, source: source, bucket: bucket, activity: activity))
    indices[key] = all.count - 1
    latest[source] = all.count - 1
    return all.count - 1
  }

  /// The start of the second half of the spans, or `nil` if there is only one span.
  var middle: Timestamp? {
    let starts = all.map(\.bucket.start).sorted()
    guard let first = starts.first else { return nil }
    let middle = starts[starts.count / 2]
    return middle > first ? middle : starts.first { $0 > first }
  }

  /// Removes the spans that begin at `cut` or later.
  mutating func drop(from cut: Timestamp) {
    all.removeAll { $0.bucket.start >= cut }
    indices.removeAll()
    latest.removeAll()
    for (index, cell) in all.enumerated() {
      let key = Key(
        type: cell.type, source: cell.source, start: cell.bucket.start, activity: cell.activity)
      indices[key] = index
    }
  }
}

/// The sources of an answer. Each source has a number.
struct Sources: Sendable {
  /// The number of the values that are merged from all sources.
  static let merged = 0
  /// The number of the values of all sources together, which are not merged by time.
  static let all = 1
  private(set) var names: [String?] = ["merged", "all"]
  private var numbers: [String: Int] = [:]
  private var none: Int?
  private var latest: (name: String, number: Int)?

  /// Returns the name of a sample's source: the first of `source` and `device` that is not blank.
  static func name(_ source: String, device: String?) -> String? {
    [source, device ?? ""].first { name in
      name.unicodeScalars.contains { !$0.properties.isWhitespace }
    }
  }

  /// Returns the number of a sample's source.
  mutating func number(_ source: String, device: String?) -> Int {
    if let latest, latest.name == source { return latest.number }
    guard let found = Self.name(source, device: device) else { return blank() }
    let number = numbers[found] ?? names.count
    if number == names.count {
      names.append(found)
      numbers[found] = number
    }
    if found == source { latest = (source, number) }
    return number
  }

  private mutating func blank() -> Int {
    if let none { return none }
    names.append(nil)
    none = names.count - 1
    return names.count - 1
  }
}
