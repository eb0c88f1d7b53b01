import CommandKit
import LinkSimulator

/// `holdfast simulate`: features in seeded worlds.
enum SimulateCommands {
  static var command: Command {
    Command(
      "simulate", "play a feature in seeded worlds, and check its promises",
      details: [
        """
        A world is a value: phone, network, server, users and all that goes wrong follow from one \
        seed, without a clock, and the same seed makes the same run on every machine.
        """
      ],
      commands: Worlds.all.map { command(of: $0) } + [
        SimulateAllCommand.command,
        SimulateHerdCommand.command,
      ])
  }

  private static func command<Feature: SimulatedFeature>(of world: Feature.Type) -> Command {
    SimulateWorldCommand<Feature>.command
  }

  /// The failure of a run that a signal ended.
  static let stopped = CommandFailure(.failed, "stopped before everything was played")

  /// Does work that a signal ends, after the runs that are under way.
  static func untilStopped(
    _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    try await CommandSignals.cancelling(work)
  }

  /// Fails if something was found.
  static func conclude(_ findings: Int) throws(CommandFailure) {
    guard findings > 0 else { return }
    throw CommandFailure(.failed, findings == 1 ? "1 finding" : "\(findings) findings")
  }
}
