import CommandKit

/// `holdfast simulate`: seeded worlds in place of hope.
enum SimulateCommands {
  static var command: Command {
    Command(
      "simulate", "put what a phone does into seeded worlds, and judge it",
      details: [
        """
        A world is a value: phone, network, server, users and all that goes wrong follow from one \
        seed, without a clock, and the same seed makes the same run on every machine.
        """
      ],
      commands: [
        SimulateStreamCommand.command,
        SimulateHerdCommand.command,
      ])
  }
}
