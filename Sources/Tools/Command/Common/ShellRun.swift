import OwnerFiles
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One run of a shell command, in a process group that is killed as a whole.
final class ShellRun: Sendable {
  static let maxBytes = 65_536

  /// How a run ended.
  enum Ending {
    case exited(Int32, output: [UInt8])
    case killed(signal: Int32)
    /// It exceeded the time limit and was killed.
    case late(after: Duration)
    /// It printed more than `maxBytes` and was killed.
    case talkative
    /// It could not be started, with the system's error number.
    case failed(Int32)
  }

  private enum State {
    case new
    case running(pid_t)
    case over
    case cancelled
  }

  /// Held while signalling or reaping the child, so that a reaped child is never signalled.
  private let state = Mutex(State.new)

  /// Runs `command` and returns when it has ended; blocks the calling thread.
  func ending(of command: String, within limit: Duration) -> Ending {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return .failed(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    let begin = ContinuousClock.now
    let end = begin + limit
    let (child, code) = start(command, writingTo: ends[1])
    close(ends[1])
    guard code == 0 else { return .failed(code) }
    let (output, outputEnding) = DescriptorInput.read(ends[0], atMost: Self.maxBytes, until: end)
    let word: Int32?
    var isTalkative = false
    switch outputEnding {
    case .end, .failed: word = reap(child, until: end)
    case .late: word = nil
    case .tooLong: (word, isTalkative) = (nil, true)
    }
    guard let word else {
      // Kills its children too; only a process that is blocked in the kernel survives this.
      kill()
      _ = reap(child, until: ContinuousClock.now + .seconds(1))
      return isTalkative ? .talkative : .late(after: begin.duration(to: .now))
    }
    if isCancelled { return .late(after: begin.duration(to: .now)) }
    // The low seven bits name a signal, zero after an exit; the status stands in the next byte.
    guard word & 0x7F == 0 else { return .killed(signal: word & 0x7F) }
    return .exited((word >> 8) & 0xFF, output: output)
  }

  /// Kills the run, or prevents it from starting.
  func cancel() {
    kill()
    state.withLock { state in
      if case .over = state { return }
      state = .cancelled
    }
  }

  private var isCancelled: Bool {
    state.withLock { if case .cancelled = $0 { true } else { false } }
  }

  private func kill() {
    state.withLock { state in
      guard case .running(let child) = state else { return }
      #if canImport(Glibc)
        _ = Glibc.kill(-child, SIGKILL)
      #else
        _ = Darwin.kill(-child, SIGKILL)
      #endif
    }
  }

  private func start(_ command: String, writingTo output: Int32) -> (child: pid_t, code: Int32) {
    state.withLock { state in
      guard case .new = state else { return (0, ECANCELED) }
      var child: pid_t = 0
      var spawn = Spawn("/bin/sh", ["sh", "-c", command])
      (spawn.streams.output, spawn.streams.error) = (output, STDERR_FILENO)
      let code = spawn.start(&child)
      if code == 0 { state = .running(child) }
      return (child, code)
    }
  }

  /// Returns how the child ended; `nil` if it has not ended by `end`.
  private func reap(_ child: pid_t, until end: ContinuousClock.Instant) -> Int32? {
    while true {
      let (ended, word) = state.withLock { state in
        var word: Int32 = 0
        let ended = unsafe waitpid(child, &word, WNOHANG)
        if ended == child, case .running = state { state = .over }
        return (ended, word)
      }
      if ended == child { return word }
      guard ended == 0, ContinuousClock.now < end else { return nil }
      // No portable event reports a child's end; its output has ended, so this wait is short.
      _ = poll(nil, 0, 5)
    }
  }
}
