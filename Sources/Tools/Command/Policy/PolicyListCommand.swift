import HoldfastCommandKit
import HoldfastCore

/// The command `holdfast policy list`: prints one line for each preset.
enum PolicyListCommand {
  /// The keys of the values that differ most between presets.
  private static let columns = ["retry.first", "retry.reconnect", "establish.timeout"]

  static var command: Command {
    Command(
      "list", "list the policies",
      examples: [
        .init("holdfast policy list", "a table"),
        .init("holdfast policy list --json", "one object per line, with every value"),
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
    call.console.table(table)
  }
}

/// The command `holdfast policy`: shows and checks the values that control links.
enum PolicyCommands {
  static var command: Command {
    Command(
      "policy", "show and check the values that control links",
      commands: [PolicyListCommand.command, PolicyShowCommand.command, PolicyCheckCommand.command])
  }
}

extension Format<LinkPolicy> {
  /// The format for the name of a preset.
  static let preset = {
    let names = LinkPolicy.presets.map(\.name)
    return Format(
      placeholder: "NAME", expectation: "one of \(names.joined(separator: ", "))", choices: names
    ) {
      LinkPolicy.preset(named: $0)
    } write: {
      $0.name
    }
  }()
}
