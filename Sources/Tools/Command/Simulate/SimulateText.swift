import CommandKit
import LinkCore
import LinkJSON
import LinkSimulator
import LinkWire

/// What came of many runs, as tables for people and as objects for programs.
struct SimulateText {
  let request: SimulateRequest
  let summary: Summary
  let elapsed: Duration

  private var counts: Counts { summary.counts }
  private var hours: Double { counts.simulated / .seconds(3600) }
  private var seconds: Double { elapsed / .seconds(1) }
  private var speed: Double { counts.simulated / max(elapsed, .milliseconds(1)) }

  /// The seeds that failed with the commands that tell their stories.
  func failureLines(_ style: Style) -> [String] {
    var lines: [String] = []
    for outcome in summary.failures {
      lines.append(style.alarm("seed \(outcome.seed), \(outcome.server.rawValue):"))
      for finding in outcome.findings.prefix(3) {
        lines.append("  \(finding.kind.rawValue): \(finding.detail.printable)")
      }
      if outcome.findings.count > 3 { lines.append("  and \(outcome.findings.count - 3) more") }
      lines.append("  \(request.replay(outcome))")
    }
    if summary.failed > summary.failures.count {
      lines.append("and \(summary.failed - summary.failures.count) further runs that failed")
    }
    return lines
  }

  func lines(_ style: Style) -> [String] {
    var faults = Table("WHAT HAPPENED", "TIMES")
    for (name, count) in counts.actions.sorted(by: { $0.key < $1.key }) {
      faults.row(name, Self.grouped(count))
    }
    var found = Table("FOUND", "TIMES")
    for kind in Finding.Kind.allCases { found.row(kind.rawValue, Self.grouped(summary[kind])) }
    var lines = counts.actions.isEmpty ? [] : faults.lines(style) + [""]
    lines += amounts.lines(style) + [""] + found.lines(style)
    return lines
  }

  private var amounts: Table {
    var table = Table("IN ALL", "")
    table.row("runs", Self.grouped(counts.runs))
    table.row("simulated hours", Self.grouped(Int(hours)))
    table.row("messages accepted", Self.grouped(counts.accepted))
    table.row("messages shown", Self.grouped(counts.shown))
    table.row("attempts", Self.grouped(counts.attempts))
    table.row("attempts per hour wanted", counts.attemptsPerHour.map { Self.short($0) } ?? "-")
    table.row("requests", Self.grouped(counts.requests))
    table.row("kills", Self.grouped(counts.kills))
    table.row("steps", Self.grouped(counts.steps))
    table.row("wall seconds", Self.short(seconds))
    table.row("simulated seconds per second", Self.grouped(Int(speed)))
    table.row("digest", String(summary.digest, radix: 16))
    return table
  }

  /// With a thin gap before each three digits.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    let grouped = digits.indices.map { index in
      index > 0 && (digits.count - index).isMultiple(of: 3)
        ? ",\(digits[index])" : "\(digits[index])"
    }
    return (number < 0 ? "-" : "") + grouped.joined()
  }

  /// With one digit behind the point.
  static func short(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// One object for each failure that is kept, then one for all.
  func write(to console: Console) {
    for outcome in summary.failures {
      console.object { writer in
        writer.key("event")
        writer.string("failure")
        writer.key("seed")
        writer.int(outcome.seed)
        writer.key("server")
        writer.string(outcome.server.rawValue)
        writer.key("findings")
        Self.write(outcome.findings, to: &writer)
        writer.key("replay")
        writer.string(request.replay(outcome))
      }
    }
    console.object(writeSummary)
  }

  static func write(_ findings: [Finding], to writer: inout JSONWriter) {
    writer.beginArray()
    for finding in findings {
      writer.beginObject()
      writer.key("kind")
      writer.string(finding.kind.rawValue)
      writer.key("at")
      writer.double(Double(finding.at.nanoseconds / 1_000_000) / 1000)
      writer.key("detail")
      writer.string(finding.detail)
      writer.endObject()
    }
    writer.endArray()
  }

  private func writeSummary(to writer: inout JSONWriter) {
    writer.key("event")
    writer.string("summary")
    let numbers: [(String, Int)] = [
      ("runs", counts.runs), ("failed", summary.failed), ("accepted", counts.accepted),
      ("shown", counts.shown), ("attempts", counts.attempts), ("requests", counts.requests),
      ("kills", counts.kills), ("steps", counts.steps),
    ]
    for (name, number) in numbers {
      writer.key(name)
      writer.int(number)
    }
    for kind in Finding.Kind.allCases {
      writer.key(kind.rawValue)
      writer.int(summary[kind])
    }
    writer.key("faults")
    writer.beginObject()
    for (name, count) in counts.actions.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      writer.int(count)
    }
    writer.endObject()
    writer.key("simulatedHours")
    writer.double(hours)
    writer.key("attemptsPerHour")
    if let rate = counts.attemptsPerHour { writer.double(rate) } else { writer.null() }
    writer.key("digest")
    writer.string(String(summary.digest, radix: 16))
    writer.key("wallSeconds")
    writer.double(seconds)
    writer.key("simulatedSecondsPerSecond")
    writer.double(speed)
  }
}
