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
        SimulateRelayCommand.command,
        SimulateHerdCommand.command,
      ])
  }

  /// Told to end before everything was played.
  static let stopped = CommandFailure(.failed, "stopped before everything was played")

  /// A signal ends it after the runs that are under way.
  static func untilStopped(
    _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    let signals = CommandSignals()
    let working = Task { () -> Result<Void, CommandFailure> in
      do throws(CommandFailure) {
        return .success(try await work())
      } catch {
        return .failure(error)
      }
    }
    let listening = Task {
      for await signal in signals.stream where signal == .stop { working.cancel() }
    }
    defer {
      signals.finish()
      listening.cancel()
    }
    try await working.value.get()
  }

  /// Fails where something was found.
  static func judge(_ findings: Int) throws(CommandFailure) {
    guard findings > 0 else { return }
    throw CommandFailure(.failed, findings == 1 ? "1 finding" : "\(findings) findings")
  }
}
