import HoldfastCore

/// The metrics of a backend in the Prometheus text format, version 0.0.4.
///
/// Names follow the conventions of Prometheus: units are base units, and names of counters end with
/// `_total`.
public struct MetricsPage: Sendable {
  package enum Kind: String {
    case counter, gauge, histogram
  }

  /// A configured maximum, and how much of it is used.
  private struct Use {
    var ceiling: Ceiling
    var limit: Int
    var used: Int
  }

  /// The request counts of all routes. They share one family of metrics.
  public var requests = RequestCounts()
  /// The refusals of all services, likewise.
  public var refusals = RefusalCounts()
  /// The times of the commits by service, likewise.
  public var commits: [String: Histogram] = [:]
  private var uses: [Use] = []
  private var lines = ""

  /// Creates an empty page.
  public init() {}

  /// The text of the page.
  public var text: String {
    var page = self
    let routes = requests.routes.sorted { $0.key < $1.key }
    page.many(
      "requests_total", .counter, "Requests answered.",
      routes.flatMap { route in
        route.value.answers.sorted { $0.key < $1.key }.map {
          ("route=\"\(route.key)\",status=\"\($0.key)\"", $0.value)
        }
      })
    page.histograms(
      "request_seconds", "From a request to its answer, or to the start of a streamed one.",
      by: "route", routes.map { ($0.key, $0.value.times) })
    page.histograms(
      "store_commit_seconds", "Time in which a store made changes durable.", by: "service",
      commits.sorted { $0.key < $1.key })
    page.counters(
      "refusals", "Clients, requests and connections refused.", by: "reason",
      refusals.byName)
    page.many(
      "ceiling", .gauge, "Configured maximum.",
      uses.map { ("ceiling=\"\($0.ceiling.rawValue)\"", UInt64(max($0.limit, 0))) })
    page.many(
      "ceiling_used", .gauge,
      "Used of the maximum; of one per user or address, by the one that uses most.",
      uses.map { ("ceiling=\"\($0.ceiling.rawValue)\"", UInt64(max($0.used, 0))) })
    return page.lines
  }

  /// Adds the version of the backend and whether it is ready.
  public mutating func describe(version: String, isReady: Bool) {
    many(
      "build_info", .gauge, "Version of the program; the value is 1.",
      [("version=\"\(Self.label(version))\"", 1)])
    one("ready", .gauge, "Whether the backend accepts work (1), as /readyz says.", isReady ? 1 : 0)
  }

  /// Adds a configured maximum and how much of it is used.
  public mutating func use(of ceiling: Ceiling, _ used: Int, of limit: Int) {
    uses.append(Use(ceiling: ceiling, limit: limit, used: used))
  }

  package mutating func one(
    _ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger
  ) {
    head("holdfast_\(name)", kind, help)
    lines += "holdfast_\(name) \(value)\n"
  }

  /// Adds a metric whose name every Prometheus client uses.
  package mutating func standard(_ name: String, _ kind: Kind, _ help: String, _ value: String) {
    head(name, kind, help)
    lines += "\(name) \(value)\n"
  }

  package mutating func many(
    _ name: String, _ kind: Kind, _ help: String, _ rows: [(String, UInt64)]
  ) {
    head("holdfast_\(name)", kind, help)
    for (labels, value) in rows {
      lines += "holdfast_\(name){\(labels)} \(value)\n"
    }
  }

  /// Adds counters from a table of names (without the suffix `_total`), help texts and values.
  package mutating func counters<Values>(
    of values: Values, _ table: [(name: String, help: String, value: KeyPath<Values, UInt64>)]
  ) {
    for row in table { one("\(row.name)_total", .counter, row.help, values[keyPath: row.value]) }
  }

  /// Adds counters with a label, sorted by the value of the label.
  package mutating func counters<Value: Comparable>(
    _ name: String, _ help: String, by label: String, _ counts: [Value: UInt64]
  ) {
    many(
      "\(name)_total", .counter, help,
      counts.sorted { $0.key < $1.key }.map { ("\(label)=\"\($0.key)\"", $0.value) })
  }

  /// Adds a histogram for each value of a label.
  package mutating func histograms(
    _ name: String, _ help: String, by label: String, _ rows: [(String, Histogram)]
  ) {
    head("holdfast_\(name)", .histogram, help)
    for (value, histogram) in rows {
      let labels = "\(label)=\"\(value)\""
      var count: UInt64 = 0
      for (bucket, value) in histogram.buckets.enumerated() {
        count += value
        let isLast = bucket == histogram.bounds.count
        let bound = isLast ? "+Inf" : Self.seconds(histogram.bounds[bucket])
        lines += "holdfast_\(name)_bucket{\(labels),le=\"\(bound)\"} \(count)\n"
      }
      lines += "holdfast_\(name)_sum{\(labels)} \(Self.seconds(histogram.sum))\n"
      lines += "holdfast_\(name)_count{\(labels)} \(count)\n"
    }
  }

  private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
    lines += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// Returns a text as the value of a label, with the escapes of the format.
  public static func label(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("\n", with: "\\n")
  }

  /// Returns a duration in seconds, with at most six decimal places and no zeros at the end.
  package static func seconds(_ duration: Duration) -> String {
    let microseconds = max(duration.nanoseconds, 0) / 1_000
    let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    guard rest > 0 else { return String(whole) }
    var fraction = String(String(rest + 1_000_000).dropFirst())
    while fraction.last == "0" { fraction.removeLast() }
    return "\(whole).\(fraction)"
  }
}
