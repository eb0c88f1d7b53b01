import HoldfastCommandKit
import HoldfastCore
import HoldfastDriver
import HoldfastJSON
import HoldfastLinkTrace

/// The command `holdfast replay`: checks that the recorded inputs lead to the recorded effects.
enum ReplayCommand {
  private static let journals = Parameter.operands(
    atLeast: 1, .text("JOURNAL"), "files that `--journal` wrote")
  private static let html = Parameter.optional(
    "html", .text("FILE"), "write a page that shows the run, with all journals on one time axis")
  private static let trace = Parameter.flag(
    "trace", "print one sentence for each event of the run")
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
        each journal ends with event "replayed" with path, steps and diverged.
        """,
        """
        With --trace, each event of the run is one line: what happened to the link and why, how \
        long each phase of an attempt took, and how the wait before the next one was computed. \
        With --json it is one object (event "fact", path, fact), as docs/trace.schema.json \
        describes it.
        """,
        """
        With --html, the page is one file that loads nothing: what happened to each link and why, \
        what was missed and fetched, and what the checkers found. It contains the texts of \
        messages that the journals contain, so only its owner can read it. Give the journals of \
        several runs of a link together, such as a.journal.old1 and a.journal: they are numbered.
        """,
        """
        `holdfast-sim judge JOURNAL` checks the promises of the run, as far as a journal tells.
        """,
      ],
      examples: [
        .init("holdfast replay stream.journal", "prints the number of steps, and what differs"),
        .init("holdfast replay --html run.html *.journal", "also writes a picture of the run"),
      ],
      takes: html, trace, Shared.json, journals, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let picture = call[html].map { JournalPicture(file: $0, journals: call[journals]) }
    for path in call[journals] { try TextFile.mustBeFile(path, option: "holdfast replay") }
    try picture?.check()
    var (steps, diverged) = (UInt64(0), UInt64(0))
    for path in call[journals] {
      let outcome = try JournaledMachine.reading { () throws(JournalError) in
        try JournaledMachine(of: path).replay(path, limit)
      }
      if call[trace] { try tell(path, call) }
      for divergence in outcome.divergences { show(divergence, call) }
      summarize(outcome, of: path, call)
      steps += outcome.steps
      diverged += outcome.diverged
    }
    try picture?.write(call)
    guard diverged == 0 else {
      throw CommandFailure(
        .failed, "\(diverged) of \(steps) steps diverged",
        remedy: "replay it with the version that wrote it")
    }
  }

  /// Prints the facts of a journal.
  private static func tell(_ path: String, _ call: Invocation) throws(CommandFailure) {
    let facts = try JournaledMachine.reading { () throws(JournalError) in
      try JournaledMachine(of: path).trace?(path, path).facts
    }
    guard let facts else {
      throw CommandFailure(
        .usage, "\(path) is a journal of a machine that has no trace", remedy: "omit --trace")
    }
    for fact in facts {
      let time = TraceWriter.seconds(fact.at)
      call.put("+\(time) s: \(fact.say.printable)", event: "fact") {
        $0.entry("path", path)
        $0.key("fact")
        $0.raw(TraceWriter.line(fact))
      }
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

  private static func summarize(
    _ outcome: ReplayOutcome, of path: String, _ call: Invocation
  ) {
    let steps = outcome.steps == 1 ? "1 step" : "\(outcome.steps) steps"
    let found = outcome.diverged == 0 ? "none diverged" : "\(outcome.diverged) diverged"
    call.put("\(path): \(steps), \(found)", event: "replayed") {
      $0.entry("path", path)
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
