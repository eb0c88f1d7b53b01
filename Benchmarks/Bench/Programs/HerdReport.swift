import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastHerd
import HoldfastWire

/// The results of herds as human-readable tables and as JSON objects.
enum HerdReport {
  private static let barWidth = 32

  static func lines(_ results: [HerdResult], _ style: Style) -> [String] {
    guard let first = results.first else { return [] }
    let plan = first.plan
    let heading =
      "\(HerdText.number(plan.clients)) clients, \(plan.outage.cause.rawValue) for "
      + "\(plan.outage.length.text); \(HerdText.door(plan.door)); seed \(plan.seed)"
    let naive = results.dropFirst().compactMap { Naive(rawValue: $0.name) }
    return [heading, ""] + summary(results).lines(style)
      + naive.map { "  \($0.rawValue): \($0.likeness)" } + [""]
      + timeline(first).lines(style)
  }

  private static func summary(_ results: [HerdResult]) -> Table {
    var table = Table(
      "FLEET", "PEAK/S", "SHARE", "AFTER RETURN/S", "SHARE", "TRIES", "REFUSED", "POLLS/S",
      "50% BACK", "99%", "ALL")
    for result in results {
      let clients = result.plan.clients
      let peak = result.peak(of: \.tries).count
      let after = result.peak(of: \.tries, from: result.firstOpenSecond).count
      let total = result.total
      table.row(
        result.name, HerdText.number(peak), HerdText.share(peak, of: clients),
        HerdText.number(after), HerdText.share(after, of: clients), HerdText.number(total.tries),
        HerdText.number(total.refused), HerdText.number(result.peak(of: \.polls).count),
        time(result, 0.5), time(result, 0.99), time(result, 1))
    }
    return table
  }

  private static func time(_ result: HerdResult, _ share: Double) -> String {
    if let time = result.time(untilBack: share) { return HerdText.seconds(time) }
    return result.gaveUp > 0 ? "gave up" : "never"
  }

  private static func timeline(_ result: HerdResult) -> Table {
    let rows = result.rows()
    let most = max(1, rows.map(\.tries).max() ?? 1)
    var table = Table(
      "SECOND", "MOST TRIES/S", "", "TAKEN/S", "POLLS/S", "CONNECTED, \(result.name)")
    for row in rows {
      let isOneSecond = row.seconds.count == 1
      let span =
        isOneSecond
        ? "\(row.seconds.lowerBound)" : "\(row.seconds.lowerBound)-\(row.seconds.upperBound - 1)"
      // Rounding up makes even a single attempt visible.
      let length = (row.tries * barWidth + most - 1) / most
      table.row(
        span, HerdText.number(row.tries), String(repeating: "#", count: length),
        HerdText.number(row.accepted), HerdText.number(row.polls),
        HerdText.share(row.connected, of: result.plan.clients))
    }
    return table
  }

  static func write(_ result: HerdResult, to writer: inout JSONWriter) {
    writer.key("name")
    writer.string(result.name)
    write(result.plan, to: &writer)
    write("peak", result.peak(of: \.tries), to: &writer)
    write("peakAfter", result.peak(of: \.tries, from: result.firstOpenSecond), to: &writer)
    write("peakPolls", result.peak(of: \.polls), to: &writer)
    let total = result.total
    for (key, count) in [
      ("tries", total.tries), ("accepted", total.accepted), ("refused", total.refused),
      ("wasted", total.wasted), ("polls", total.polls), ("away", result.away),
      ("gaveUp", result.gaveUp),
    ] {
      writer.key(key)
      writer.int(count)
    }
    for (key, share) in [("back50", 0.5), ("back99", 0.99), ("backAll", 1)] {
      writer.key(key)
      if let time = result.time(untilBack: share) {
        writer.double(Double(time.nanoseconds / 1_000_000) / 1_000)
      } else {
        writer.null()
      }
    }
    writeSeconds(of: result, to: &writer)
  }

  private static func write(_ plan: HerdPlan, to writer: inout JSONWriter) {
    writer.key("clients")
    writer.int(plan.clients)
    writer.key("cause")
    writer.string(plan.outage.cause.rawValue)
    writer.key("outage")
    writer.string(plan.outage.length.text)
    writer.key("capacity")
    if let capacity = plan.door.capacity { writer.int(capacity) } else { writer.null() }
    writer.key("whenFull")
    writer.string(plan.door.whenFull.rawValue)
    writer.key("seed")
    writer.int(plan.seed)
  }

  private static func write(
    _ key: String, _ peak: (second: Int, count: Int), to writer: inout JSONWriter
  ) {
    writer.key(key)
    writer.beginObject()
    writer.key("second")
    writer.int(peak.second)
    writer.key("count")
    writer.int(peak.count)
    writer.endObject()
  }

  private static func writeSeconds(of result: HerdResult, to writer: inout JSONWriter) {
    writer.key("seconds")
    writer.beginObject()
    let columns = [
      ("tries", result.seconds.map(\.tries)), ("accepted", result.seconds.map(\.accepted)),
      ("polls", result.seconds.map(\.polls)), ("connected", result.connected),
    ]
    for (key, counts) in columns {
      writer.key(key)
      writer.beginArray()
      for count in counts { writer.int(count) }
      writer.endArray()
    }
    writer.endObject()
  }
}
