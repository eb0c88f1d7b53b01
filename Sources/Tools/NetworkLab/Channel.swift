#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A connection between this process and a child process.
enum Channel {
  /// Creates both ends of a connection. A child process inherits only the end that is passed to it.
  ///
  /// The ends form a socket pair. Unlike a pipe, a socket pair is close-on-exec from the start, and
  /// a write causes no signal if the other end is closed.
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

  /// Writes all of `text`. Bytes that are not read are lost.
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

  /// Signals to the other end that no more data follows.
  static func end(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

  static func close(_ descriptor: Int32) {
    systemClose(descriptor)
  }

  /// Waits for bytes and returns them; the result is empty at the end of the stream.
  static func read(_ descriptor: Int32) -> ArraySlice<UInt8> {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      if count >= 0 { return buffer[..<count] }
      if errno != EINTR { return [] }
    }
  }
}

/// Calls close(2). Inside `Channel`, `close` refers to the type's own method.
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
