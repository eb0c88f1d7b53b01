import CommandKit

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
  static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe systemRead(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, errno) }
      guard count > 0 else { return content }
      content += chunk[..<count]
      guard content.count <= maxBytes else {
        throw CommandFailure(
          .failed, "\(path) has more than \(maxBytes) bytes", remedy: "name another file")
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

  private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      .failed, "\(path) cannot be read: \(Console.reason(of: code))",
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
