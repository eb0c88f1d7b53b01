import HoldfastCommandKit

/// A measurement of a subject and of its peers, which take turns within the same run.
struct Benchmark: Sendable {
  /// The name that `--only` and the results use.
  var name: String
  /// A one-line description of the measured quantity.
  var question: String
  /// The unit of every figure, such as `messages/s`.
  var unit: String
  var better = Better.more
  var subject: Contender
  var peers: [Contender]
  /// The number of rounds in a quick run and in a full run.
  var rounds = (quick: 5, full: 7)

  /// Whether higher or lower figures are better.
  enum Better: String, Sendable {
    case more, less
  }
}

/// An implementation that takes part in a comparison.
struct Contender: Sendable {
  /// The name. The table in the documentation shows only the part before the first comma or colon.
  var name: String
  /// The required ratio of the subject's figure to this contender's figure.
  ///
  /// The ratio is a minimum, or a maximum if lower figures are better.
  var aim: Double?
  /// A function that takes one measurement.
  var measure: @Sendable () async throws -> Measurement

  init(
    name: String, aim: Double? = nil,
    measuring measure: @escaping @Sendable () async throws -> Measurement
  ) {
    (self.name, self.aim, self.measure) = (name, aim, measure)
  }

  /// Creates a contender whose measurement is a single figure.
  init(
    name: String, aim: Double? = nil, measure: @escaping @Sendable () async throws -> Double
  ) {
    self.init(name: name, aim: aim, measuring: { Measurement(try await measure()) })
  }
}

/// A figure with additional counts.
struct Measurement: Sendable {
  var value: Double
  /// The additional counts by name, such as the number of lost messages, in the order of the
  /// table's columns.
  var beside: [(name: String, value: Double)] = []
  /// A remark about the figure, such as the reason why the measurement ended.
  var remark: String?

  init(_ value: Double, beside: [(name: String, value: Double)] = []) {
    (self.value, self.beside) = (value, beside)
  }
}

/// The reason why a contender cannot run here. The table shows it instead of a figure.
struct Unavailable: Error, CustomStringConvertible {
  var description: String

  init(_ reason: String) { description = reason }
}

/// The figures of one contender, in the order of the rounds.
struct Figures: Sendable {
  var name: String
  var aim: Double?
  var values: [Double] = []
  /// The additional counts of all rounds, by name.
  var beside: [(name: String, values: [Double])] = []
  /// The remark of the last round that has one.
  var remark: String?
  /// The reason why there are no figures; `nil` if there are.
  var obstacle: String?

  var median: Double { Statistics.median(values) }

  mutating func add(_ measurement: Measurement) {
    values.append(measurement.value)
    remark = measurement.remark ?? remark
    for (name, value) in measurement.beside {
      if let index = beside.firstIndex(where: { $0.name == name }) {
        beside[index].values.append(value)
      } else {
        beside.append((name, [value]))
      }
    }
  }

  mutating func fail(_ reason: String) {
    (values, beside, remark, obstacle) = ([], [], nil, reason)
  }
}

/// Statistics of small samples.
enum Statistics {
  static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
      ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  /// Returns the value below which the given share of the figures lies.
  static func quantile(_ share: Double, of values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }
}
