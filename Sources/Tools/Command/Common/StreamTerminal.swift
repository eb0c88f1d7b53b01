import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The terminal of this process: its width and its modes.
enum StreamTerminal {
  /// The modes that were found, while others are set.
  private static let found = Mutex<termios?>(nil)

  /// Hands keys over as they are typed, without showing them; undone by `restore`.
  static func readKeys() {
    var modes = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &modes) == 0 else { return }
    let isFirst = found.withLock { found in
      guard found == nil else { return false }
      found = modes
      return true
    }
    // Whatever way the process exits by.
    if isFirst { atexit { StreamTerminal.restore() } }
    modes.c_lflag &= ~tcflag_t(ICANON | ECHO)
    _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &modes)
  }

  /// Sets the modes that were found.
  static func restore() {
    found.withLock { found in
      guard var modes = found else { return }
      _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }
  }

  /// Columns; 80 where the terminal does not say.
  static var width: Int {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return 80
    }
    return Int(size.ws_col)
  }

  /// Comes when the process goes on after a stop, or when the size has changed.
  static func changes() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let queue = DispatchQueue(label: "holdfast.command.terminal")
    let sources = [SIGCONT, SIGWINCH].map { signal in
      let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
      source.setEventHandler { continuation.yield() }
      source.activate()
      return source
    }
    let kept = Mutex(sources)
    continuation.onTermination = { _ in
      kept.withLock { sources in
        for source in sources { source.cancel() }
      }
    }
    return stream
  }
}
