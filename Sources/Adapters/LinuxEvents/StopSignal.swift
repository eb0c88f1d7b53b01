#if os(Linux)
  import CLinux
  public import Glibc

  /// Wakes a thread that waits in `poll`, so that it ends; usable from any thread.
  public final class StopSignal: Sendable {
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC))

    /// A signal that was not sent yet.
    public init() {}

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the wait that goes on and all that follow.
    public func send() {
      eventfd_write(descriptor, 1)
    }

    /// Waits for `events` of poll(2) on a descriptor; false when it is time to stop.
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
