import CommandKit
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

/// `holdfast replay`: whether a recorded stream would decide the same again.
enum ReplayCommand {
  private static let journal = Parameter.operand(
    .text("JOURNAL"), "a file that `stream --journal` wrote")
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
        event "replayed" with steps and diverged.
        """
      ],
      examples: [.init("holdfast replay stream.journal", "says how many steps, and what differs")],
      takes: journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let result: Replay<StreamModel>.Result
    do {
      result = try Replay<StreamModel>.run(journal: call[journal], limit: limit) {
        try StreamModel($0)
      }
    } catch {
      throw CommandFailure(.failed, cut(error.description, to: 1_000))
    }
    for divergence in result.divergences { show(divergence, call) }
    summarize(result, call)
    guard result.diverged == 0 else {
      throw CommandFailure(
        .failed, "\(result.diverged) of \(result.steps) steps diverged",
        remedy: "replay it with the version that wrote it")
    }
  }

  private static func show(_ divergence: Replay<StreamModel>.Divergence, _ call: Invocation) {
    let same = zip(divergence.expected, divergence.got).prefix { $0 == $1 }.count
    let cause = text(divergence.cause)
    let expected = text(divergence.expected.dropFirst(same))
    let got = text(divergence.got.dropFirst(same))
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

  private static func summarize(_ result: Replay<StreamModel>.Result, _ call: Invocation) {
    guard call[Shared.json] else {
      let steps = result.steps == 1 ? "1 step" : "\(result.steps) steps"
      let found = result.diverged == 0 ? "none diverged" : "\(result.diverged) diverged"
      return call.console.line("\(steps), \(found)")
    }
    call.console.object {
      $0.key("event")
      $0.string("replayed")
      $0.key("steps")
      $0.int(result.steps)
      $0.key("diverged")
      $0.int(result.diverged)
    }
  }

  private static func text(_ cause: JournalStep<StreamModel>.Cause) -> String {
    switch cause {
    case .tick: "a deadline"
    case .input(let input): short(input)
    }
  }

  /// From the first effect on that differs.
  private static func text(_ effects: ArraySlice<StreamModel.Effect>) -> String {
    effects.isEmpty ? "nothing" : cut(effects.map(short).joined(separator: ", "), to: width)
  }

  /// Without the names of modules, which say nothing here.
  private static func short(_ value: some Sendable) -> String {
    let modules = ["MessageStream", "LinkCore", "LinkWire", "StreamModel", "LinkRuntime"]
    let text = modules.reduce(String(describing: value)) { $0.replacing("\($1).", with: "") }
    return cut(StreamText.safe(text), to: width)
  }

  private static func cut(_ text: String, to count: Int) -> String {
    text.count <= count ? text : text.prefix(count) + "…"
  }
}
