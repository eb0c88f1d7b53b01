import Glibc
import HoldfastOwnerFiles
import Synchronization

/// A descriptor to which several threads write texts. Each text is written whole before the next
/// one begins.
///
/// The system writes a long text to a pipe in parts, and other texts could come between them.
package final class SerialOutput: Sendable {
  private final class Turn: Sendable {
    let lock = Mutex(())
  }

  private let descriptor: Int32
  private let turn: Turn

  /// Creates an output.
  ///
  /// - Parameter other: An output whose texts must not come between those of this one if both
  ///   descriptors refer to the same file, such as a terminal.
  package init(_ descriptor: Int32, beside other: SerialOutput? = nil) {
    self.descriptor = descriptor
    let isSame = other.map { Self.identity(of: $0.descriptor) == Self.identity(of: descriptor) }
    turn = isSame == true ? other?.turn ?? Turn() : Turn()
  }

  /// Writes a text. Returns the error number, or 0 on success.
  package func write(_ text: String) -> Int32 {
    let bytes = Array(text.utf8)
    return turn.lock.withLock { _ in SystemCall.writeAll(bytes, to: descriptor) ? 0 : errno }
  }

  /// Returns the device and the number of an open file.
  private static func identity(of descriptor: Int32) -> [UInt64] {
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else { return [] }
    return [UInt64(found.st_dev), UInt64(found.st_ino)]
  }
}
