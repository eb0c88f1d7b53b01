import CommandKit

/// `holdfast policy`: the numbers that make links behave.
enum PolicyCommands {
  static var command: Command {
    Command(
      "policy", "show and check the numbers that make links behave",
      commands: [PolicyListCommand.command, PolicyShowCommand.command, PolicyCheckCommand.command])
  }
}
