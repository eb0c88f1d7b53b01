#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A connection between this process and a child.
enum Channel {
  /// Creates both ends, of which a child inherits only its own stream.
  ///
  /// It uses a socket pair: unlike a pipe, it is close-on-exec from the start, and writing causes
  /// no signal when the other end is closed.
  static func pair() throws(NetworkLabError) -> (ours: Int32, theirs: Int32) {
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
    return (ends[0], ends[1])
  }

  /// Writes all of `text`; bytes that nobody reads are lost.
  static func write(_ text: String, to socket: Int32) {
    #if os(Linux) || os(Android)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    var left = Array(text.utf8)[...]
    while !left.isEmpty {
      let count = unsafe left.withUnsafeBytes {
        unsafe send(socket, $0.baseAddress, $0.count, flags)
      }
      guard count > 0 else { return }
      left = left.dropFirst(count)
    }
  }

  /// Signals the end of the written data to the other end.
  static func end(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

  /// Closes a descriptor.
  static func close(_ descriptor: Int32) {
    systemClose(descriptor)
  }

  /// Waits for bytes and returns them; empty at the end.
  static func read(_ descriptor: Int32) -> ArraySlice<UInt8> {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      if count >= 0 { return buffer[..<count] }
      if errno != EINTR { return [] }
    }
  }
}

/// Calls close(2), since inside the type `close` is its own method.
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
