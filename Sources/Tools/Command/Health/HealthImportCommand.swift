import CommandKit
import Holdfast
import LinkRuntime
import LinkWire
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// `holdfast health import`: brings an export of Apple Health into the store.
enum HealthImportCommand {
  private static let file = Parameter.operand(
    Format.text("FILE"), "the zip that the phone shared, or the XML in it")

  static var command: Command {
    Command(
      "import", "import an export of Apple Health",
      details: [
        """
        Only what is new is added, however often the same or a newer export is imported. What \
        cannot be used is counted, with the reason. Ctrl-C ends it; what was imported stays. With \
        --json about once a second there is an object: event "progress", bytes, total, added, \
        known; and at the end one: event "imported", ending, samples by type, skipped by reason.
        """
      ],
      examples: [
        .init("holdfast health import export.zip", "with a bar that shows how far it is"),
        .init("holdfast health import export.xml --data /tmp/me --json", "for scripts"),
      ],
      takes: Shared.data, Shared.json, file, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let isStopped = Mutex(false)
    let signals = ServerSignals { signal in
      guard signal == .stop else { return }
      let isSecond = isStopped.withLock { isStopped in
        defer { isStopped = true }
        return isStopped
      }
      if isSecond { Console.abandon("holdfast: stopped at once") }
    }
    defer { signals.finish() }
    let view = HealthImportView(call)
    let clock = ContinuousClock()
    let start = clock.now
    let report: HealthImport.Report
    do throws(HealthImport.Failure) {
      let store = try await opened(directory)
      report = try await HealthImport.run(call[file], into: store) {
        isStopped.withLock { $0 }
      } note: { progress in
        view.show(progress, after: start.duration(to: clock.now))
      }
      await store.close()
    } catch {
      view.clear()
      throw failure(error, call[file])
    }
    view.clear()
    view.show(report, after: start.duration(to: clock.now))
    if case .damaged(let reason) = report.ending {
      throw CommandFailure(
        .failed, "\(call[file]): \(reason); what came before is imported",
        remedy: "export again on the phone and import that, which adds the rest")
    }
  }

  private static func opened(
    _ directory: String
  ) async throws(HealthImport.Failure) -> any HealthStore {
    do {
      return try await Platform.healthStore(in: directory)
    } catch {
      throw .store(error)
    }
  }

  private static func failure(_ failure: HealthImport.Failure, _ path: String) -> CommandFailure {
    switch failure {
    case .file(let reason):
      CommandFailure(
        .failed, "\(path): \(reason)",
        remedy: "give the zip from the phone: Health, profile picture, Export All Health Data")
    case .store(let failure): CommandFailure(failure)
    }
  }
}

/// What an import shows: a bar on a terminal, lines with JSON, and the counts at the end.
private struct HealthImportView: Sendable {
  private let console: Console
  private let isJSON: Bool
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  /// When something was shown last.
  private let shown = Shown()

  private final class Shown: Sendable {
    let at = Mutex(Duration.zero)
  }

  init(_ call: Invocation) {
    console = call.console
    isJSON = call[Shared.json]
  }

  /// Shows how far it is, not too often.
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
        $0.entry("bytes", progress.bytes)
        if let total = progress.total { $0.entry("total", total) }
        $0.entry("added", progress.addition.added)
        $0.entry("known", progress.addition.known)
      }
    } else {
      _ = Console.raw("\r\u{1B}[K" + bar(progress, time))
    }
  }

  func clear() {
    if isTerminal, !isJSON { _ = Console.raw("\r\u{1B}[K") }
  }

  private func bar(_ progress: HealthImport.Progress, _ time: Duration) -> String {
    let seconds = time / .seconds(1)
    let speed = HealthCommands.size(Double(progress.bytes) / max(seconds, 0.001))
    let counts = "\(progress.addition.added) new, \(progress.addition.known) known"
    guard let total = progress.total, total > 0 else {
      return "\(HealthCommands.size(Double(progress.bytes)))  \(speed)/s  \(counts)"
    }
    let share = min(1, Double(progress.bytes) / Double(total))
    let full = Int(share * 24)
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 24 - full)
    let line = "\(bar) \(Int(share * 100)) %  \(speed)/s  \(counts)"
    return String(line.prefix(max(20, StreamTerminal.width - 1)))
  }

  func show(_ report: HealthImport.Report, after time: Duration) {
    if isJSON { json(report, time) } else { text(report, time) }
  }

  private func text(_ report: HealthImport.Report, _ time: Duration) {
    let tally = report.tally
    let ending =
      switch report.ending {
      case .complete: "Imported."
      case .truncated: "Imported what there is: the end of the file is missing."
      case .stopped: "Stopped. What was imported stays; import it again to go on."
      case .damaged: "Imported up to where the file is damaged."
      }
    console.line(ending)
    let speed = Double(tally.bytes) / max(time / .seconds(1), 0.001)
    console.line(
      "\(report.addition.added) samples are new, \(report.addition.known) were known; "
        + "\(HealthCommands.size(Double(tally.bytes))) at \(HealthCommands.size(speed))/s")
    if !tally.samples.isEmpty {
      var table = Table("type", "samples")
      let types = tally.samples.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      for (type, count) in types { table.row(HealthCommands.short(type), "\(count)") }
      console.line("")
      for line in table.lines(console.style) { console.line(line) }
    }
    guard !tally.skipped.isEmpty || tally.repaired > 0 else { return }
    var table = Table("left out", "")
    for (reason, count) in tally.skipped { table.row("\(count)", reason.text) }
    if tally.repaired > 0 {
      table.row("\(tally.repaired)", "texts lost control bytes or broken UTF-8, and were kept")
    }
    console.line("")
    for line in table.lines(console.style) { console.line(line) }
  }

  private func json(_ report: HealthImport.Report, _ time: Duration) {
    let tally = report.tally
    console.object {
      $0.entry("event", "imported")
      $0.entry("ending", report.ending.word)
      $0.entry("added", report.addition.added)
      $0.entry("known", report.addition.known)
      $0.entry("bytes", tally.bytes)
      $0.entry("milliseconds", Int(time / .milliseconds(1)))
      if let version = tally.version { $0.entry("version", version) }
      if let entry = report.entry { $0.entry("entry", entry) }
      $0.entry("repaired", tally.repaired)
      $0.key("samples")
      $0.beginObject()
      for (type, count) in tally.samples.sorted(by: { $0.key < $1.key }) { $0.entry(type, count) }
      $0.endObject()
      $0.key("skipped")
      $0.beginObject()
      for (reason, count) in tally.skipped { $0.entry(reason.rawValue, count) }
      $0.endObject()
    }
  }
}

extension HealthImport.Ending {
  fileprivate var word: String {
    switch self {
    case .complete: "complete"
    case .truncated: "truncated"
    case .stopped: "stopped"
    case .damaged: "damaged"
    }
  }
}
