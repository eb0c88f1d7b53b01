import Dispatch
import Glibc
import HoldfastLinuxDevice
import Synchronization

/// The terminal of this process: its width and its modes.
package enum Terminal {
  /// The original modes, once other modes have been set; `nil` before.
  private static let found = Mutex<termios?>(nil)

  /// The sequence that moves the cursor to the left edge and erases the line (ECMA-48 section
  /// 8.3.41, EL).
  package static let eraseLine = "\r\u{1B}[K"

  /// Makes the terminal deliver each key as it is typed, without echo, until `restore` is called.
  package static func readKeys() {
    var modes = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &modes) == 0 else { return }
    let isFirst = found.withLock { found in
      guard found == nil else { return false }
      found = modes
      return true
    }
    if isFirst { atexit { Terminal.restore() } }
    modes.c_lflag &= ~tcflag_t(ICANON | ECHO)
    _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &modes)
  }

  /// Restores the original modes.
  package static func restore() {
    found.withLock { found in
      guard var modes = found else { return }
      _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }
  }

  /// The width in columns; 80 if the terminal does not report it.
  package static var width: Int {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return 80
    }
    return Int(size.ws_col)
  }

  /// Returns a stream that yields when the process continues after a stop, or when the terminal's
  /// size changes.
  package static func changes() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let queue = DispatchQueue(label: "holdfast.command.terminal")
    let sources = SignalSources([(SIGCONT, ()), (SIGWINCH, ())], on: queue) { continuation.yield() }
    continuation.onTermination = { _ in sources.cancel() }
    return stream
  }
}

/// The terminal from which the program was started. It sends SIGHUP when it is closed.
package enum ControllingTerminal {
  private static let ends = Mutex(false)

  /// Determines, at the start of the program, whether closing the terminal should end the program.
  ///
  /// It should if the program has a terminal and does not ignore SIGHUP. Under `nohup`, a program
  /// ignores SIGHUP.
  package static func note() {
    var action = sigaction()
    guard unsafe sigaction(SIGHUP, nil, &action) == 0, isOpen else { return }
    let handler = unsafe action.__sigaction_handler.sa_handler
    let isIgnored =
      unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    ends.withLock { $0 = !isIgnored }
  }

  /// Whether the program should end because its terminal was closed.
  package static var isClosed: Bool { ends.withLock { $0 } && !isOpen }

  /// Whether there is a controlling terminal. Without one, opening /dev/tty fails.
  private static var isOpen: Bool {
    let descriptor = unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }
}
