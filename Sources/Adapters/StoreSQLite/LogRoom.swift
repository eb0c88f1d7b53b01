#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The limit of a write-ahead log on a small disk.
///
/// Copying a log of n bytes into its file can need n more bytes while the log still exists. If the
/// log grew until the disk was full, it could never be copied, and no later write would find room.
/// So the log is copied and truncated as soon as it is half as large as the free space.
struct LogRoom {
  private let path: String
  /// The free space above which no log is too large, since SQLite copies it at 16 MiB.
  private static let sufficient: UInt64 = 64 << 20

  init(path: String) {
    self.path = path
  }

  /// Calls `shorten` if the log is too large for the disk. Costs one system call on a large disk.
  func limitLog(_ shorten: () -> Void) {
    var disk = statvfs()
    guard unsafe statvfs(path, &disk) == 0 else { return }
    let free = disk.free
    guard free < Self.sufficient else { return }
    var log = stat()
    guard unsafe stat(path + "-wal", &log) == 0, UInt64(max(0, log.st_size)) * 2 >= free else {
      return
    }
    shorten()
  }
}

extension statvfs {
  /// The bytes that are free for this user; `UInt64.max` if a file system reports more.
  var free: UInt64 {
    let (bytes, overflow) = UInt64(f_bavail).multipliedReportingOverflow(by: UInt64(f_frsize))
    return overflow ? .max : bytes
  }
}
