import Glibc
import HoldfastChildProcesses
import HoldfastCommandKit
import Synchronization

/// A run of a shell command in its own process group, which is killed as a whole.
final class ShellRun: Sendable {
  static let maxBytes = 65_536

  /// The way in which a run ended.
  enum Ending {
    case exited(Int32, output: [UInt8])
    case killed(signal: Int32)
    /// The run exceeded its time limit and was killed.
    case late(after: Duration)
    /// The run was cancelled. If it had already started, it was killed.
    case cancelled
    /// The command printed more than `maxBytes` bytes and was killed.
    case tooMuchOutput
    /// The command could not be started. The value is the system's error number.
    case failed(Int32)
  }

  private enum State {
    case new
    case running(ChildProcess)
    case over
    case cancelled
  }

  private let state = Mutex(State.new)

  /// Runs `command` and waits for its end, blocking the calling thread.
  func ending(of command: String, within limit: Duration) -> Ending {
    do {
      let pipe = try Pipe()
      defer { close(pipe.reading) }
      let begin = ContinuousClock.now
      let started = Result { () throws(ChildFailure) in
        try start(command, writingTo: pipe.writing)
      }
      close(pipe.writing)
      return ending(of: try started.get(), reading: pipe.reading, since: begin, within: limit)
    } catch {
      return isCancelled ? .cancelled : .failed(error.code)
    }
  }

  private var isCancelled: Bool {
    state.withLock { if case .cancelled = $0 { true } else { false } }
  }

  /// Kills the run or, if it has not started yet, prevents it from starting.
  func cancel() {
    state.withLock { state in
      switch state {
      case .running(let child): child.signal(SIGKILL)
      case .new, .cancelled: break
      case .over: return
      }
      state = .cancelled
    }
  }

  /// Starts the shell with an empty standard input. The shell shares the standard error of this
  /// process.
  private func start(
    _ command: String, writingTo output: Int32
  ) throws(ChildFailure) -> ChildProcess {
    var launch = ChildLaunch("/bin/sh", ["sh", "-c", command])
    launch.output = output
    launch.error = STDERR_FILENO
    launch.leadsGroup = true
    return try state.withLock { state throws(ChildFailure) in
      guard case .new = state else { throw ChildFailure(code: ECANCELED) }
      let child = try ChildProcess(launch)
      state = .running(child)
      return child
    }
  }

  private func ending(
    of child: ChildProcess, reading descriptor: Int32, since begin: ContinuousClock.Instant,
    within limit: Duration
  ) -> Ending {
    let end = begin + limit
    let (output, outputEnding) = DescriptorInput.read(
      descriptor, atMost: Self.maxBytes, until: end)
    var ending: ChildProcess.Ending?
    var isTooLong = false
    switch outputEnding {
    case .end, .failed: ending = child.wait(atMost: ContinuousClock.now.duration(to: end))
    case .late: break
    case .tooLong: isTooLong = true
    }
    guard let ending else {
      // This also kills the command's children. Only a process that is blocked in the kernel
      // survives.
      child.signal(SIGKILL)
      child.wait(atMost: .seconds(1))
      if isCancelled { return .cancelled }
      return isTooLong ? .tooMuchOutput : .late(after: begin.duration(to: .now))
    }
    let wasCancelled = state.withLock { state in
      if case .cancelled = state { return true }
      state = .over
      return false
    }
    if wasCancelled { return .cancelled }
    switch ending {
    case .exited(let status): return .exited(status, output: output)
    case .signalled(let signal): return .killed(signal: signal)
    }
  }
}
