import CommandKit
import LinkCore
import LinkRuntime

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Small files that people write by hand.
enum TextFile {
  /// Far more than a policy or a token needs.
  private static let maxBytes = 1 << 20

  /// All bytes of a file, or of standard input for `-`.
  ///
  /// A pipe may take `limit` to say all that it has to say; for ever without one.
  static func read(
    _ path: String, atMost maxBytes: Int = maxBytes, within limit: Duration? = nil
  ) throws(CommandFailure) -> [UInt8] {
    let name = path == "-" ? "standard input" : path
    // To open a pipe that nobody writes to would otherwise wait where no limit reaches.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, flags)
    guard descriptor >= 0 else { throw failure(name, errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    let clock = BootClock()
    let end = limit.map { clock.now.advanced(by: $0) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while true {
      let left = end.map { clock.now.duration(to: $0) }
      guard left.map({ $0 > .zero }) ?? true else {
        throw CommandFailure(
          .failed, "\(name) did not end within \(limit?.text ?? "")",
          remedy: "something must write it and close it")
      }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let wait = left.map { Int32(min($0 / .milliseconds(1), 60_000)) + 1 } ?? -1
      guard unsafe poll(&waiting, 1, wait) > 0 else { continue }
      let count = unsafe systemRead(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count >= 0 else { throw failure(name, errno) }
      guard count > 0 else { return content }
      content += chunk[..<count]
      guard content.count <= maxBytes else {
        throw CommandFailure(
          .failed, "\(name) has more than \(maxBytes) bytes", remedy: "give something shorter")
      }
    }
  }

  /// Replaces the content of a file, which is made when it is missing.
  static func write(_ text: String, to path: String) throws(CommandFailure) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw unwritten(path, errno) }
    defer { close(descriptor) }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes { unsafe systemWrite(descriptor, $0) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unwritten(path, errno) }
      bytes = bytes.dropFirst(count)
    }
  }

  private static func unwritten(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      .failed, "\(path) cannot be written: \(Console.reason(of: code))",
      remedy: "name another file")
  }

  private static func failure(_ name: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      .failed, "\(name) cannot be read: \(Console.reason(of: code))",
      remedy: "check its name and permissions")
  }

  private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      unsafe Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }

  private static func systemRead(
    _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int
  ) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.read(descriptor, bytes, count)
    #else
      unsafe Darwin.read(descriptor, bytes, count)
    #endif
  }
}
