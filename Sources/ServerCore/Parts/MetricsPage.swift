import HoldfastCore

/// The metrics of a backend in the Prometheus text format, version 0.0.4.
///
/// Names follow the conventions of Prometheus: units are base units, and names of counters end with
/// `_total`.
public struct MetricsPage: Sendable {
  enum Kind: String {
    case counter, gauge, histogram
  }

  /// The request counts of all routes. They share one family of metrics.
  public var requests = RequestCounts()
  private var lines = ""

  /// Creates an empty page.
  public init() {}

  /// The text of the page.
  public var text: String {
    var page = self
    page.many(
      "requests_total", .counter, "Requests answered.",
      requests.answers.sorted { $0.key < $1.key }.map {
        ("route=\"\($0.key.route)\",status=\"\($0.key.status)\"", $0.value)
      })
    page.histogram(
      "request_seconds", "From a request to its answer.", bounds: RequestCounts.bounds,
      buckets: requests.buckets, sum: requests.latency)
    return page.lines
  }

  mutating func one(_ name: String, _ kind: Kind, _ help: String, _ value: UInt64) {
    head(name, kind, help)
    lines += "holdfast_\(name) \(value)\n"
  }

  mutating func many(_ name: String, _ kind: Kind, _ help: String, _ rows: [(String, UInt64)]) {
    head(name, kind, help)
    for (labels, value) in rows {
      lines += "holdfast_\(name){\(labels)} \(value)\n"
    }
  }

  /// Adds counters from a table of names (without the suffix `_total`), help texts and values.
  mutating func counters<Values>(
    of values: Values, _ table: [(name: String, help: String, value: KeyPath<Values, UInt64>)]
  ) {
    for row in table { one("\(row.name)_total", .counter, row.help, values[keyPath: row.value]) }
  }

  /// Adds counters with a label, sorted by the value of the label.
  mutating func counters<Value: Comparable>(
    _ name: String, _ help: String, by label: String, _ counts: [Value: UInt64]
  ) {
    many(
      "\(name)_total", .counter, help,
      counts.sorted { $0.key < $1.key }.map { ("\(label)=\"\($0.key)\"", $0.value) })
  }

  mutating func histogram(
    _ name: String, _ help: String, bounds: [Int64], buckets: [UInt64], sum: Duration
  ) {
    head(name, .histogram, help)
    var count: UInt64 = 0
    for (bucket, value) in buckets.enumerated() {
      count += value
      let bound = bucket < bounds.count ? Self.seconds(milliseconds: bounds[bucket]) : "+Inf"
      lines += "holdfast_\(name)_bucket{le=\"\(bound)\"} \(count)\n"
    }
    lines += "holdfast_\(name)_sum \(Self.seconds(milliseconds: sum.nanoseconds / 1_000_000))\n"
    lines += "holdfast_\(name)_count \(count)\n"
  }

  private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
    lines += "# HELP holdfast_\(name) \(help)\n# TYPE holdfast_\(name) \(kind.rawValue)\n"
  }

  private static func seconds(milliseconds: Int64) -> String {
    let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\(milliseconds / 1_000).\(fraction)"
  }
}

/// The number of answered requests by route and status, and their latencies.
public struct RequestCounts: Sendable, Hashable, Codable {
  struct Answered: Hashable, Comparable, Codable {
    var route: String
    var status: Int

    static func < (left: Answered, right: Answered) -> Bool {
      (left.route, left.status) < (right.route, right.status)
    }
  }

  /// The upper bounds of the latency buckets, in milliseconds. The last bucket has no bound.
  static let bounds: [Int64] = [5, 25, 100, 500, 2_500]

  private(set) var answers: [Answered: UInt64] = [:]
  private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
  private(set) var latency = Duration.zero

  /// Creates a value in which all counts are zero.
  public init() {}

  /// Counts a request that was answered `time` after its arrival.
  public mutating func answered(_ route: String, status: Int, after time: Duration) {
    answers[Answered(route: route, status: status), default: 0] += 1
    latency += time
    let milliseconds = time.nanoseconds / 1_000_000
    let bucket = Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count
    buckets[bucket] += 1
  }

  /// Adds the counts of another instance.
  public mutating func add(_ other: RequestCounts) {
    answers.merge(other.answers) { $0 + $1 }
    for bucket in buckets.indices { buckets[bucket] += other.buckets[bucket] }
    latency += other.latency
  }
}
