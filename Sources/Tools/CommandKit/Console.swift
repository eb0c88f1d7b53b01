import Dispatch
public import LinkWire
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Standard output for results, standard error for diagnostics; every line leaves at once.
///
/// A reader that went away ends the process quietly with status 0: it has what it wanted.
public struct Console: Sendable {
  /// How results are marked.
  public let style: Style
  private let diagnosticStyle: Style

  /// The process's own; colours only on a terminal that knows them and without `NO_COLOR`.
  public init(environment: (String) -> String?) {
    let isWanted = (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    style = Style(isColourful: isWanted && isatty(STDOUT_FILENO) == 1)
    diagnosticStyle = Style(isColourful: isWanted && isatty(STDERR_FILENO) == 1)
  }

  /// Makes a write to a reader that went away fail instead of ending the process.
  public static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Prints a result for people, or any text that stands alone.
  ///
  /// What is optional may be lost, while the command goes on; otherwise a failure ends the process,
  /// and says what was `done` all the same.
  public func line(_ text: String, isOptional: Bool = false, done: String? = nil) {
    let failure = Self.write(text + "\n", to: STDOUT_FILENO)
    guard failure != 0, !isOptional else { return }
    if failure == EPIPE { _exit(ExitCode.done.rawValue) }
    let rest = done.map { "; \($0)" } ?? ""
    diagnostic("holdfast: standard output cannot be written: \(Self.reason(of: failure))\(rest)")
    _exit(ExitCode.failed.rawValue)
  }

  /// Prints one JSON object in one line; `members` writes what stands between its braces.
  public func object(
    isOptional: Bool = false, done: String? = nil, _ members: (inout JSONWriter) -> Void
  ) {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    members(&writer)
    writer.endObject()
    line(String(decoding: writer.bytes, as: UTF8.self), isOptional: isOptional, done: done)
  }

  /// Prints a line of a log or a notice; a closed standard error is no reason to stop.
  public func diagnostic(_ text: String) {
    _ = Self.write(text + "\n", to: STDERR_FILENO)
  }

  /// Prints bytes as they are, for a terminal; false when it takes none any more.
  public static func raw(_ text: String) -> Bool { write(text, to: STDOUT_FILENO) == 0 }

  /// Ends the process, after a line that is printed only if somebody takes it at once.
  public static func abandon(_ text: String, with code: ExitCode = .failed) -> Never {
    var waiting = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if unsafe poll(&waiting, 1, 0) > 0 { _ = write(text + "\n", to: STDERR_FILENO) }
    _exit(code.rawValue)
  }

  /// Ends the process without what libraries would tidy up at its exit: threads that still read
  /// from a socket use it. OpenSSL frees its locks there, under the hands of a handshake.
  public static func end(with code: ExitCode) -> Never { _exit(code.rawValue) }

  /// Calls `stuck` when output still waits for a reader after 2 s, for who was told to end.
  ///
  /// From a thread of its own: writes that wait may hold up all others.
  public static func watchOutput(_ stuck: @escaping @Sendable () -> Never) {
    DispatchQueue(label: "holdfast.command.output").asyncAfter(deadline: .now() + .seconds(2)) {
      while true {
        let before = writes.withLock { $0 }
        _ = poll(nil, 0, 50)
        let isSame = writes.withLock { $0 == before }
        if isSame, before.underWay > 0 { stuck() }
      }
    }
  }

  /// Writes so far, and those that have not ended.
  private struct Writes: Equatable {
    var begun: UInt64 = 0
    var underWay = 0
  }

  private static let writes = Mutex(Writes())

  /// Prints why a command failed, in one line.
  public func failure(_ failure: CommandFailure, of command: String) {
    diagnostic(diagnosticStyle.alarm("\(command):") + " \(failure.line)")
  }

  /// The operating system's words for an error number.
  public static func reason(of code: Int32) -> String {
    unsafe String(cString: strerror(code))
  }

  /// Answers with the error number, 0 for none.
  private static func write(_ text: String, to descriptor: Int32) -> Int32 {
    writes.withLock {
      $0.begun += 1
      $0.underWay += 1
    }
    defer { writes.withLock { $0.underWay -= 1 } }
    let bytes = Array(text.utf8)
    return unsafe bytes.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let left = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
        let count = unsafe systemWrite(descriptor, left)
        if count >= 0 {
          offset += count
        } else if errno == EAGAIN {
          waitUntilWritable(descriptor)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
  }

  /// Whoever shares the terminal or pipe may have made it non-blocking.
  private static func waitUntilWritable(_ descriptor: Int32) {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&waiting, 1, -1)
  }

  private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      unsafe Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}
