import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastWorlds

/// The result of many runs, formatted as tables for people and as JSON objects for programs.
struct SimulateText<Feature: SimulatedFeature> {
  let request: SimulateRequest<Feature>
  let summary: RunSummary<Feature>
  let elapsed: Duration
  /// Whether the command was stopped before all runs were played.
  let isStopped: Bool

  /// The findings that the plan expects but that are missing; `nil` if no plan was played.
  private var missing: [Finding.Kind]? {
    counts.runs == 0 ? nil : request.missing(Feature.kinds.filter { summary[$0] > 0 })
  }

  private var counts: RunCounts<Feature.Counter> { summary.counts }
  private var hours: Double { counts.simulated / .seconds(3600) }
  private var seconds: Double { elapsed / .seconds(1) }
  private var speed: Double { counts.simulated / max(elapsed, .milliseconds(1)) }

  /// Returns the failed seeds, the commands that print their traces, and the missing findings.
  func failureLines(_ style: Style) -> [String] {
    var lines: [String] = []
    for outcome in summary.failures {
      lines.append(style.alarm(SimulateFormat.title(outcome) + ":"))
      for finding in outcome.findings.prefix(3) {
        lines.append("  \(finding.kind.rawValue): \(finding.detail.printable)")
      }
      if outcome.findings.count > 3 { lines.append("  and \(outcome.findings.count - 3) more") }
      lines.append("  \(request.replay(outcome))")
    }
    if summary.failed > summary.failures.count {
      lines.append("and \(summary.failed - summary.failures.count) more failed runs")
    }
    if let line = SimulateFormat.line(missing: missing ?? []) { lines.append(style.alarm(line)) }
    return lines
  }

  func lines(_ style: Style) -> [String] {
    var faults = Table("WHAT HAPPENED", "TIMES")
    for (name, count) in counts.events.sorted(by: { $0.key < $1.key }) {
      faults.row(name, SimulateFormat.grouped(count))
    }
    var found = Table("FOUND", "TIMES")
    for kind in Feature.kinds { found.row(kind.rawValue, SimulateFormat.grouped(summary[kind])) }
    var lines = counts.events.isEmpty ? [] : faults.lines(style) + [""]
    lines += amounts.lines(style) + [""] + found.lines(style)
    return lines
  }

  private var amounts: Table {
    var table = Table("IN ALL", "")
    table.row("runs", SimulateFormat.grouped(counts.runs))
    table.row("simulated hours", SimulateFormat.grouped(Int(hours)))
    for counter in Feature.Counter.allCases {
      table.row(counter.label, SimulateFormat.grouped(counts[counter]))
    }
    table.row("attempts", SimulateFormat.grouped(counts.attempts))
    table.row("attempts per hour wanted", counts.attemptsPerHour.map(SimulateFormat.short) ?? "-")
    table.row("requests", SimulateFormat.grouped(counts.requests))
    table.row("kills", SimulateFormat.grouped(counts.kills))
    table.row("steps", SimulateFormat.grouped(counts.steps))
    table.row("wall seconds", SimulateFormat.short(seconds))
    table.row("simulated seconds per second", SimulateFormat.grouped(Int(speed)))
    table.row("digest", String(summary.digest, radix: 16))
    return table
  }

  /// Prints the result as JSON objects, or as tables and failures. The tables are omitted if a plan
  /// is to be shrunk.
  func show(_ call: Invocation) {
    var console = call.console
    if !summary.isClean { console.endsWhenClosed = .failed }
    guard !call[Shared.json] else { return write(to: console) }
    let failures = failureLines(console.style)
    if !call[SimulateParameters.shrink] || summary.isClean {
      for line in lines(console.style) + (failures.isEmpty ? [] : [""]) { console.line(line) }
    }
    for line in failures { console.line(line) }
  }

  /// Writes one object for each stored failure and one object for the summary.
  private func write(to console: Console) {
    for outcome in summary.failures {
      console.object { writer in
        writer.key("event")
        writer.string("failure")
        SimulateFormat.write(outcome, to: &writer)
        writer.key("replay")
        writer.string(request.replay(outcome))
      }
    }
    console.object(writeSummary)
  }

  private func writeSummary(to writer: inout JSONWriter) {
    writer.key("event")
    writer.string("summary")
    writer.key("stopped")
    writer.bool(isStopped)
    let own = Feature.Counter.allCases.map { ($0.rawValue, counts[$0]) }
    let numbers =
      [("runs", counts.runs), ("failed", summary.failed)] + own + [
        ("attempts", counts.attempts), ("requests", counts.requests), ("kills", counts.kills),
        ("steps", counts.steps),
      ]
    for (name, number) in numbers {
      writer.key(name)
      writer.int(number)
    }
    for kind in Feature.kinds {
      writer.key(kind.rawValue)
      writer.int(summary[kind])
    }
    if let missing { SimulateFormat.write(missing: missing, to: &writer) }
    writer.key("faults")
    writer.beginObject()
    for (name, count) in counts.events.sorted(by: { $0.key < $1.key }) {
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
