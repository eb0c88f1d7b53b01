import HoldfastCommandParts

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A named pipe through which the lab tells an app its network path.
///
/// The pipe stays open, so that what is written before the app reads is not lost.
final class LabPath: Sendable {
  let file: String
  private let descriptor: Int32

  init(_ file: String) throws(DemoFailure) {
    self.file = file
    guard unsafe mkfifo(file, 0o600) == 0 else {
      throw .setup("\(file) could not be created: errno \(errno)")
    }
    descriptor = unsafe open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .setup("\(file) could not be opened: errno \(errno)") }
  }

  deinit { _ = close(descriptor) }

  /// Writes a line. If it is the first one of a run of the app, what an earlier run has not read is
  /// removed.
  func tell(_ path: LabNetworkPath, isFirst: Bool = false) {
    var unread = [UInt8](repeating: 0, count: 4_096)
    if isFirst { while unsafe read(descriptor, &unread, unread.count) > 0 {} }
    let line = Array("\(path.rawValue)\n".utf8)
    _ = unsafe write(descriptor, line, line.count)
  }
}
