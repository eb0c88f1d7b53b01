import CHoldfastLinux
import Glibc
import HoldfastCore

/// A set of operations that a descriptor is watched for. Errors and hang-ups are always reported.
struct Interest: OptionSet {
  let rawValue: UInt8
  static let read = Interest(rawValue: 1)
  static let write = Interest(rawValue: 2)
  /// The end of the client's writing side (EPOLLRDHUP).
  static let end = Interest(rawValue: 4)

  fileprivate var flags: UInt32 {
    (contains(.read) ? EPOLLIN.rawValue : 0) | (contains(.write) ? EPOLLOUT.rawValue : 0)
      | (contains(.end) ? EPOLLRDHUP.rawValue : 0)
  }
}

/// A descriptor that is ready, and what it is ready for.
struct Readiness {
  let token: UInt64
  let isReadable: Bool
  let isWritable: Bool
  /// Whether the client shut down its writing side; always false unless `end` is watched.
  let isEnded: Bool
  /// Whether the connection is closed in both directions (EPOLLHUP, EPOLLERR).
  let isBroken: Bool
}

/// A level-triggered epoll set.
@safe final class Poller {
  private let descriptor: Int32
  private let ready: UnsafeMutableBufferPointer<epoll_event>

  init() throws(SocketServerError) {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw .system(call: "epoll_create1", errno: errno) }
    unsafe ready = .allocate(capacity: 256)
    unsafe ready.initialize(repeating: epoll_event())
  }

  deinit {
    close(descriptor)
    unsafe ready.deallocate()
  }

  /// Starts watching a descriptor. Returns the `errno` if the kernel refuses.
  func add(_ target: Int32, _ interest: Interest, token: UInt64) -> Int32? {
    control(EPOLL_CTL_ADD, target, interest, token)
  }

  func change(_ target: Int32, _ interest: Interest, token: UInt64) {
    _ = control(EPOLL_CTL_MOD, target, interest, token)
  }

  func remove(_ target: Int32) {
    _ = control(EPOLL_CTL_DEL, target, [], 0)
  }

  private func control(_ verb: Int32, _ target: Int32, _ interest: Interest, _ token: UInt64)
    -> Int32?
  {
    var event = unsafe epoll_event()
    unsafe event.events = interest.flags
    unsafe event.data.u64 = token
    return unsafe epoll_ctl(descriptor, verb, target, &event) == 0 ? nil : errno
  }

  /// Waits for activity for at most `limit`; `nil` means no limit.
  func wait(atMost limit: Duration?) -> [Readiness] {
    let count = unsafe epoll_wait(
      descriptor, ready.baseAddress, Int32(ready.count), limit.map(Self.milliseconds) ?? -1)
    guard count > 0 else { return [] }
    return (0..<Int(count)).map { index in
      let event = unsafe ready[index]
      let flags = unsafe event.events
      return Readiness(
        token: unsafe event.data.u64,
        isReadable: flags & EPOLLIN.rawValue != 0,
        isWritable: flags & EPOLLOUT.rawValue != 0,
        isEnded: flags & EPOLLRDHUP.rawValue != 0,
        isBroken: flags & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0)
    }
  }

  /// Returns whole milliseconds, at most a day. They are rounded up, so that the loop does not wake
  /// just before a deadline and wait again.
  private static func milliseconds(_ duration: Duration) -> Int32 {
    let nanoseconds = max(0, min(duration.nanoseconds, 86_400_000_000_000))
    return Int32((nanoseconds + 999_999) / 1_000_000)
  }
}
