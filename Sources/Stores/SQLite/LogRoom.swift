#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A limit of the write-ahead log's size on a small disk.
///
/// While a log of n bytes is copied into its file, the file can need n more bytes. If the log grew
/// until the disk was full, it could never be copied, and later writes would have no room. The log
/// is therefore copied and truncated as soon as it is half as large as the free space.
struct LogRoom {
  private let path: String
  /// The free space above which no log is too large, because SQLite copies the log at 16 MiB.
  private static let sufficient: UInt64 = 64 << 20

  init(path: String) {
    self.path = path
  }

  /// Calls `shorten` if the log is too large for the disk. On a large disk, this takes one system
  /// call.
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
  /// The number of bytes that are free for this user; `UInt64.max` if the file system reports more.
  var free: UInt64 {
    let (bytes, overflow) = UInt64(f_bavail).multipliedReportingOverflow(by: UInt64(f_frsize))
    return overflow ? .max : bytes
  }
}
