import HoldfastCommandKit
import HoldfastOwnerFiles
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A progress line on the terminal. Nothing is shown if standard error is not a terminal.
final class SimulateProgress: Sendable {
  private let total: UInt64
  private let isShown: Bool
  private let start = ContinuousClock.now
  private let state = Mutex(State())

  private struct State {
    var runs = 0
    var findings = 0
    var shown: ContinuousClock.Instant?
    var isOver = false
  }

  /// Creates a progress line for a number of runs.
  ///
  /// - Parameter isWanted: Whether to show the line if standard error is a terminal.
  init(total: UInt64, isWanted: Bool) {
    self.total = total
    isShown = isWanted && isatty(STDERR_FILENO) == 1
  }

  /// The time since the start.
  var elapsed: Duration { start.duration(to: .now) }

  /// Counts a finished run and its findings.
  func add(_ findings: Int) {
    state.withLock { state in
      state.runs += 1
      state.findings += findings
      let now = ContinuousClock.now
      guard isShown, !state.isOver,
        state.shown.map({ $0.duration(to: now) > .milliseconds(200) }) ?? true, isTaken
      else { return }
      state.shown = now
      put("\r" + line(state) + "\u{1B}[K")
    }
  }

  /// Removes the line permanently. The call waits while the terminal is blocked.
  func end() {
    state.withLock { remove(&$0) }
  }

  /// Removes the line permanently, unless that would block.
  ///
  /// A blocked terminal must not keep the process from ending.
  func abandon() {
    _ = state.withLockIfAvailable { state in
      if isTaken { remove(&state) } else { state.isOver = true }
    }
  }

  private func remove(_ state: inout State) {
    if isShown, !state.isOver { put("\r\u{1B}[K") }
    state.isOver = true
  }

  /// Whether the terminal can accept text now.
  private var isTaken: Bool {
    var waiting = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&waiting, 1, 0) > 0
  }

  private func line(_ state: State) -> String {
    let seconds = elapsed / .seconds(1)
    let rate = Double(state.runs) / max(seconds, 0.001)
    let left = Int(
      clamping: Int64(
        min(1e12, max(0, Double(total) - Double(state.runs)) / max(rate, 0.001)).rounded(.up)))
    return "\(state.runs) of \(total) runs, \(Int(rate)) a second, \(state.findings) findings, "
      + "\(left / 60) min \(left % 60) s left"
  }

  private func put(_ text: String) {
    _ = SystemCall.writeAll(Array(text.utf8), to: STDERR_FILENO)
  }
}
