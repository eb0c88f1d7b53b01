import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The standard input of a program.
///
/// A socket pair: unlike a pipe, it can be written to without a signal when nobody reads.
struct CommandInput: Sendable {
  /// The program's end; to be closed here when the program has it.
  let reader: FileHandle
  private let writer: FileHandle

  init() throws(NetworkLabError) {
    #if os(Linux) || os(Android)
      let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    var ends: [Int32] = [0, 0]
    guard unsafe socketpair(AF_UNIX, stream, 0, &ends) == 0 else {
      throw NetworkLabError(command: ["socketpair"], status: errno, output: "")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    writer = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    reader = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
  }

  /// Writes all of `text`; what nobody reads is lost.
  func write(_ text: String) {
    #if os(Linux) || os(Android)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    var left = Array(text.utf8)[...]
    while !left.isEmpty {
      let count = unsafe left.withUnsafeBytes {
        unsafe send(writer.fileDescriptor, $0.baseAddress, $0.count, flags)
      }
      guard count > 0 else { return }
      left = left.dropFirst(count)
    }
  }

  /// The program reads an end of file after what was written.
  func end() { try? writer.close() }
}
