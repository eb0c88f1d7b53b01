import HoldfastCommandKit
import HoldfastCore
import HoldfastDriver
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastWorlds

/// The command `holdfast-sim judge`: checks the promises of a recorded run.
enum JudgeCommand {
  private static let journal = Parameter.operand(
    .text("JOURNAL"), "a file that `holdfast … --journal` wrote")
  /// The maximum number of characters of a finding that are shown.
  private static let width = 300

  static var command: Command {
    Command(
      "judge", "check the promises of a recorded run",
      details: [
        """
        Replays the recorded inputs at the recorded instants in a new engine, and checks the run \
        with the checkers of `simulate`, as far as a client's journal allows: it does not contain \
        what the server accepted, or what was in transit. Exits with 0 if nothing was found and \
        every step is as recorded; `holdfast replay` shows the steps that differ. With --json \
        one object (event "judged"): steps, diverged, findings, checked, unchecked.
        """
      ],
      examples: [.init("holdfast-sim judge stream.journal", "prints what each checker found")],
      takes: journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let path = call[journal]
    try TextFile.mustBeFile(path, option: "holdfast-sim judge")
    let (machine, result): (CheckedMachine, CheckResult)
    do throws(JournalError) {
      machine = try Self.machine(of: path)
      result = try machine.check(path)
    } catch {
      throw CommandFailure(.failed, cut(error.description, to: 1_000))
    }
    if call[Shared.json] {
      call.console.object { write(result, of: machine, to: &$0) }
    } else {
      show(result, of: machine, call.console)
    }
    guard result.diverged == 0 else {
      throw CommandFailure(
        .failed, "\(result.diverged) of \(result.steps) steps diverged",
        remedy: "see them with holdfast replay, and use the version that wrote the journal")
    }
    guard result.findings.isEmpty else {
      throw CommandFailure(.failed, SimulateCommands.counted(result.findings.count))
    }
  }

  private static func machine(of path: String) throws(JournalError) -> CheckedMachine {
    let name = try JournalFormat.machine(of: path)
    guard let machine = CheckedMachine.all.first(where: { $0.name == name }) else {
      throw JournalError(path: path, line: 1, .machine(name, known: CheckedMachine.all.map(\.name)))
    }
    return machine
  }

  private static func write(
    _ result: CheckResult, of machine: CheckedMachine, to writer: inout JSONWriter
  ) {
    writer.entry("event", "judged")
    writer.entry("steps", result.steps)
    writer.entry("diverged", result.diverged)
    writer.key("findings")
    SimulateFormat.write(result.findings, to: &writer)
    writer.entry("checked", machine.checked.map(\.rawValue))
    writer.entry("unchecked", machine.unchecked.map(\.rawValue))
  }

  /// Prints the findings of each checker, and the checkers that cannot use a journal.
  private static func show(
    _ result: CheckResult, of machine: CheckedMachine, _ console: Console
  ) {
    console.line(result.steps == 1 ? "1 step" : "\(result.steps) steps")
    console.line("")
    var table = Table("CHECKED", "FOUND")
    for kind in machine.checked {
      let count = result.findings.count { $0.kind == kind }
      table.row(kind.rawValue, count == 0 ? "nothing" : String(count))
    }
    for kind in machine.unchecked {
      table.row(kind.rawValue, "not checked: a journal has too little data")
    }
    for line in table.lines(console.style) { console.line(line) }
    for finding in result.findings {
      let detail = cut(finding.detail.printable, to: width)
      console.line("\(finding.kind.rawValue) at \(finding.at.nanoseconds) ns: \(detail)")
    }
  }

  private static func cut(_ text: String, to count: Int) -> String {
    text.count <= count ? text : text.prefix(count) + "…"
  }
}
