import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON

/// The command `holdfast policy check`: validates a policy file.
enum PolicyCheckCommand {
  private static let file = Parameter.operand(
    .text("FILE"), "the JSON file; - reads standard input")

  static var command: Command {
    Command(
      "check", "validate a policy in a JSON file",
      details: [
        """
        The file contains one object with a preset and the keys that differ from it; the values \
        are strings: {"preset":"session","liveness.ping":"20s"}. The output of \
        `policy show --json` is valid too.
        """
      ],
      examples: [
        .init(
          "holdfast policy check mine.json", "show the errors, or the differences from the preset"),
        .init("holdfast policy show session --json | holdfast policy check -", "always valid"),
      ],
      takes: file, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let draft = try PolicyFile.read(call[file])
    do {
      let changes = try draft.changes()
      call.put(describe(draft, changes)) { writeValid(draft, changes, to: &$0) }
    } catch {
      if call[Shared.json] { call.console.object { writeInvalid(error, to: &$0) } }
      throw CommandFailure(
        .failed, "\(draft.name): " + error.problems.joined(separator: "; "))
    }
  }

  private static func describe(_ draft: PolicyFile, _ changes: [PolicyFile.Change]) -> String {
    let differences = changes.map { "\n  \($0.key): \($0.old) -> \($0.new)" }.joined()
    let number = changes.isEmpty ? "no" : String(changes.count)
    let noun = changes.count == 1 ? "difference" : "differences"
    return "\(draft.name): valid, \(draft.preset.name) with \(number) \(noun)\(differences)"
  }

  private static func writeValid(
    _ draft: PolicyFile, _ changes: [PolicyFile.Change], to writer: inout JSONWriter
  ) {
    writer.entry("valid", true)
    writer.entry("preset", draft.preset.name)
    writer.object("changes") { for change in changes { $0.entry(change.key, change.new) } }
  }

  private static func writeInvalid(_ error: PolicyError, to writer: inout JSONWriter) {
    writer.entry("valid", false)
    writer.entry("problems", error.problems)
  }
}
