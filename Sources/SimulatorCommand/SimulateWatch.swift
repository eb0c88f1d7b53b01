import CommandKit
import HoldfastSimulator
import LinkCore
import LinkSimulator
import Synchronization

/// A watch that ends a command of `simulate` early: on a signal, or when a run takes too long.
///
/// In both cases the findings so far are printed.
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

  /// Plays a run of a world. The run is named in the failure if it takes too long.
  func watching<Result>(_ run: String, _ play: () -> Result) -> Result {
    watchdog.watching(run, play)
  }

  /// Runs work that a signal stops after the runs in progress.
  ///
  /// The process ends at once if a run continues for more than 5 s, a second signal arrives, or
  /// output is blocked for 2 s.
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

/// The output of a `simulate` command, whose lines are complete even if the process ends.
final class SimulateOutput: Sendable {
  /// Prints the findings so far; `nil` if all of them are printed.
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

  /// Prints lines.
  func put(_ lines: () -> Void) {
    soFar.withLock { _ in lines() }
  }

  /// Prints a result, after which no findings are left to print.
  func conclude(_ lines: () -> Void) {
    soFar.withLock { show in
      show = nil
      lines()
    }
  }

  /// Ends the process from now on if output is blocked for 2 s.
  func watch() {
    // This runs only once, so that only one thread prints the reason.
    guard !isWatched.exchange(true, ordering: .relaxed) else { return }
    Console.watchOutput { [command] in
      Terminal.restore()
      Console.abandon("\(command): standard output is blocked; ended without writing the rest")
    }
  }

  /// Prints the findings so far and ends the process, even if nobody reads the output.
  func abandon(_ end: () -> Never) {
    watch()
    soFar.withLock { show -> Void in
      show?()
      end()
    }
  }
}

extension CommandFailure {
  /// Creates the failure of a run that does not end.
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
