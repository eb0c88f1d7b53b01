import Glibc
import HoldfastOwnerFiles
import Synchronization

/// The standard output of a command that must clean up before it ends.
///
/// `Console.line` ends the process if a line cannot be written. This output ends the command's work
/// instead, so that its processes end and its files are removed.
package final class OrderlyOutput: Sendable {
  private struct State {
    /// The error number of the first failure; 0 if there was none.
    var failure: Int32 = 0
    var stop: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Creates the output.
  package init() {}

  /// Prints a line, unless an earlier one failed.
  package func line(_ text: String) {
    guard state.withLock({ $0.failure }) == 0 else { return }
    let failure = Console.printed(text)
    if failure != 0 { fail(failure) }
  }

  /// Throws an error if a line could not be written. A reader that closed the output is none.
  package func check() throws(CommandFailure) {
    let failure = state.withLock { $0.failure }
    guard failure != 0, failure != EPIPE else { return }
    throw CommandFailure(
      .failed, "standard output cannot be written: \(SystemCall.reason(of: failure))")
  }

  /// Calls `stop` as soon as a line cannot be written or the reader closes the output.
  func whenBroken(_ stop: @escaping @Sendable () -> Void) {
    let isBroken = state.withLock {
      $0.stop = stop
      return $0.failure != 0
    }
    guard !isBroken else { return stop() }
    Console.whenClosed { [weak self] in self?.fail(EPIPE) }
  }

  private func fail(_ code: Int32) {
    let stop = state.withLock { state -> (@Sendable () -> Void)? in
      guard state.failure == 0 else { return nil }
      state.failure = code
      return state.stop
    }
    stop?()
  }
}
