import CommandKit
import HoldfastTestKit
import LinkCore
import LinkSimulator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

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
        BottleCostCommand.command,
      ])
  }

  private static func command<Feature: SimulatedFeature>(of world: Feature.Type) -> Command {
    SimulateWorldCommand<Feature>.command
  }

  /// Returns the failure of a run that a signal ended.
  static func stopped(_ findings: Int = 0) -> CommandFailure {
    let found = findings > 0 ? "\(counted(findings)); " : ""
    return CommandFailure(.failed, found + "stopped before everything was played")
  }

  private static func counted(_ findings: Int) -> String {
    findings == 1 ? "1 finding" : "\(findings) findings"
  }

  /// Does work that a signal ends, after the runs that are under way; a run that goes on for more
  /// than 5 s after that, and a second signal, end the process.
  static func untilStopped(
    _ watchdog: RunWatchdog, _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    try await CommandSignals.cancelling(
      hurry: { _exit(stopped().code.rawValue) }, stopping: { watchdog.stop() }, work)
  }

  /// Returns a watch that ends the process when a run of a world takes too long.
  static func watchdog(of world: String, _ call: Invocation) -> RunWatchdog {
    RunWatchdog(limit: call[SimulateParameters.runLimit]) { run, excess in
      let failure = CommandFailure(excess, of: "\(world), \(run)")
      call.console.failure(failure, of: call.command)
      _exit(failure.code.rawValue)
    }
  }

  /// Fails if something was found, or not everything was played.
  static func conclude(_ findings: Int) throws(CommandFailure) {
    guard !Task.isCancelled else { throw stopped(findings) }
    guard findings > 0 else { return }
    throw CommandFailure(.failed, counted(findings))
  }
}

extension CommandFailure {
  /// The failure of a run that does not end.
  fileprivate init(_ excess: RunWatchdog.Excess, of run: String) {
    switch excess {
    case .tooLong(let limit):
      self.init(
        .failed, "\(run): the run takes longer than \(limit.text)",
        remedy: "attach a debugger to see where it spins, or allow more with --run-limit")
    case .notStopped(let grace):
      self.init(
        .failed, "stopped; \(run): the run under way did not end within \(grace.text)")
    }
  }
}
