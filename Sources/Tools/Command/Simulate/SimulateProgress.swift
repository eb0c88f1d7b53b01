import CommandKit
import LinkSimulator
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One line on the terminal that tells how far it is; nothing where nobody watches.
final class SimulateProgress: Sendable {
  private let total: Int
  private let isShown: Bool
  private let start = ContinuousClock.now
  private let state = Mutex(State())

  private struct State {
    var runs = 0
    var findings = 0
    var shown: ContinuousClock.Instant?
  }

  /// - Parameter isWanted: False where even a terminal shall show nothing.
  init(total: Int, isWanted: Bool) {
    self.total = total
    isShown = isWanted && isatty(STDERR_FILENO) == 1
  }

  /// How long it took so far.
  var elapsed: Duration { start.duration(to: .now) }

  /// A run is over.
  func add(_ outcome: Outcome) {
    state.withLock { state in
      state.runs += 1
      state.findings += outcome.findings.count
      let now = ContinuousClock.now
      guard isShown, state.shown.map({ $0.duration(to: now) > .milliseconds(200) }) ?? true
      else { return }
      state.shown = now
      put("\r" + line(state) + "\u{1B}[K")
    }
  }

  /// Takes the line away.
  func end() {
    if isShown { put("\r\u{1B}[K") }
  }

  private func line(_ state: State) -> String {
    let seconds = elapsed / .seconds(1)
    let rate = Double(state.runs) / max(seconds, 0.001)
    let left = Int((Double(total - state.runs) / max(rate, 0.001)).rounded(.up))
    return "\(state.runs) of \(total) runs, \(Int(rate)) a second, \(state.findings) findings, "
      + "\(left / 60) min \(left % 60) s left"
  }

  private func put(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes {
      #if canImport(Glibc)
        unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
      #else
        unsafe Darwin.write(STDERR_FILENO, $0.baseAddress, $0.count)
      #endif
    }
  }
}
