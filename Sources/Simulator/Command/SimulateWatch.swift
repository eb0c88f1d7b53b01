import HoldfastCommandKit
import HoldfastCore
import HoldfastLinkChecks
import HoldfastSimulator
import HoldfastWorlds
import Synchronization

/// A watch that ends a `simulate` command early, after a signal or when a run takes too long.
///
/// In both cases, the findings so far are printed.
final class SimulateWatch: Sendable {
  /// The output of the command while it plays.
  let output: SimulateOutput
  private let watchdog: RunWatchdog
  private let command: String

  init(_ call: Invocation) {
    let output = SimulateOutput(of: call.command)
    self.output = output
    command = call.command
    watchdog = RunWatchdog(limit: call[SimulateParameters.runLimit]) { run, excess in
      let failure = CommandFailure(excess, of: run)
      output.abandon {
        call.console.failure(failure, of: call.command)
        Console.end(with: failure.code)
      }
    }
  }

  /// Plays a run of a world. If the run takes too long, the failure names it.
  func watching<Result>(_ run: String, _ play: () -> Result) -> Result {
    watchdog.watching(run, play)
  }

  /// Runs work. After a signal, the work stops once the runs in progress have ended.
  ///
  /// The process ends at once if a run continues for more than 5 s, if a second signal arrives, or
  /// if output is blocked for 2 s.
  func untilStopped(
    _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    let (output, watchdog, command) = (output, watchdog, command)
    try await CommandSignals.cancelling(
      onSecondStop: { output.abandon { CommandSignals.abandon(command) } },
      stopping: {
        output.watch()
        watchdog.stop()
      }, work)
  }
}

/// The output of a `simulate` command. Its lines are complete even if the process ends early.
final class SimulateOutput: Sendable {
  /// The function that prints the findings so far; `nil` if all findings have been printed.
  private let soFar = Mutex<(@Sendable () -> Void)?>(nil)
  private let isWatched = Atomic(false)
  private let command: String

  init(of command: String) {
    self.command = command
  }

  /// Sets the function that prints the findings so far if the process ends.
  func begin(_ show: @escaping @Sendable () -> Void) {
    soFar.withLock { $0 = show }
  }

  func put(_ lines: () -> Void) {
    soFar.withLock { _ in lines() }
  }

  /// Prints a result. No findings are left to print afterwards.
  func conclude(_ lines: () -> Void) {
    soFar.withLock { show in
      show = nil
      lines()
    }
  }

  /// From now on, ends the process if output is blocked for 2 s.
  func watch() {
    // The watch is started only once, so that only one thread prints the reason.
    guard !isWatched.exchange(true, ordering: .relaxed) else { return }
    Console.watchOutput { [command] in
      Terminal.restore()
      Console.abandon("\(command): standard output is blocked; ended without writing the rest")
    }
  }

  /// Prints the findings so far and ends the process, even if the output is blocked.
  func abandon(_ end: () -> Never) {
    watch()
    soFar.withLock { show -> Void in
      show?()
      end()
    }
  }
}

extension CommandFailure {
  /// Creates the failure for a run that does not end.
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
