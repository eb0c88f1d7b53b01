import HoldfastCore
import HoldfastServerParts

/// The result of a question or a report.
enum HookResult: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
  case allowed, denied
  /// No usable answer arrived.
  case failed
  case timedOut = "timed_out"
  /// The question was not sent, because too many requests were in progress.
  case crowded
  /// The question was not sent, because too many of the user's questions were waiting.
  case limited
  case delivered
  /// The report was not sent, because too many were waiting.
  case dropped

  static func < (left: HookResult, right: HookResult) -> Bool { left.rawValue < right.rawValue }
}

/// The numbers of requests to the operator's backend, and their times.
struct HookMetrics: Sendable, Hashable {
  private struct Kind: Hashable, Comparable {
    var event: HookEvent
    var result: HookResult

    static func < (left: Kind, right: Kind) -> Bool {
      (left.event, left.result) < (right.event, right.result)
    }
  }

  private var counts: [Kind: UInt64] = [:]
  private var times: [HookEvent: Histogram] = [:]

  mutating func count(_ event: HookEvent, _ result: HookResult) {
    counts[Kind(event: event, result: result), default: 0] += 1
  }

  mutating func observe(_ event: HookEvent, _ time: Duration) {
    times[event, default: Histogram(Histogram.requests)].add(time)
  }

  func report(to page: inout MetricsPage) {
    page.many(
      "hook_requests_total", .counter, "Requests to the operator's backend, by their result.",
      counts.sorted { $0.key < $1.key }.map {
        ("event=\"\($0.key.event.rawValue)\",result=\"\($0.key.result.rawValue)\"", $0.value)
      })
    page.histograms(
      "hook_seconds", "From a request to the operator's backend to its answer.", by: "event",
      times.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 })
  }
}
