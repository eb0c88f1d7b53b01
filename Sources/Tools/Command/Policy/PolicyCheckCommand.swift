import CommandKit
import LinkCore
import LinkWire

/// `holdfast policy check`: whether a policy in a file can be used.
enum PolicyCheckCommand {
  private static let file = Parameter.operand(
    .text("FILE"), "a JSON object; - reads standard input")

  static var command: Command {
    Command(
      "check", "check a policy in a JSON file",
      details: [
        """
        The object names a preset and the keys that differ from it, with texts as values: \
        {"preset":"session","liveness.ping":"20s"}. What `policy show --json` prints is taken too.
        """
      ],
      examples: [
        .init("holdfast policy check mine.json", "says what is wrong, or what differs"),
        .init("holdfast policy show session --json | holdfast policy check -", "always valid"),
      ],
      takes: file, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let draft = try PolicyFile.read(call[file])
    do {
      let changes = try draft.changes()
      guard call[Shared.json] else {
        return call.console.line(describe(draft, changes))
      }
      call.console.object { writeValid(draft, changes, to: &$0) }
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
    writer.key("valid")
    writer.bool(true)
    writer.key("preset")
    writer.string(draft.preset.name)
    writer.key("changes")
    writer.beginObject()
    for change in changes {
      writer.key(change.key)
      writer.string(change.new)
    }
    writer.endObject()
  }

  private static func writeInvalid(_ error: PolicyError, to writer: inout JSONWriter) {
    writer.key("valid")
    writer.bool(false)
    writer.key("problems")
    writer.beginArray()
    for problem in error.problems { writer.string(problem) }
    writer.endArray()
  }
}
