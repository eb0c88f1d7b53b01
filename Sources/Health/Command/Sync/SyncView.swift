import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastJSON
import HoldfastPorts
import HoldfastSyncData

/// The output of a sync: JSON events, lines, or a progress line on a terminal.
actor SyncView {
  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      batch (type, file, records, deletions, state queued|sending|retrying|accepted|quarantined, \
      reason), type (type, pending and quarantined in batches, synced in records since the last reset, \
      anchor), notice (kind secret-refused|secret-renewed|unreachable|source|store|divided|\
      reads-again|not-refreshed|imported|export, detail).
      """

  private let console: Console
  private let events: JSONEvents?
  private let isTerminal: Bool
  private let clock = BootClock()
  private var repeats = Repeats()
  private var types: [SyncTypeReport] = []
  /// The progress line on the terminal.
  private var bottom = ""
  /// The last line that was printed for each type, and the time of printing.
  private var printed: [String: (at: Instant, line: String)] = [:]

  init(_ call: Invocation) {
    console = call.console
    events = call[Shared.json] ? JSONEvents(call.console) : nil
    isTerminal = call.hasScreen
  }

  func show(_ update: SyncUpdate) {
    if let events { return update.write(to: events) }
    switch update {
    case .type(let report): show(report)
    case .batch(let report):
      guard let line = report.line else { return }
      put(repeats.lines([line], isNotice: true, at: clock.now))
    case .notice(let notice): note(notice.kind, notice.detail)
    }
  }

  /// Shows a notice of the command itself or of the sync.
  func note(_ kind: String, _ detail: String?) {
    if let events { return events.note(kind, detail) }
    put(repeats.lines([NoticeText.line(kind, detail)], isNotice: true, at: clock.now))
  }

  /// Shows everything that is still held back. No calls may follow.
  func end() {
    guard events == nil else { return }
    put(repeats.counted())
    if isTerminal { _ = Console.raw(Terminal.eraseLine) }
    bottom = ""
    for report in types where printed[report.type]?.line != report.line {
      console.line(report.line)
    }
  }

  private func show(_ report: SyncTypeReport) {
    if let index = types.firstIndex(where: { $0.type == report.type }) {
      types[index] = report
    } else {
      types.append(report)
    }
    guard !isTerminal else { return put([]) }
    // A line is printed only for a type that has caught up, at most once a second. `end()` prints
    // the last counts.
    guard report.pending == 0, printed[report.type]?.line != report.line else { return }
    let now = clock.now
    if let last = printed[report.type]?.at, last.duration(to: now) < .seconds(1) { return }
    printed[report.type] = (now, report.line)
    console.line(report.line)
  }

  /// Prints lines above the progress line.
  private func put(_ lines: [String]) {
    guard isTerminal else {
      for line in lines { console.diagnostic(line) }
      return
    }
    let next = String(
      types.map(\.progress).joined(separator: "  ").prefix(max(20, Terminal.width - 1)))
    guard !lines.isEmpty || next != bottom else { return }
    bottom = next
    _ = Console.raw(Terminal.eraseLine + lines.map { $0 + "\n" }.joined() + next)
  }
}

extension SyncTypeReport {
  /// The type's human-readable name.
  private var name: String { HealthCommands.short(type) }

  fileprivate var line: String {
    var line = "\(name): \(synced) synced"
    if pending > 0 { line += ", \(pending) \(pending == 1 ? "batch waits" : "batches wait")" }
    if quarantined > 0 { line += ", \(quarantined) quarantined" }
    return line
  }

  fileprivate var progress: String {
    "\(name) \(synced)" + (pending > 0 ? "+\(pending)" : "")
      + (quarantined > 0 ? "!\(quarantined)" : "")
  }
}

extension SyncBatchReport {
  /// The human-readable line about the batch; `nil` if none is printed.
  fileprivate var line: String? {
    let count = "\(records) \(records == 1 ? "sample" : "samples") of \(HealthCommands.short(type))"
    return switch state {
    case .queued, .sending, .accepted: nil
    case .retrying: NoticeText.line("retrying", "\(count): \(reason?.description ?? "")")
    case .quarantined: NoticeText.line("quarantined", "\(count): \(reason?.description ?? "")")
    }
  }
}

extension SyncBatchReport {
  /// Writes the members of a `batch` event.
  func write(to writer: inout JSONWriter) {
    writer.entry("type", SyncTypes.dataType(of: type))
    writer.entry("file", file)
    writer.entry("records", records)
    writer.entry("deletions", deletions)
    writer.entry("state", state.rawValue)
    writer.entry("reason", reason?.description)
  }
}

extension SyncTypeReport {
  /// Writes the members of a `type` event.
  func write(to writer: inout JSONWriter) {
    writer.entry("type", SyncTypes.dataType(of: type))
    writer.entry("pending", pending)
    writer.entry("quarantined", quarantined)
    writer.entry("synced", synced)
    writer.entry("anchor", anchor?.text)
  }
}

extension SyncUpdate {
  fileprivate func write(to events: JSONEvents) {
    switch self {
    case .batch(let report): events.write("batch") { report.write(to: &$0) }
    case .type(let report): events.write("type") { report.write(to: &$0) }
    case .notice(let notice): events.note(notice.kind, notice.detail)
    }
  }
}

extension SyncNotice {
  /// The stable name of the notice, for scripts.
  fileprivate var kind: String {
    switch self {
    case .secretRefused: "secret-refused"
    case .secretRenewed: "secret-renewed"
    case .unreachable: "unreachable"
    case .source: "source"
    case .store: "store"
    case .divided: "divided"
    case .readsAgain: "reads-again"
    case .notRefreshed: "not-refreshed"
    }
  }

  /// The human-readable detail of the notice. It gives types their short names.
  fileprivate var detail: String {
    switch self {
    case .source(let type, let failure): "\(HealthCommands.short(type)): \(failure.description)"
    case .secretRefused, .secretRenewed, .unreachable, .store, .divided, .readsAgain,
      .notRefreshed:
      description
    }
  }
}
