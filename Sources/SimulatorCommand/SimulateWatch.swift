import CommandKit
import HoldfastSimulator
import LinkCore
import LinkSimulator
import Synchronization

/// What ends a command of `simulate` before its runs do: a signal, and a run that takes too long.
/// What was found so far is told in each case.
final class SimulateWatch: Sendable {
  /// What the command prints while it plays.
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

  /// Plays a run of a world, which is named if it takes too long.
  func watching<Result>(_ run: String, _ play: () -> Result) -> Result {
    watchdog.watching(run, play)
  }

  /// Does work that a signal ends, after the runs that are under way; a run that goes on for more
  /// than 5 s after that, a second signal, and output that is blocked for 2 s, end the process.
  func untilStopped(
    _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    let (output, watchdog, command) = (output, watchdog, command)
    try await CommandSignals.cancelling(
      hurry: { output.abandon { CommandSignals.abandon(command) } },
      stopping: {
        output.watch()
        watchdog.stop()
      }, work)
  }
}

/// The lines of a command of `simulate`, which are whole also where it ends between them.
final class SimulateOutput: Sendable {
  /// Tells what was found so far; `nil` where all of it is told.
  private let soFar = Mutex<(@Sendable () -> Void)?>(nil)
  private let isWatched = Atomic(false)
  private let command: String

  init(of command: String) {
    self.command = command
  }

  /// From now on `tell` says what was found so far, should the process end.
  func begin(_ tell: @escaping @Sendable () -> Void) {
    soFar.withLock { $0 = tell }
  }

  /// Prints lines.
  func put(_ lines: () -> Void) {
    soFar.withLock { _ in lines() }
  }

  /// Prints a result, after which nothing is left to be told.
  func conclude(_ lines: () -> Void) {
    soFar.withLock { tell in
      tell = nil
      lines()
    }
  }

  /// From now on, output that is blocked for 2 s ends the process.
  func watch() {
    // Once, so that one thread says why.
    guard !isWatched.exchange(true, ordering: .relaxed) else { return }
    Console.watchOutput { [command] in
      Terminal.restore()
      Console.abandon("\(command): standard output is blocked; ended without writing the rest")
    }
  }

  /// Tells what was found so far, and ends the process; also where nobody reads what it prints.
  func abandon(_ end: () -> Never) {
    watch()
    soFar.withLock { tell -> Void in
      tell?()
      end()
    }
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
