#if os(Linux)
  import CLinux
  import Glibc

  /// Wakes a thread that waits in `poll`, so that it ends; usable from any thread.
  final class StopSignal: Sendable {
    let descriptor = eventfd(0, Int32(EFD_CLOEXEC))

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    func send() {
      eventfd_write(descriptor, 1)
    }

    /// Waits for `other` to have something to read; false when it is time to stop.
    func allowsWaiting(for other: Int32, events: Int16 = Int16(POLLIN)) -> Bool {
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
