import Dispatch
import HoldfastCore
import Synchronization

#if canImport(Glibc)
  import CHoldfastLinux
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that runs as a child of this process. It is always reaped.
///
/// The process ID is released under the same lock that is held while a signal is sent. A signal
/// therefore never reaches another process that was later given the same ID.
package final class ChildProcess: Sendable {
  /// The way in which a program ended.
  package enum Ending: Sendable, Equatable {
    /// The program exited with a status.
    case exited(Int32)
    /// A signal ended the program.
    case signalled(Int32)

    /// Decodes a wait status. The low seven bits are a signal, or zero after an exit. The next byte
    /// is the exit status.
    init(waitStatus status: Int32) {
      self = status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signalled(status & 0x7F)
    }
  }

  private enum State {
    /// No caller waits for the exit. The process is not reaped, so that its ID stays valid and its
    /// group can
    /// be killed.
    case unattended
    case attended([@Sendable (Ending) -> Void])
    case ended(Ending)
  }

  /// The process ID.
  package let identifier: Int32
  /// The target of signals: the process ID, or the negated ID of the group.
  private let target: Int32
  private let keeper: GroupKeeper?
  private let state = Mutex(State.unattended)

  /// Starts a program.
  package init(_ launch: ChildLaunch) throws(ChildFailure) {
    var launch = launch
    // If the shell cannot be started, the program itself leads the group.
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
  /// - Returns: False if the process has ended.
  @discardableResult
  package func signal(_ number: Int32) -> Bool { send(number, to: target) }

  /// Sends a signal to the process alone, even if it leads a group.
  ///
  /// - Returns: False if the process has ended.
  @discardableResult
  package func signalAlone(_ number: Int32) -> Bool { send(number, to: identifier) }

  private func send(_ number: Int32, to target: Int32) -> Bool {
    state.withLock {
      if case .ended = $0 { return false }
      _ = kill(target, number)
      return true
    }
  }

  /// Calls `body` once the process has ended, or immediately if it has already ended.
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

  /// Waits until the process has ended.
  package func ended() async -> Ending {
    await withCheckedContinuation { continuation in
      whenEnded { continuation.resume(returning: $0) }
    }
  }

  /// Blocks the calling thread until the process has ended. Returns `nil` if it still runs after
  /// `limit`.
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

  /// Waits for the end without releasing the process ID, and then releases the ID under the lock.
  private func reap() {
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    var status: Int32 = 0
    var waiting: [@Sendable (Ending) -> Void] = []
    state.withLock {
      // If SIGCHLD is ignored, the status is lost. A lost status must not appear as a success.
      if unsafe waitpid(identifier, &status, 0) != identifier { status = 127 << 8 }
      if case .attended(let bodies) = $0 { waiting = bodies }
      $0 = .ended(Ending(waitStatus: status))
    }
    for body in waiting { body(Ending(waitStatus: status)) }
    keeper?.end()
  }
}

/// The reason why a program could not be started.
package struct ChildFailure: Error {
  /// The system's error number (`errno`).
  package var code: Int32

  /// Creates a failure with an error number.
  package init(code: Int32) {
    self.code = code
  }

  /// The system's description of the error.
  package var reason: String { unsafe String(cString: strerror(code)) }
}

/// A pipe that children do not inherit, except as a standard stream.
package struct Pipe: Sendable {
  /// The end to read from.
  package let reading: Int32
  /// The end to write to.
  package let writing: Int32

  /// Opens a pipe. The caller must close both ends.
  package init() throws(ChildFailure) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      // The flag is set in the same call, because another thread could start a program between two
      // calls.
      guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else { throw ChildFailure(code: errno) }
    #else
      guard unsafe pipe(&ends) == 0 else { throw ChildFailure(code: errno) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #endif
    (reading, writing) = (ends[0], ends[1])
  }
}
