import Dispatch
import LinkCore
import Synchronization

#if canImport(Glibc)
  import CLinux
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that runs as a child of this process; it is always reaped.
///
/// Its number is freed under the lock that signals take, so that no signal reaches a process that
/// got the number later.
package final class ChildProcess: Sendable {
  /// The way in which a program ended.
  package enum Ending: Sendable, Equatable {
    /// It exited with a status.
    case exited(Int32)
    /// A signal ended it.
    case signalled(Int32)

    /// The low seven bits name a signal, zero after an exit; the status stands in the next byte.
    init(word: Int32) {
      self = word & 0x7F == 0 ? .exited((word >> 8) & 0xFF) : .signalled(word & 0x7F)
    }
  }

  private enum State {
    /// Its end is not waited for: it keeps its number, so that its group can be killed.
    case unattended
    case attended([@Sendable (Ending) -> Void])
    case ended(Ending)
  }

  /// The number of the process.
  package let identifier: Int32
  /// The number that signals go to: negative for the whole group.
  private let target: Int32
  private let keeper: GroupKeeper?
  private let state = Mutex(State.unattended)

  /// Starts a program.
  package init(_ launch: ChildLaunch) throws(ChildFailure) {
    var launch = launch
    // Where there is no shell, it leads the group itself.
    keeper = launch.leadsGroup ? try? GroupKeeper() : nil
    if let keeper { launch.group = keeper.identifier }
    do throws(ChildFailure) {
      identifier = try launch.spawn()
    } catch {
      keeper?.end()
      throw error
    }
    target = launch.leadsGroup ? -(keeper?.identifier ?? identifier) : identifier
  }

  deinit {
    guard ending == nil else { return }
    signal(SIGKILL)
    reap()
  }

  /// Sends a signal to the process, or to its group if it leads one.
  ///
  /// Returns false if it has ended.
  @discardableResult
  package func signal(_ number: Int32) -> Bool {
    state.withLock {
      if case .ended = $0 { return false }
      _ = kill(target, number)
      return true
    }
  }

  /// Calls `body` once it has ended; at once if it ended before.
  package func whenEnded(_ body: @escaping @Sendable (Ending) -> Void) {
    let ending: Ending? = state.withLock {
      switch $0 {
      case .unattended:
        $0 = .attended([body])
        DispatchQueue(label: "holdfast.child").async { self.reap() }
      case .attended(let bodies): $0 = .attended(bodies + [body])
      case .ended(let ending): return ending
      }
      return nil
    }
    if let ending { body(ending) }
  }

  /// Waits for its end.
  package func ended() async -> Ending {
    await withCheckedContinuation { continuation in
      whenEnded { continuation.resume(returning: $0) }
    }
  }

  /// Waits for its end on the calling thread; `nil` if it still runs after `limit`.
  @discardableResult
  package func wait(atMost limit: Duration? = nil) -> Ending? {
    let ended = DispatchSemaphore(value: 0)
    whenEnded { _ in ended.signal() }
    let end = limit.map { .now() + .nanoseconds(Int($0.nanoseconds)) } ?? DispatchTime.distantFuture
    _ = ended.wait(timeout: end)
    return ending
  }

  private var ending: Ending? {
    state.withLock { if case .ended(let ending) = $0 { ending } else { nil } }
  }

  /// Waits for the end without freeing the number, and then frees it under the lock.
  private func reap() {
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    var word: Int32 = 0
    var waiting: [@Sendable (Ending) -> Void] = []
    state.withLock {
      // Where SIGCHLD is ignored the status is lost, which must not count as success.
      if unsafe waitpid(identifier, &word, 0) != identifier { word = 127 << 8 }
      if case .attended(let bodies) = $0 { waiting = bodies }
      $0 = .ended(Ending(word: word))
    }
    for body in waiting { body(Ending(word: word)) }
    keeper?.end()
  }
}

/// The reason for which a program could not be started.
package struct ChildFailure: Error {
  /// The error number of the system.
  package var code: Int32

  /// Makes a failure of an error number.
  package init(code: Int32) {
    self.code = code
  }

  /// The reason in the words of the system.
  package var reason: String { unsafe String(cString: strerror(code)) }
}

/// A pipe that no child inherits except as a standard stream.
package struct Pipe: Sendable {
  /// The end to read from.
  package let reading: Int32
  /// The end to write to.
  package let writing: Int32

  /// Opens a pipe; the caller closes both ends.
  package init() throws(ChildFailure) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      // In one step, since another thread may start a program between two.
      guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else { throw ChildFailure(code: errno) }
    #else
      guard unsafe pipe(&ends) == 0 else { throw ChildFailure(code: errno) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #endif
    (reading, writing) = (ends[0], ends[1])
  }
}
