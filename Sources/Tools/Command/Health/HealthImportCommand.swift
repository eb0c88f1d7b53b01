import CommandKit
import Holdfast
import LinkHealth
import LinkJSON
import LinkRuntime
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// `holdfast health import`: imports an export of Apple Health into the store.
enum HealthImportCommand {
  private static let file = Parameter.operand(
    Format.text("FILE"), "the zip file from the phone, or the XML file in it")

  static var command: Command {
    Command(
      "import", "import an export of Apple Health",
      details: [
        """
        Only new samples are added, so the same or a newer export can be imported again. Samples \
        that cannot be used are counted by reason. Ctrl-C ends the import; what was imported so \
        far is kept. With --json it prints about once per second: event "progress", bytes, total, \
        added, known; and at the end: event "imported", ending, samples by type, skipped by reason.
        """
      ],
      examples: [
        .init("holdfast health import export.zip", "with a progress bar"),
        .init(
          "holdfast health import export.xml --data /tmp/me --json",
          "into another directory, for a script"),
      ],
      takes: Shared.data, Shared.json, file, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let isStopped = Mutex(false)
    let signals = CommandSignals {
      Console.abandon("\(call.command): ended immediately by a second signal")
    } stopping: {
      isStopped.withLock { $0 = true }
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
        .failed, "\(call[file]): \(reason); the samples before that place are imported",
        remedy: "export again on the phone and import that file, which adds the rest")
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
        remedy:
          "use the zip file from the phone: Health, your picture, Export All Health Data"
      )
    case .store(let failure): CommandFailure(failure)
    }
  }
}

/// The output of an import: a progress bar or JSON events, and the counts at the end.
private struct HealthImportView: Sendable {
  private let console: Console
  private let isJSON: Bool
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  /// The time of the last progress output.
  private let shown = Shown()

  private final class Shown: Sendable {
    let at = Mutex(Duration.zero)
  }

  init(_ call: Invocation) {
    console = call.console
    isJSON = call[Shared.json]
  }

  /// Shows the progress: at most once per second as JSON, and ten times as a bar.
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
    return String(line.prefix(max(20, Terminal.width - 1)))
  }

  func show(_ report: HealthImport.Report, after time: Duration) {
    if isJSON { json(report, time) } else { text(report, time) }
  }

  private func text(_ report: HealthImport.Report, _ time: Duration) {
    let tally = report.tally
    let ending =
      switch report.ending {
      case .complete: "Imported."
      case .truncated: "Imported up to where the file is cut off."
      case .stopped: "Stopped. The imported samples are kept; import the file again to continue."
      case .damaged: "Imported up to where the file is damaged."
      }
    console.line(ending)
    let speed = Double(tally.bytes) / max(time / .seconds(1), 0.001)
    console.line(
      "\(report.addition.added) samples are new, \(report.addition.known) were stored already; "
        + "\(HealthCommands.size(Double(tally.bytes))) at \(HealthCommands.size(speed))/s")
    if !tally.samples.isEmpty {
      var table = Table("type", "samples")
      let types = tally.samples.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      for (type, count) in types { table.row(HealthCommands.short(type), "\(count)") }
      console.line("")
      for line in table.lines(console.style) { console.line(line) }
    }
    guard !tally.skipped.isEmpty || tally.repaired > 0 else { return }
    var table = Table("omitted", "")
    for (reason, count) in tally.skipped { table.row("\(count)", reason.text) }
    if tally.repaired > 0 {
      table.row("\(tally.repaired)", "texts kept, without control bytes and invalid UTF-8")
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
      $0.object("samples") {
        for (type, count) in tally.samples.sorted(by: { $0.key < $1.key }) { $0.entry(type, count) }
      }
      $0.object("skipped") {
        for (reason, count) in tally.skipped { $0.entry(reason.rawValue, count) }
      }
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
