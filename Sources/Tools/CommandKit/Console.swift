import Dispatch
import Glibc
public import HoldfastJSON
import HoldfastOwnerFiles
import Synchronization

/// A console that writes results to standard output and diagnostics to standard error, unbuffered.
///
/// All tasks and all consoles of the process share one output for each descriptor, so that a line is
/// whole even if its reader is slow.
///
/// If the reader closes standard output, the process ends without a message.
public struct Console: Sendable {
  /// The exit status if standard output is closed. It is 0 unless a failure is being printed.
  public var endsWhenClosed = ExitCode.done
  /// The style of standard output.
  public let style: Style
  private let diagnosticStyle: Style
  private let program: String

  /// Creates the console of this process, which runs the program named `program`.
  ///
  /// Colors are used only on a terminal, and not if `NO_COLOR` is set or `TERM` is `dumb`.
  public init(_ program: String, environment: (String) -> String?) {
    self.program = program
    let isWanted = (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    style = Style(isColourful: isWanted && isatty(STDOUT_FILENO) == 1)
    diagnosticStyle = Style(isColourful: isWanted && isatty(STDERR_FILENO) == 1)
  }

  /// Opens `/dev/null` for each standard descriptor that is closed.
  ///
  /// Reading a closed standard input then yields no data, and writing to a closed standard output
  /// fails. Otherwise, a file that is opened later could get the number of the closed descriptor
  /// and receive the output.
  public static func holdStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) < 0 {
      // `open` returns the lowest free descriptor.
      _ = unsafe open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Makes a write to a closed pipe fail instead of ending the process.
  public static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Prints a line on standard output.
  ///
  /// Errors are ignored if the line is optional. If any other line cannot be printed, the process
  /// ends with status 1, and a diagnostic reports the error and `done`.
  public func line(_ text: String, isOptional: Bool = false, done: String? = nil) {
    let failure = Self.printed(text)
    guard failure != 0, !isOptional else { return }
    if failure == EPIPE { _exit(endsWhenClosed.rawValue) }
    let rest = done.map { "; \($0)" } ?? ""
    diagnostic(
      "\(program): standard output cannot be written: \(SystemCall.reason(of: failure))\(rest)")
    _exit(ExitCode.failed.rawValue)
  }

  /// Prints a JSON object on one line. The function `members` writes the object's members.
  public func object(
    isOptional: Bool = false, done: String? = nil, _ members: (inout JSONWriter) -> Void
  ) {
    var writer = JSONWriter(capacity: 256)
    writer.object(members)
    line(String(decoding: writer.terminalBytes, as: UTF8.self), isOptional: isOptional, done: done)
  }

  /// Prints the lines of a table on standard output.
  public func table(_ table: Table) {
    for line in table.lines(style) { self.line(line) }
  }

  /// Prints a line on standard error. Errors are ignored.
  public func diagnostic(_ text: String) {
    _ = Self.write(text + "\n", to: Self.diagnostics)
  }

  /// Prints a line on standard output. Returns the error number, or 0 on success.
  static func printed(_ text: String) -> Int32 { write(text + "\n", to: results) }

  /// Calls `act` once nobody can read standard output any more.
  ///
  /// The check runs on a separate thread, which waits until then or until the process ends.
  static func whenClosed(_ act: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "holdfast.command.closed").async {
      var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while unsafe poll(&output, 1, -1) < 0, errno == EINTR {}
      act()
    }
  }

  /// Writes text to standard output unchanged. Returns `false` if that fails.
  public static func raw(_ text: String) -> Bool { write(text, to: results) == 0 }

  /// Prints a line on standard error, unless that would block, and then ends the process.
  public static func abandon(_ text: String, with code: ExitCode = .failed) -> Never {
    // A write that blocks may hold the output.
    if !isFull(STDERR_FILENO) {
      _ = SystemCall.writeAll(Array((text + "\n").utf8), to: STDERR_FILENO)
    }
    _exit(code.rawValue)
  }

  /// Ends the process without running exit handlers.
  ///
  /// OpenSSL frees its locks in an exit handler while threads that read from a socket still use
  /// them.
  public static func end(with code: ExitCode) -> Never { _exit(code.rawValue) }

  /// Calls `stuck` as soon as a write blocks. The check begins 2 s after the call.
  ///
  /// A write whose thread has no processor is not blocked: its output accepts more bytes, whatever
  /// the other output does. After 5 s without progress it is, since a file of a server that does
  /// not answer seems to accept them too.
  ///
  /// The check runs on a separate thread, because blocked writes may occupy all other threads.
  public static func watchOutput(_ stuck: @escaping @Sendable () -> Never) {
    DispatchQueue(label: "holdfast.command.output").asyncAfter(deadline: .now() + .seconds(2)) {
      var looks = 0
      while true {
        let before = writes.withLock { $0 }
        _ = poll(nil, 0, 50)
        let isSame = writes.withLock { $0 == before }
        looks = isSame && !before.descriptors.isEmpty ? looks + 1 : 0
        if looks > 100 || (looks > 0 && before.descriptors.contains(where: isFull)) {
          stuck()
        }
      }
    }
  }

  /// Returns whether an output accepts no more bytes now.
  private static func isFull(_ descriptor: Int32) -> Bool {
    var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&output, 1, 0) == 0
  }

  private static let writes = Mutex(OutputWrites())

  /// Prints the reason why a command failed, on one line.
  public func failure(_ failure: CommandFailure, of command: String) {
    diagnostic(diagnosticStyle.alarm("\(command):") + " \(failure.line)")
  }

  private static let results = SerialOutput(STDOUT_FILENO)
  private static let diagnostics = SerialOutput(STDERR_FILENO, beside: results)

  /// Writes text. Returns the error number, or 0 on success.
  private static func write(_ text: String, to output: SerialOutput) -> Int32 {
    writes.withLock { $0.begin(output.descriptor) }
    defer { writes.withLock { $0.end(output.descriptor) } }
    return output.write(text)
  }
}

extension String {
  /// The text with control characters, line breaks and direction marks escaped.
  ///
  /// The result cannot control a terminal.
  public var printable: String {
    guard unicodeScalars.contains(where: Self.isUnsafe) else { return self }
    return unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where Self.isUnsafe(scalar):
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      case _: result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
      // Joiners are part of words and emoji, and are therefore kept.
      scalar.value != 0x200D && scalar.value != 0x200C
    case _: false
    }
  }
}
