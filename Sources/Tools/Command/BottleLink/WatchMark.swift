import CommandKit
import Glibc

/// A locked file that tells `bottle status` that a watch runs, until its process ends.
///
/// It is another file than the lock of the store, so that a look at it cannot keep a watch from its
/// store, and no other command looks like a watch.
final class WatchMark: Sendable {
  /// Whether a watch runs.
  enum Finding: Equatable {
    case runs, none
    /// The file cannot be read.
    case unknown(String)
  }

  private let descriptor: Int32

  /// Marks a data directory; where the file cannot be made, `status` tells of no watch.
  init(in directory: String) {
    descriptor = unsafe open(Self.path(directory), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    // Waits for a look at most: the store has one watch.
    if descriptor >= 0 { flock(descriptor, LOCK_EX) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Looks for the mark of a watch.
  static func look(in directory: String) -> Finding {
    let descriptor = unsafe open(path(directory), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return .none }
      return unsafe .unknown("\(path(directory)): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? .none : .runs
  }

  private static func path(_ directory: String) -> String { "\(directory)/bottle.watch" }
}
