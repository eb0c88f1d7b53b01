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

  let descriptor: Int32
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

/// The writes of a process to its outputs.
package struct OutputWrites: Sendable, Equatable {
  private var begun: UInt64 = 0
  private var inProgress: [Int32: Int] = [:]

  package init() {}

  /// The descriptors to which a write is in progress.
  package var descriptors: Set<Int32> { Set(inProgress.keys) }

  /// Counts a write that begins.
  package mutating func begin(_ descriptor: Int32) {
    begun += 1
    inProgress[descriptor, default: 0] += 1
  }

  /// Counts a write that has ended.
  package mutating func end(_ descriptor: Int32) {
    guard let count = inProgress[descriptor] else { return }
    inProgress[descriptor] = count > 1 ? count - 1 : nil
  }
}
