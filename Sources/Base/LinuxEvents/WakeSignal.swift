#if os(Linux)
  import CHoldfastLinux
  import Glibc

  /// A signal that wakes a thread in `poll` once for all calls of `send` since the last wait. Any
  /// thread can send it.
  public final class WakeSignal: Sendable {
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

    /// Creates a signal that has not been sent.
    public init() {}

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the current wait, or else the next one.
    public func send() { eventfd_write(descriptor, 1) }

    /// Waits until the signal is sent, a descriptor can be read, or the time is over.
    ///
    /// - Parameter other: The descriptor; a negative one is never readable.
    public func wait(or other: Int32, for time: Duration) {
      var waiting = [
        pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      ]
      _ = unsafe poll(&waiting, nfds_t(waiting.count), time.milliseconds)
      var count: eventfd_t = 0
      _ = unsafe eventfd_read(descriptor, &count)
    }
  }

  extension Duration {
    /// The duration in milliseconds, rounded up, for poll(2).
    package var milliseconds: Int32 {
      let (seconds, rest) = components
      return Int32(
        clamping: seconds * 1_000 + (rest + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
  }
#endif
