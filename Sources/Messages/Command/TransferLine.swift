import Glibc
import HoldfastCommandKit
import HoldfastOwnerFiles

/// A line with the progress of an image. It is shown if standard error is a terminal.
struct TransferLine: Sendable {
  private let name: String
  private let isShown: Bool

  /// Creates a line.
  ///
  /// - Parameter name: What happens to the image, such as "uploaded".
  init(_ name: String, _ call: Invocation) {
    self.name = name
    isShown = !call[Shared.json] && isatty(STDERR_FILENO) == 1 && call.environment("TERM") != "dumb"
  }

  /// Shows the number of bytes so far.
  func show(_ bytes: Int, of size: Int) {
    put("\(bytes / 1_024) of \((size + 1_023) / 1_024) KiB \(name)")
  }

  /// Removes the line.
  func end() { put("") }

  private func put(_ text: String) {
    guard isShown else { return }
    _ = SystemCall.writeAll(Array((Terminal.eraseLine + text).utf8), to: STDERR_FILENO)
  }
}
