import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastDriver
import HoldfastWire

/// The command `holdfast replay`: checks that the recorded inputs lead to the recorded effects.
enum ReplayCommand {
  private static let journal = Parameter.operand(
    .text("JOURNAL"), "a file that `--journal` wrote")
  /// The maximum number of divergences that are shown. Later divergences usually follow from the
  /// first.
  private static let limit = 20
  /// The maximum number of characters that are shown for each side of a divergence.
  private static let width = 300

  static var command: Command {
    Command(
      "replay", "run a journal through the engine again",
      details: [
        """
        Gives a new engine the recorded inputs at the recorded instants, and compares its \
        effects with the recorded ones. Exits with 0 if every step is the same. With --json \
        each divergence is one object (event "divergence", path, line, cause, expected, got), and \
        the last line is event "replayed" with steps and diverged.
        """,
        """
        `holdfast-sim judge JOURNAL` checks the promises of the run, as far as a journal tells.
        """,
      ],
      examples: [
        .init("holdfast replay stream.journal", "prints the number of steps, and what differs")
      ],
      takes: journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    try TextFile.mustBeFile(call[journal], option: "holdfast replay")
    let outcome: ReplayOutcome
    do throws(JournalError) {
      outcome = try replay(call[journal])
    } catch {
      throw CommandFailure(.failed, cut(error.description, to: 1_000))
    }
    for divergence in outcome.divergences { show(divergence, call) }
    summarize(outcome, call)
    try conclude(outcome)
  }

  private static func replay(_ path: String) throws(JournalError) -> ReplayOutcome {
    let name = try JournalFormat.machine(of: path)
    guard let machine = JournaledMachine.all.first(where: { $0.name == name }) else {
      throw JournalError(
        path: path, line: 1, .machine(name, known: JournaledMachine.all.map(\.name)))
    }
    return try machine.replay(path, limit)
  }

  private static func conclude(_ outcome: ReplayOutcome) throws(CommandFailure) {
    guard outcome.diverged == 0 else {
      throw CommandFailure(
        .failed, "\(outcome.diverged) of \(outcome.steps) steps diverged",
        remedy: "replay it with the version that wrote it")
    }
  }

  private static func show(_ divergence: ReplayOutcome.Divergence, _ call: Invocation) {
    let cause = short(divergence.cause)
    let (expected, got) = (text(divergence.expected), text(divergence.got))
    guard call[Shared.json] else {
      call.console.line("\(divergence.path):\(divergence.line): \(cause)")
      call.console.line("  expected \(expected)")
      return call.console.line("  got      \(got)")
    }
    call.console.object {
      $0.entry("event", "divergence")
      $0.entry("path", divergence.path)
      $0.entry("line", divergence.line)
      $0.entry("cause", cause)
      $0.entry("expected", expected)
      $0.entry("got", got)
    }
  }

  private static func summarize(_ outcome: ReplayOutcome, _ call: Invocation) {
    let steps = outcome.steps == 1 ? "1 step" : "\(outcome.steps) steps"
    let found = outcome.diverged == 0 ? "none diverged" : "\(outcome.diverged) diverged"
    call.put("\(steps), \(found)", event: "replayed") {
      $0.entry("steps", outcome.steps)
      $0.entry("diverged", outcome.diverged)
    }
  }

  private static func text(_ effects: [String]) -> String {
    effects.isEmpty ? "nothing" : cut(effects.map(short).joined(separator: ", "), to: width)
  }

  /// Returns a shortened text without the names of modules and machines, which would only add
  /// noise.
  private static func short(_ text: String) -> String {
    let text = text.replacing(#/\bHoldfast\w*\./#, with: "")
    let names = JournaledMachine.all.flatMap(\.qualifiers)
    return cut(names.reduce(text) { $0.replacing("\($1).", with: "") }.printable, to: width)
  }

  private static func cut(_ text: String, to count: Int) -> String {
    text.count <= count ? text : text.prefix(count) + "…"
  }
}
