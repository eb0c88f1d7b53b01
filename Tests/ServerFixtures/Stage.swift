package import HoldfastCore
package import HoldfastServerParts

/// Fixtures for the tests of all servers.
package enum Stage {
  /// 2026-01-02T03:04:05Z, the wall time of instant 0.
  package static let dawn = Timestamp(nanoseconds: 1_767_323_045_000_000_000)
}

extension ServerRules {
  /// The metrics page of this service alone.
  package var metricsText: String {
    var page = MetricsPage()
    report(to: &page)
    return page.text
  }

  /// Returns what the metrics tell of a ceiling: its value, how much of it is used, and how many
  /// requests it has refused; `nil` for each line that is missing.
  package func ceiling(_ name: String) -> (value: Int?, used: Int?, refusals: Int?) {
    let lines = metricsText.split(separator: "\n")
    func value(_ start: String) -> Int? {
      lines.first { $0.hasPrefix(start) }.flatMap { Int($0.dropFirst(start.count)) }
    }
    return (
      value("holdfast_ceiling{ceiling=\"\(name)\"} "),
      value("holdfast_ceiling_used{ceiling=\"\(name)\"} "),
      value("holdfast_refusals_total{reason=\"\(name)\"} ")
    )
  }
}
