#if os(Linux)
  import CLinux
  public import Glibc

  /// A signal that makes a thread waiting in `poll` end; usable from any thread.
  public final class StopSignal: Sendable {
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC))

    /// Creates a signal that is not sent yet.
    public init() {}

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the current wait and all later ones.
    public func send() {
      eventfd_write(descriptor, 1)
    }

    /// Waits for `events` of poll(2) on a descriptor; returns false once the signal is sent.
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
