import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The terminal that a program was started from, which sends SIGHUP when it is closed.
package enum ControllingTerminal {
  private static let ends = Mutex(false)

  /// Notes at the start of the program whether it ends with its terminal: if it has one, and SIGHUP
  /// is not ignored, as `nohup` does.
  package static func note() {
    var action = sigaction()
    guard unsafe sigaction(SIGHUP, nil, &action) == 0, isOpen else { return }
    #if canImport(Glibc)
      let handler = unsafe action.__sigaction_handler.sa_handler
    #else
      let handler = unsafe action.__sigaction_u.__sa_handler
    #endif
    let isIgnored =
      unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    ends.withLock { $0 = !isIgnored }
  }

  /// Whether the program is to end because its terminal was closed.
  package static var isClosed: Bool { ends.withLock { $0 } && !isOpen }

  /// A process without a controlling terminal cannot open /dev/tty.
  private static var isOpen: Bool {
    let descriptor = unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }
}
