import Glibc
import Holdfast
import HoldfastCommandKit
import HoldfastHealthSamples
import HoldfastJSON
import Synchronization

/// The output of an import: a progress bar or JSON events, followed by the counts.
struct HealthImportView: Sendable {
  private let console: Console
  private let isJSON: Bool
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  /// The time at which progress was last shown.
  private let shown = Shown()

  private final class Shown: Sendable {
    let at = Mutex(Duration.zero)
  }

  init(_ call: Invocation) {
    console = call.console
    isJSON = call[Shared.json]
  }

  /// Shows the progress: at most once a second as JSON, and at most ten times a second as a bar.
  func show(_ progress: HealthImport.Progress, after time: Duration) {
    guard isJSON || isTerminal else { return }
    let pause: Duration = isJSON ? .seconds(1) : .milliseconds(100)
    let isDue = shown.at.withLock { at in
      guard time - at >= pause else { return false }
      at = time
      return true
    }
    guard isDue else { return }
    if isJSON {
      console.object(isOptional: true) {
        $0.entry("event", "progress")
        $0.entry("stage", progress.stage.rawValue)
        $0.entry("bytes", progress.bytes)
        if let total = progress.total { $0.entry("total", total) }
        $0.entry("added", progress.addition.added)
        $0.entry("known", progress.addition.known)
      }
    } else {
      _ = Console.raw(Terminal.eraseLine + bar(progress, time))
    }
  }

  func clear() {
    if isTerminal, !isJSON { _ = Console.raw(Terminal.eraseLine) }
  }

  private func bar(_ progress: HealthImport.Progress, _ time: Duration) -> String {
    let seconds = time / .seconds(1)
    let speed = HealthCommands.size(Double(progress.bytes) / max(seconds, 0.001))
    let counts =
      switch progress.stage {
      case .adding: "\(progress.addition.added) new, \(progress.addition.known) known"
      case .comparing: "looking for what was deleted"
      }
    guard let total = progress.total, total > 0 else {
      return "\(HealthCommands.size(Double(progress.bytes)))  \(speed)/s  \(counts)"
    }
    let share = min(1, Double(progress.bytes) / Double(total))
    let full = Int(share * 24)
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 24 - full)
    let line = "\(bar) \(Int(share * 100)) %  \(speed)/s  \(counts)"
    return String(line.prefix(max(20, Terminal.width - 1)))
  }

  func show(_ report: HealthImport.Report, after time: Duration) {
    if isJSON { json(report, time) } else { text(report, time) }
  }

  private func text(_ report: HealthImport.Report, _ time: Duration) {
    let counts = report.counts
    let ending =
      switch report.ending {
      case .complete: "Imported."
      case .truncated: "Imported up to where the file is cut off."
      case .stopped: "Stopped. The imported samples are kept; import the file again to continue."
      case .damaged: "Imported up to where the file is damaged."
      }
    console.line(ending)
    let speed = Double(counts.bytes) / max(time / .seconds(1), 0.001)
    let added = Self.total(report, \.added)
    console.line(
      "\(added) \(added == 1 ? "sample" : "samples") added, \(Self.total(report, \.kept)) kept, "
        + "\(Self.total(report, \.removed)) removed; "
        + "\(HealthCommands.size(Double(counts.bytes))) at \(HealthCommands.size(speed))/s")
    if let reason = Self.reason(report) { console.line(reason) }
    let outdated = Self.total(report, \.outdated)
    if outdated > 0 {
      console.line(
        outdated == 1
          ? "1 sample was not added: a newer export covers its time and does not contain it. "
            + "--replace adds it, too."
          : "\(outdated) samples were not added: a newer export covers their time and does not "
            + "contain them. --replace adds them, too.")
    }
    types(report, hasOutdated: outdated > 0)
    guard !counts.skipped.isEmpty || counts.repaired > 0 else { return }
    var table = Table("omitted", "")
    for (reason, count) in counts.skipped { table.row("\(count)", reason.text) }
    if counts.repaired > 0 {
      table.row("\(counts.repaired)", "texts kept, without control bytes and invalid UTF-8")
    }
    console.line("")
    console.table(table)
  }

  /// Shows the counts of the samples of each type.
  private func types(_ report: HealthImport.Report, hasOutdated: Bool) {
    guard !report.types.isEmpty else { return }
    let isShown = { (count: (name: String, number: Int)) in hasOutdated || count.name != "outdated"
    }
    var table = Table(["type"] + report.types[0].counts.filter(isShown).map(\.name))
    for type in report.types.sorted(by: { ($1.stored, $0.type) < ($0.stored, $1.type) }) {
      table.row(
        [HealthCommands.short(type.type)] + type.counts.filter(isShown).map { "\($0.number)" })
    }
    console.line("")
    console.table(table)
  }

  /// Returns the reason why an import removed nothing, or nothing of some types, and the remedy;
  /// `nil` if there is none.
  static func reason(_ report: HealthImport.Report) -> String? {
    report.removal.reason ?? unread(report)
  }

  /// Returns the reason why a complete import removed no samples of some types, and the remedy;
  /// `nil` if there is none.
  private static func unread(_ report: HealthImport.Report) -> String? {
    guard report.removal == .incomplete, report.ending == .complete else { return nil }
    let again = "Export again on the phone and import that file."
    guard let types = report.counts.unread else {
      return "Nothing was removed: parts of the file cannot be read, and what stands in them may "
        + "still be on the phone. \(again)"
    }
    guard !types.isEmpty else {
      return "Nothing was removed: the export contains no samples. --replace removes all."
    }
    let names = types.map(HealthCommands.short).sorted().joined(separator: ", ")
    return "Of these types nothing was removed, since some of their records cannot be read: "
      + "\(names). \(again)"
  }

  private static func total(
    _ report: HealthImport.Report, _ part: KeyPath<HealthImport.TypeReport, Int>
  ) -> Int {
    report.types.reduce(0) { $0 + $1[keyPath: part] }
  }

  private func json(_ report: HealthImport.Report, _ time: Duration) {
    let counts = report.counts
    console.object {
      $0.entry("event", "imported")
      $0.entry("ending", report.ending.name)
      $0.entry("added", report.addition.added)
      $0.entry("known", report.addition.known)
      $0.entry("outdated", Self.total(report, \.outdated))
      $0.entry("bytes", counts.bytes)
      $0.entry("milliseconds", Int(time / .milliseconds(1)))
      if let version = counts.version { $0.entry("version", version) }
      if let entry = report.entry { $0.entry("entry", entry) }
      $0.entry("repaired", counts.repaired)
      $0.entry("removal", report.removal.name)
      $0.object("types") {
        for type in report.types {
          $0.object(type.type) { for count in type.counts { $0.entry(count.name, count.number) } }
        }
      }
      $0.object("samples") {
        for (type, count) in counts.samples.sorted(by: { $0.key < $1.key }) {
          $0.entry(type, count)
        }
      }
      $0.object("skipped") {
        for (reason, count) in counts.skipped { $0.entry(reason.rawValue, count) }
      }
    }
  }
}

extension HealthImport.Ending {
  fileprivate var name: String {
    switch self {
    case .complete: "complete"
    case .truncated: "truncated"
    case .stopped: "stopped"
    case .damaged: "damaged"
    }
  }
}

extension HealthImport.TypeReport {
  /// The counts, in the order in which they are shown.
  fileprivate var counts: [(name: String, number: Int)] {
    [
      ("added", added), ("kept", kept), ("repeated", repeated), ("skipped", skipped),
      ("outdated", outdated), ("removed", removed), ("stored", stored),
    ]
  }
}

extension HealthImport.Removal {
  fileprivate var name: String {
    switch self {
    case .done: "done"
    case .older: "older"
    case .undated: "undated"
    case .incomplete: "incomplete"
    case .unrepeatable: "unrepeatable"
    }
  }

  /// The reason why nothing was removed, and the remedy; `nil` if there is no such reason.
  fileprivate var reason: String? {
    switch self {
    case .done, .incomplete: nil
    case .older:
      "Nothing was removed: a newer export was imported before. --replace removes what this one "
        + "does not contain."
    case .undated:
      "Nothing was removed: the export does not say when it was written. --replace removes what "
        + "it does not contain."
    case .unrepeatable:
      "Nothing was removed, since that requires reading the file twice. Import a file, not a "
        + "pipe."
    }
  }
}
