import CommandKit
import LinkCore

/// `holdfast policy`: the values that control links.
enum PolicyCommands {
  static var command: Command {
    Command(
      "policy", "show and check the values that control links",
      commands: [PolicyListCommand.command, PolicyShowCommand.command, PolicyCheckCommand.command])
  }
}

extension Format<LinkPolicy> {
  /// A policy by its name.
  static let preset = {
    let names = LinkPolicy.presets.map(\.name)
    return Format(
      placeholder: "NAME", expectation: "one of \(names.joined(separator: ", "))", words: names
    ) {
      LinkPolicy.preset(named: $0)
    } write: {
      $0.name
    }
  }()
}
