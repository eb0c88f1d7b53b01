import HoldfastCommandKit
import HoldfastCore
import HoldfastHerd

/// The results of herds as human-readable tables.
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
}
