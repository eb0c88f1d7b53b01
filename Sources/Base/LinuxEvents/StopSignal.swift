#if os(Linux)
  import CHoldfastLinux
  public import Glibc

  /// A signal that ends the wait of a thread in `poll`. Any thread can send it.
  public final class StopSignal: Sendable {
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC))

    /// Creates a signal that has not been sent.
    public init() {}

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the current wait and all later waits.
    public func send() {
      eventfd_write(descriptor, 1)
    }

    /// Waits for `events` of poll(2) on a descriptor. Returns false once the signal has been sent.
    public func allowsWaiting(for other: Int32, events: Int16 = Int16(POLLIN)) -> Bool {
      var waiting = [
        pollfd(fd: other, events: events, revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      ]
      while true {
        let ready = unsafe poll(&waiting, nfds_t(waiting.count), -1)
        guard ready < 0 else { return waiting[1].revents == 0 }
        guard errno == EINTR else { return false }
      }
    }
  }
#endif
