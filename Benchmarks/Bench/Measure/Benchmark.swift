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
  var rounds = (quick: 7, full: 9)

  /// Which figures are good ones.
  enum Better: String, Sendable {
    case more, less
  }
}

/// One of those that are measured side by side.
struct Contender: Sendable {
  var name: String
  /// What the subject's figure divided by this one's should be: at least, or at most where less is
  /// better.
  var aim: Double?
  /// Measures once.
  var measure: @Sendable () async throws -> Double
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
  /// Why there are none.
  var obstacle: String?

  var median: Double { Statistics.median(values) }
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
