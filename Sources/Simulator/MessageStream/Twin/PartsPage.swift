import LinkCore
import LinkServerCore

/// The text of a page of metrics, told a second time: the Prometheus text format 0.0.4.
struct PartsPage {
  /// An answer of some route.
  struct Answer: Sendable {
    var route: String
    var status: Int
    var time: Duration
  }

  private(set) var text = ""

  /// Writes a number that has no labels.
  mutating func add(_ name: String, _ kind: String, _ help: String, _ value: UInt64) {
    add(name, kind, help, [("", value)])
  }

  /// Writes the numbers of one name, each with its labels.
  mutating func add(_ name: String, _ kind: String, _ help: String, _ rows: [(String, UInt64)]) {
    text += "# HELP holdfast_\(name) \(help)\n"
    text += "# TYPE holdfast_\(name) \(kind)\n"
    for (labels, value) in rows {
      text += "holdfast_" + name + (labels == "" ? "" : "{" + labels + "}") + " \(value)\n"
    }
  }

  /// Writes what stands at the end of each page: the answers of all services.
  mutating func add(_ answers: [Answer]) {
    var rows: [(labels: String, count: UInt64)] = []
    let ordered = answers.sorted {
      $0.route == $1.route ? $0.status < $1.status : $0.route < $1.route
    }
    for answer in ordered {
      let labels = "route=\"\(answer.route)\",status=\"\(answer.status)\""
      if rows.last?.labels == labels { rows.removeLast() }
      let count = answers.count { $0.route == answer.route && $0.status == answer.status }
      rows.append((labels, UInt64(count)))
    }
    add("requests_total", "counter", "Requests answered.", rows.map { ($0.labels, $0.count) })
    let times = answers.map { $0.time.nanoseconds / 1_000_000 }
    let bounds: [(String, Int64)] = [
      ("0.005", 5), ("0.025", 25), ("0.100", 100), ("0.500", 500), ("2.500", 2_500),
      ("+Inf", .max),
    ]
    add(
      "request_seconds", "histogram", "From a request to its answer.",
      [(String, UInt64)]())
    for (name, bound) in bounds {
      let count = times.count { $0 <= bound }
      text += "holdfast_request_seconds_bucket{le=\"\(name)\"} \(count)\n"
    }
    let sum = answers.reduce(Int64(0)) { $0 + $1.time.nanoseconds } / 1_000_000
    let digits = String(sum % 1_000)
    let zeros = String(of: "0", count: 3 - digits.count)
    text += "holdfast_request_seconds_sum \(sum / 1_000).\(zeros)\(digits)\n"
    text += "holdfast_request_seconds_count \(answers.count)\n"
  }
}
