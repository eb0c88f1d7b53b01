import LinkCore

extension Metrics {
  /// The counters and the present state in the Prometheus text format, version 0.0.4.
  public func text(connections: Int, shops: Int, uptime: Duration) -> String {
    var page = MetricsPage()
    page.one("connections", .gauge, "Open sockets.", UInt64(connections))
    page.one("shops", .gauge, "Shops with an open socket.", UInt64(shops))
    page.one("uptime_seconds", .gauge, "Since the start.", UInt64(uptime.components.seconds))
    page.one("messages_accepted_total", .counter, "Messages made durable.", accepted)
    page.one("messages_repeated_total", .counter, "Posts with a known key.", repeated)
    page.one("broadcasts_total", .counter, "Messages sent to a room.", broadcasts)
    page.one("frames_total", .counter, "Message frames handed to sockets.", frames)
    page.one("upgrades_total", .counter, "Upgrades accepted.", acceptedUpgrades)
    page.many(
      "upgrades_refused_total", .counter, "Upgrades refused.",
      refusedUpgrades.sorted { $0.key < $1.key }.map { ("status=\"\($0.key)\"", $0.value) })
    page.many(
      "closes_total", .counter, "Sockets that ended, by close code.",
      closes.sorted { $0.key < $1.key }.map {
        ("code=\"\($0.key == 0 ? "other" : String($0.key))\"", $0.value)
      })
    page.many(
      "requests_total", .counter, "Requests answered.",
      answers.sorted { $0.key < $1.key }.map {
        ("route=\"\($0.key.route)\",status=\"\($0.key.status)\"", $0.value)
      })
    page.histogram(
      "request_seconds", "From a request to its answer.", bounds: Self.bounds, buckets: buckets,
      sum: latency)
    page.one("slow_readers_total", .counter, "Sockets cut for reading slowly.", slowReaders)
    page.one("silent_total", .counter, "Sockets dropped for silence.", silent)
    page.one("auth_failures_total", .counter, "Tokens missing, invalid or expired.", authFailures)
    page.one("store_failures_total", .counter, "Questions the store failed.", storeFailures)
    page.one("pings_total", .counter, "Pings sent.", pings)
    return page.text
  }
}

/// Lines of the Prometheus text format.
struct MetricsPage {
  enum Kind: String {
    case counter, gauge, histogram
  }

  private(set) var text = ""

  mutating func one(_ name: String, _ kind: Kind, _ help: String, _ value: UInt64) {
    head(name, kind, help)
    text += "holdfast_\(name) \(value)\n"
  }

  mutating func many(_ name: String, _ kind: Kind, _ help: String, _ rows: [(String, UInt64)]) {
    head(name, kind, help)
    for (labels, value) in rows {
      text += "holdfast_\(name){\(labels)} \(value)\n"
    }
  }

  mutating func histogram(
    _ name: String, _ help: String, bounds: [Int64], buckets: [UInt64], sum: Duration
  ) {
    head(name, .histogram, help)
    var count: UInt64 = 0
    for (bucket, value) in buckets.enumerated() {
      count += value
      let bound = bucket < bounds.count ? Self.seconds(milliseconds: bounds[bucket]) : "+Inf"
      text += "holdfast_\(name)_bucket{le=\"\(bound)\"} \(count)\n"
    }
    text += "holdfast_\(name)_sum \(Self.seconds(milliseconds: sum.nanoseconds / 1_000_000))\n"
    text += "holdfast_\(name)_count \(count)\n"
  }

  private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP holdfast_\(name) \(help)\n# TYPE holdfast_\(name) \(kind.rawValue)\n"
  }

  private static func seconds(milliseconds: Int64) -> String {
    let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\(milliseconds / 1_000).\(fraction)"
  }
}
