import CommandKit

/// One question, answered by a subject and by others in the same run, in turns.
struct Benchmark: Sendable {
  /// What `--only` and results call it.
  var name: String
  /// What is measured, in a line for people.
  var question: String
  /// The unit of every figure, such as `messages/s`.
  var unit: String
  var better = Better.more
  var subject: Contender
  var peers: [Contender]
  /// Turns in a quick run and in a full one.
  var rounds = (quick: 5, full: 7)

  /// Which figures are good ones.
  enum Better: String, Sendable {
    case more, less
  }
}

/// One of those that are measured side by side.
struct Contender: Sendable {
  /// What stands before the first comma or colon is enough in the README's table.
  var name: String
  /// What the subject's figure divided by this one's should be: at least, or at most where less is
  /// better.
  var aim: Double?
  /// Measures once.
  var measure: @Sendable () async throws -> Measurement

  init(
    name: String, aim: Double? = nil,
    measuring measure: @escaping @Sendable () async throws -> Measurement
  ) {
    (self.name, self.aim, self.measure) = (name, aim, measure)
  }

  /// One whose figure has nothing beside it.
  init(
    name: String, aim: Double? = nil, measure: @escaping @Sendable () async throws -> Double
  ) {
    self.init(name: name, aim: aim, measuring: { Measurement(try await measure()) })
  }
}

/// A figure, and what was counted beside it.
struct Measurement: Sendable {
  var value: Double
  /// By name, such as how many messages were lost, in the order of the table.
  var beside: [(name: String, value: Double)] = []
  /// What the figure does not say, such as what it ended by.
  var remark: String?

  init(_ value: Double, beside: [(name: String, value: Double)] = []) {
    (self.value, self.beside) = (value, beside)
  }
}

/// Why a contender cannot run here; said in the table in the place of a figure.
struct Unavailable: Error, CustomStringConvertible {
  var description: String

  init(_ reason: String) { description = reason }
}

/// Figures of one contender, in the order of the rounds.
struct Figures: Sendable {
  var name: String
  var aim: Double?
  var values: [Double] = []
  /// What was counted beside each, by name.
  var beside: [(name: String, values: [Double])] = []
  /// The remark of the last round that had one.
  var remark: String?
  /// Why there are none.
  var obstacle: String?

  var median: Double { Statistics.median(values) }

  mutating func add(_ measurement: Measurement) {
    values.append(measurement.value)
    remark = measurement.remark ?? remark
    for (name, value) in measurement.beside {
      if let place = beside.firstIndex(where: { $0.name == name }) {
        beside[place].values.append(value)
      } else {
        beside.append((name, [value]))
      }
    }
  }

  mutating func fail(_ reason: String) {
    (values, beside, remark, obstacle) = ([], [], nil, reason)
  }
}

/// Small sums over few figures.
enum Statistics {
  static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
      ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  /// The value below which this share of the sorted figures lies.
  static func quantile(_ share: Double, of values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }
}
