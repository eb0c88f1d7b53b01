import HoldfastBackend
import HoldfastCommandKit

/// The check of the options of `serve`, which starts and creates nothing.
enum ServeCheck {
  /// Prints every option with its value and its source, and reads the files that the options name.
  ///
  /// - Throws: The failure of the last file that cannot be used; the others are printed. If the
  ///   options contradict each other, nothing is printed before.
  static func run(_ call: Invocation) throws(CommandFailure) {
    let configuration = try ServeCommand.configuration(call)
    let pushes = try PushOptions.read(call)
    call.printOptions()
    var failures = configuration.checkFiles().map { CommandFailure($0) }
    do throws(BackendError) {
      try pushes.checkFiles()
    } catch {
      failures.append(PushOptions.failure(error))
    }
    guard let last = failures.popLast() else { return }
    for failure in failures { call.console.failure(failure, of: call.command) }
    throw last
  }
}
