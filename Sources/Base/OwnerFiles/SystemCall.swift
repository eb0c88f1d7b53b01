#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// Wrappers of system calls. Reads and writes are retried if a signal interrupts them.
package enum SystemCall {
  /// Reads up to `count` bytes. Returns -1 and sets `errno` on failure.
  package static func read(
    _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int
  ) -> Int {
    while true {
      let done = unsafe systemRead(descriptor, bytes, count)
      if done >= 0 || errno != EINTR { return done }
    }
  }

  /// Waits until a descriptor is ready for `events`.
  package static func wait(for events: Int32, on descriptor: Int32) {
    var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    _ = unsafe poll(&waiting, 1, -1)
  }

  /// Writes all bytes. Returns false and sets `errno` on failure.
  ///
  /// The call waits if the descriptor is non-blocking. Another process that shares a terminal or a
  /// pipe may have made it so.
  package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe write(descriptor, bytes.baseAddress, bytes.count)
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN {
        wait(for: Int32(POLLOUT), on: descriptor)
        continue
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Returns the operating system's description of an error number.
  package static func reason(of code: Int32) -> String {
    unsafe String(cString: strerror(code))
  }
}

/// Calls read(2), which is hidden by the type's own `read`.
private func systemRead(
  _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int
) -> Int {
  unsafe read(descriptor, bytes, count)
}

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCall {
  /// The result of waiting for a writer of a pipe.
  package enum PipeState: Sendable, Hashable {
    /// A read does not block.
    case readable
    /// A byte arrived and was read.
    case read(UInt8)
    /// A program has opened the pipe for writing but has not written anything yet.
    case silent
    /// No program has opened the pipe for writing.
    case noWriter
    /// The system refused the read with this `errno`.
    case failed(Int32)
  }

  /// Returns whether a descriptor refers to a pipe, named or unnamed.
  package static func isPipe(_ descriptor: Int32) -> Bool {
    var found = stat()
    return unsafe fstat(descriptor, &found) == 0 && found.st_mode & S_IFMT == S_IFIFO
  }

  /// Waits until a program has opened a pipe for writing.
  ///
  /// A pipe without a writer is not readable, and neither is a pipe whose writer is silent. A read
  /// distinguishes them: it returns the end of the file if there is no writer, and would block if
  /// the writer is silent.
  ///
  /// - Parameter descriptor: A pipe that was opened with `O_NONBLOCK`.
  package static func awaitWriter(of descriptor: Int32, within limit: Duration) -> PipeState {
    let wait = Int32(clamping: Int64(limit / .milliseconds(1)))
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let count = unsafe poll(&waiting, 1, wait)
      if count > 0 { return .readable }
      if count < 0, errno == EINTR { continue }
      var byte: UInt8 = 0
      let taken = unsafe read(descriptor, &byte, 1)
      if taken > 0 { return .read(byte) }
      if taken == 0 { return .noWriter }
      return errno == EAGAIN ? .silent : .failed(errno)
    }
  }
}
