import OwnerFiles
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One run of a program; it is always reaped, and no signal of ours can hit a stranger.
final class HookProcess: Sendable {
  enum Ending: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
    /// By us.
    case stopped
  }

  struct Failure: Error {
    var reason: String

    init(_ code: Int32) {
      reason = unsafe String(cString: strerror(code))
    }
  }

  private enum State {
    case running(isStopped: Bool, CheckedContinuation<Ending, Never>?)
    case ended(Ending)
  }

  private let identifier: pid_t
  private let state = Mutex(State.running(isStopped: false, nil))

  private init(_ identifier: pid_t) {
    self.identifier = identifier
  }

  /// Why `program` cannot be started as it is now; `nil` when nothing speaks against it.
  static func obstacle(to program: String) -> Failure? {
    var status = stat()
    guard unsafe stat(program, &status) == 0 else { return Failure(errno) }
    if status.st_mode & S_IFMT == S_IFDIR { return Failure(EISDIR) }
    return unsafe access(program, X_OK) == 0 ? nil : Failure(errno)
  }

  /// Starts `program` with all of `input`, at most a few KiB, waiting on its standard input.
  static func start(_ program: String, input: [UInt8]) -> Result<HookProcess, Failure> {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return .failure(Failure(errno)) }
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A pipe holds at least 16 KiB, so all of it goes in before anybody reads.
    let count = unsafe write(ends[1], input, input.count)
    close(ends[1])
    guard count == input.count else { return .failure(Failure(EIO)) }
    var identifier: pid_t = 0
    var spawn = Spawn(program, [program], environment: environment, isClosed: true)
    spawn.streams.input = ends[0]
    let code = spawn.start(&identifier)
    guard code == 0 else { return .failure(Failure(code)) }
    let process = HookProcess(identifier)
    if !process.watch() {
      process.stop()
      process.reap()
    }
    return .success(process)
  }

  /// Waits for its end; call it once.
  func ended() async -> Ending {
    await withCheckedContinuation { continuation in
      let ending: Ending? = state.withLock {
        switch $0 {
        case .running(let isStopped, _):
          $0 = .running(isStopped: isStopped, continuation)
          return nil
        case .ended(let ending): return ending
        }
      }
      if let ending { continuation.resume(returning: ending) }
    }
  }

  /// Kills it and what it started; nothing happens when it has ended.
  func stop() {
    state.withLock {
      guard case .running(_, let continuation) = $0 else { return }
      _ = kill(-identifier, SIGKILL)
      $0 = .running(isStopped: true, continuation)
    }
  }

  /// Reaps it on a thread of its own; false when there is none to be had.
  private func watch() -> Bool {
    let passenger = unsafe Unmanaged.passRetained(self)
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread: pthread_t = 0
    #endif
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        #if canImport(Darwin)
          unsafe Unmanaged<HookProcess>.fromOpaque(argument).takeRetainedValue().reap()
        #else
          // A proven impossibility: `watch` passes the process.
          guard let argument = unsafe argument else { preconditionFailure("no process to reap") }
          unsafe Unmanaged<HookProcess>.fromOpaque(argument).takeRetainedValue().reap()
        #endif
        return nil
      }, passenger.toOpaque())
    guard code == 0 else {
      unsafe passenger.release()
      return false
    }
    #if canImport(Darwin)
      if let thread = unsafe thread { unsafe pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
    return true
  }

  /// Waits without freeing the number, which is done under the lock that `stop` takes.
  private func reap() {
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (ending, continuation) = state.withLock { state in
      var word: Int32 = 0
      _ = unsafe waitpid(identifier, &word, 0)
      let ended = Self.ending(of: word)
      guard case .running(let isStopped, let continuation) = state else {
        return (ended, CheckedContinuation<Ending, Never>?.none)
      }
      let ending = isStopped ? .stopped : ended
      state = .ended(ending)
      return (ending, continuation)
    }
    continuation?.resume(returning: ending)
  }

  /// The low seven bits are the signal, zero after an exit; the code stands in the next byte.
  private static func ending(of word: Int32) -> Ending {
    word & 0x7f == 0 ? .exited((word >> 8) & 0xff) : .signalled(word & 0x7f)
  }
}

extension HookProcess {
  /// What the program may know of our environment; anything else may hold a secret.
  private static let inherited = ["HOME", "LANG", "PATH", "TZ"]

  private static var environment: [String] {
    inherited.compactMap { name in
      unsafe getenv(name).map { unsafe "\(name)=\(String(cString: $0))" }
    }
  }
}
