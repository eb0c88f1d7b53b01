import CommandKit
import HealthRelay
import Holdfast
import LinkCore
import LinkRuntime
import LinkSimulator
import LinkWire
import MessageStream

/// `holdfast replay`: whether a recorded stream would decide the same again.
enum ReplayCommand {
  private static let journal = Parameter.operand(
    .text("JOURNAL"), "a file that `stream --journal` or `relay --journal` wrote")
  /// Divergences that are shown; what follows the first is usually its consequence.
  private static let limit = 20
  /// Letters of one side of a divergence that are shown.
  private static let width = 300

  static var command: Command {
    Command(
      "replay", "run a journal through the engine again",
      details: [
        """
        Tells a fresh engine what the recorded one was told, at the same instants, and compares \
        what both asked for. Ends with 0 when every step was the same. With --json each divergence \
        is one object (event "divergence", path, line, cause, expected, got), and the last line is \
        event "replayed" with steps, diverged and findings.
        """,
        """
        The checkers of `simulate` watch a stream's as well, as far as a phone's own journal can \
        tell: what the server accepted, and what passed between the two, is not in it.
        """,
      ],
      examples: [.init("holdfast replay stream.journal", "says how many steps, and what differs")],
      takes: journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    // Of another machine too the head can be read.
    let machine = (try? JournalReader<RelayModel>(path: call[journal]))?.header.machine
    if machine == RelayModel.journalName { try relay(call) } else { try stream(call) }
  }

  private static func relay(_ call: Invocation) throws(CommandFailure) {
    let result: Replay<RelayModel>.Result
    do {
      result = try Replay<RelayModel>.run(journal: call[journal], limit: limit) {
        try RelayModel($0)
      }
    } catch {
      throw CommandFailure(.failed, cut(error.description, to: 1_000))
    }
    for divergence in result.divergences { show(divergence, call) }
    summarize(result, [], judged: false, call)
    try conclude(result, [])
  }

  private static func stream(_ call: Invocation) throws(CommandFailure) {
    let result: Replay<StreamModel>.Result
    var recorded: Recorded<StreamFeature>?
    do {
      result = try Replay<StreamModel>.run(
        journal: call[journal], limit: limit,
        watch: { step, model in
          let input: StreamModel.Input? =
            switch step.cause {
            case .input(let input): input
            case .tick: nil
            }
          recorded?.see(input, at: step.at, effects: step.effects, then: model)
        },
        make: { header in
          let model = try StreamModel(header)
          recorded = Recorded<StreamFeature>(model)
          return model
        })
    } catch {
      throw CommandFailure(.failed, cut(error.description, to: 1_000))
    }
    for divergence in result.divergences { show(divergence, call) }
    recorded?.conclude()
    let findings = recorded?.findings ?? []
    summarize(result, findings, judged: true, call)
    try conclude(result, findings)
  }

  private static func conclude<M: Machine>(
    _ result: Replay<M>.Result, _ findings: [Finding]
  ) throws(CommandFailure) {
    guard result.diverged == 0 else {
      throw CommandFailure(
        .failed, "\(result.diverged) of \(result.steps) steps diverged",
        remedy: "replay it with the version that wrote it")
    }
    guard findings.isEmpty else {
      throw CommandFailure(
        .failed, findings.count == 1 ? "1 finding" : "\(findings.count) findings")
    }
  }

  private static func show<M: Machine>(_ divergence: Replay<M>.Divergence, _ call: Invocation) {
    let same = zip(divergence.expected, divergence.got).prefix { $0 == $1 }.count
    let cause = text(divergence.cause, of: M.self)
    let expected = text(divergence.expected.dropFirst(same), of: M.self)
    let got = text(divergence.got.dropFirst(same), of: M.self)
    guard call[Shared.json] else {
      call.console.line("\(divergence.path):\(divergence.line): \(cause)")
      call.console.line("  expected \(expected)")
      return call.console.line("  got      \(got)")
    }
    call.console.object {
      $0.key("event")
      $0.string("divergence")
      $0.key("path")
      $0.string(divergence.path)
      $0.key("line")
      $0.int(divergence.line)
      $0.key("cause")
      $0.string(cause)
      $0.key("expected")
      $0.string(expected)
      $0.key("got")
      $0.string(got)
    }
  }

  private static func summarize<M: Machine>(
    _ result: Replay<M>.Result, _ findings: [Finding], judged: Bool, _ call: Invocation
  ) {
    guard call[Shared.json] else {
      let steps = result.steps == 1 ? "1 step" : "\(result.steps) steps"
      let found = result.diverged == 0 ? "none diverged" : "\(result.diverged) diverged"
      call.console.line("\(steps), \(found)")
      return judged ? verdicts(on: findings, call.console) : ()
    }
    call.console.object {
      $0.key("event")
      $0.string("replayed")
      $0.key("steps")
      $0.int(result.steps)
      $0.key("diverged")
      $0.int(result.diverged)
      $0.key("findings")
      SimulateFormat.write(findings, to: &$0)
    }
  }

  /// Prints what was found for each promise, and which ones a journal cannot show.
  private static func verdicts(on findings: [Finding], _ console: Console) {
    var table = Table("CHECKED", "FOUND")
    for kind in StreamFeature.checkedInJournals {
      let count = findings.count { $0.kind == kind }
      table.row(kind.rawValue, count == 0 ? "nothing" : String(count))
    }
    for kind in StreamFeature.kinds where !StreamFeature.checkedInJournals.contains(kind) {
      table.row(kind.rawValue, "not checked: a journal does not tell")
    }
    console.line("")
    for line in table.lines(console.style) { console.line(line) }
    for finding in findings {
      let detail = cut(StreamText.safe(finding.detail), to: width)
      console.line("\(finding.kind.rawValue) at \(finding.at.nanoseconds) ns: \(detail)")
    }
  }

  private static func text<M: Machine>(
    _ cause: JournalStep<M>.Cause, of machine: M.Type
  ) -> String {
    switch cause {
    case .tick: "a deadline"
    case .input(let input): short(input)
    }
  }

  /// From the first effect on that differs.
  private static func text<M: Machine>(
    _ effects: ArraySlice<M.Effect>, of machine: M.Type
  ) -> String {
    effects.isEmpty ? "nothing" : cut(effects.map { short($0) }.joined(separator: ", "), to: width)
  }

  /// Without the names of modules, which say nothing here.
  private static func short(_ value: some Sendable) -> String {
    let modules = [
      "MessageStream", "HealthRelay", "LinkCore", "LinkWire", "StreamModel", "RelayModel",
      "LinkRuntime",
    ]
    let text = modules.reduce(String(describing: value)) { $0.replacing("\($1).", with: "") }
    return cut(StreamText.safe(text), to: width)
  }

  private static func cut(_ text: String, to count: Int) -> String {
    text.count <= count ? text : text.prefix(count) + "…"
  }
}
