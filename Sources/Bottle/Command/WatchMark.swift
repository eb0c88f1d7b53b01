import Glibc
import HoldfastCommandKit

/// A locked file that indicates to `bottle status` that a watch is running. The lock ends with the
/// watch's process.
///
/// The file is separate from the lock of the store. A check therefore cannot prevent a watch from
/// opening its store, and no other command is mistaken for a watch.
final class WatchMark: Sendable {
  /// The result of checking for a mark.
  enum Finding: Equatable {
    case runs, none
    /// An error that prevents the check.
    case unknown(String)
  }

  private let descriptor: Int32

  /// Marks a data directory. If the file cannot be created, `bottle status` reports no running
  /// watch.
  init(in directory: String) {
    descriptor = unsafe open(Self.path(directory), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    // This waits only while `bottle status` checks the file, because a store can have only one
    // watch.
    if descriptor >= 0 { flock(descriptor, LOCK_EX) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Returns whether a watch is running.
  static func state(in directory: String) -> Finding {
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
