#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The room that a write-ahead log may take on a small disk.
///
/// To copy a log of n bytes into its file can take n bytes more, while the log is still there. A
/// log that grew until the disk was full could never be copied, and no later write would find room.
/// So it is copied and cut off as soon as it is half as large as what is left.
struct LogRoom {
  private let path: String
  /// With as much room no log is too large: SQLite copies it at 16 MiB.
  private static let ample: UInt64 = 64 << 20

  init(path: String) {
    self.path = path
  }

  /// Calls `shorten` if the log is too large for the disk. Costs one system call on a large disk.
  func keep(_ shorten: () -> Void) {
    var disk = statvfs()
    guard unsafe statvfs(path, &disk) == 0 else { return }
    let free = disk.free
    guard free < Self.ample else { return }
    var log = stat()
    guard unsafe stat(path + "-wal", &log) == 0, UInt64(max(0, log.st_size)) * 2 >= free else {
      return
    }
    shorten()
  }
}

extension statvfs {
  /// The bytes that are free for this user; those of a file system that claims more than a number
  /// holds are the most that it holds.
  var free: UInt64 {
    let (bytes, overflow) = UInt64(f_bavail).multipliedReportingOverflow(by: UInt64(f_frsize))
    return overflow ? .max : bytes
  }
}
