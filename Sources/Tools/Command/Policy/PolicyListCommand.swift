import CommandKit
import LinkCore

/// `holdfast policy list`: every preset in a line.
enum PolicyListCommand {
  /// The numbers that tell presets apart best.
  private static let columns = ["retry.first", "retry.reconnect", "establish.timeout"]

  static var command: Command {
    Command(
      "list", "name every policy there is",
      examples: [
        .init("holdfast policy list", "a table"),
        .init("holdfast policy list --json", "one object a line, with every number"),
      ],
      takes: Shared.json, action: run)
  }

  private static func run(_ call: Invocation) {
    guard !call[Shared.json] else {
      for policy in LinkPolicy.presets {
        call.console.object { PolicyText.values(of: policy, to: &$0) }
      }
      return
    }
    var table = Table("NAME", "FIRST", "RECONNECT", "ESTABLISHED WITHIN")
    for policy in LinkPolicy.presets {
      let cells = columns.map { key in
        policy.values.first { $0.key == key }?.value ?? ""
      }
      table.row(policy.name, cells[0], cells[1], cells[2])
    }
    for line in table.lines(call.console.style) { call.console.line(line) }
  }
}
