#if canImport(Darwin)
  import Darwin
#else
  import CHoldfastLinux
  import Glibc
#endif

/// A poller that reports which descriptors are ready. Idle descriptors do not add to its cost.
@safe final class Poller {
  /// The owner of a watched descriptor.
  enum Owner {
    case wake
    case transfers(Transfers)
    case socket(UInt64)
  }

  private let queue: Int32
  private var owners: [Int32: Owner] = [:]
  #if canImport(Darwin)
    private var found = unsafe [kevent](repeating: kevent(), count: Poller.mostAtOnce)
  #else
    private var found = unsafe [epoll_event](repeating: epoll_event(), count: Poller.mostAtOnce)
  #endif

  /// The maximum number of descriptors in a turn. The next turn reports further ones.
  private static let mostAtOnce = 64

  /// Creates a poller; `nil` if the process cannot open more descriptors.
  init?() {
    #if canImport(Darwin)
      queue = kqueue()
    #else
      queue = epoll_create1(Int32(EPOLL_CLOEXEC))
    #endif
    guard queue >= 0 else { return nil }
  }

  deinit {
    _ = close(queue)
  }

  /// Returns the owner of a descriptor; `nil` if the descriptor is no longer watched.
  subscript(descriptor: Int32) -> Owner? { owners[descriptor] }

  /// Watches a descriptor, and reports it as long as it is ready for an operation. Returns false if
  /// the system refuses to watch it.
  func watch(_ descriptor: Int32, _ readiness: Readiness, for owner: Owner) -> Bool {
    owners[descriptor] = owner
    return set(descriptor, readiness, isEdgeTriggered: false)
  }

  /// Watches a descriptor, and reports it each time it becomes readable or writable again. Returns
  /// false if the system refuses to watch it.
  func watchChanges(of descriptor: Int32, for owner: Owner) -> Bool {
    owners[descriptor] = owner
    return set(descriptor, [.read, .write], isEdgeTriggered: true)
  }

  /// Stops watching a descriptor. It must be called before the descriptor is closed.
  func forget(_ descriptor: Int32) {
    guard owners.removeValue(forKey: descriptor) != nil else { return }
    _ = set(descriptor, [], isEdgeTriggered: false)
  }
}

#if canImport(Darwin)
  extension Poller {
    private func set(_ descriptor: Int32, _ readiness: Readiness, isEdgeTriggered: Bool) -> Bool {
      for (bit, filter) in [(Readiness.read, EVFILT_READ), (.write, EVFILT_WRITE)] {
        let verb = readiness.contains(bit) ? EV_ADD | (isEdgeTriggered ? EV_CLEAR : 0) : EV_DELETE
        var change = unsafe kevent(
          ident: UInt(descriptor), filter: Int16(filter), flags: UInt16(verb), fflags: 0, data: 0,
          udata: nil)
        // The system returns an error when it is asked to delete a filter that does not exist.
        guard unsafe kevent(queue, &change, 1, nil, 0, nil) == 0 || verb == EV_DELETE else {
          return false
        }
      }
      return true
    }

    /// Sleeps until a descriptor is ready, for at most `milliseconds`; -1 means no limit.
    func wait(_ milliseconds: Int32) -> [(descriptor: Int32, readiness: Readiness)] {
      var limit = timespec(
        tv_sec: Int(milliseconds) / 1000, tv_nsec: Int(milliseconds) % 1000 * 1_000_000)
      let room = Int32(Self.mostAtOnce)
      let count = unsafe withUnsafePointer(to: &limit) {
        unsafe kevent(queue, nil, 0, &found, room, milliseconds < 0 ? nil : $0)
      }
      return (0..<Int(max(0, count))).map { index in
        let event = unsafe found[index]
        return unsafe (
          Int32(event.ident), event.filter == Int16(EVFILT_READ) ? .read : .write
        )
      }
    }
  }
#else
  extension Poller {
    private func set(_ descriptor: Int32, _ readiness: Readiness, isEdgeTriggered: Bool) -> Bool {
      var event = unsafe epoll_event()
      unsafe event.events =
        (readiness.contains(.read) ? EPOLLIN.rawValue : 0)
        | (readiness.contains(.write) ? EPOLLOUT.rawValue : 0)
        | (isEdgeTriggered ? EPOLLET.rawValue : 0)
      unsafe event.data.fd = descriptor
      guard !readiness.isEmpty else {
        return unsafe epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, &event) == 0
      }
      return unsafe epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event) == 0
        || epoll_ctl(queue, EPOLL_CTL_MOD, descriptor, &event) == 0
    }

    /// Sleeps until a descriptor is ready, for at most `milliseconds`; -1 means no limit.
    func wait(_ milliseconds: Int32) -> [(descriptor: Int32, readiness: Readiness)] {
      let count = unsafe epoll_wait(queue, &found, Int32(Self.mostAtOnce), milliseconds)
      return (0..<Int(max(0, count))).map { index in
        let event = unsafe found[index]
        // An error or a hang-up is reported as both readable and writable. The read or write then
        // determines which of them occurred.
        var readiness: Readiness = []
        if unsafe event.events & ~EPOLLOUT.rawValue != 0 { readiness.insert(.read) }
        if unsafe event.events & ~EPOLLIN.rawValue != 0 { readiness.insert(.write) }
        return unsafe (event.data.fd, readiness)
      }
    }
  }
#endif
