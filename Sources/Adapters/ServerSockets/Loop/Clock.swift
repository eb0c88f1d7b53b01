import Glibc
import LinkCore

/// The clock that deadlines are read from.
enum Clock {
  /// Goes on while the machine sleeps, and never jumps.
  static var now: Instant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
