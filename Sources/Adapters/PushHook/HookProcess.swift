import Synchronization

#if canImport(Glibc)
  import CLinux
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
    let code = Spawn.start(&identifier, program, input: ends[0])
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

/// How the program is started: apart from this process in all but what it must have.
private enum Spawn {
  /// What it may know of our environment; anything else may hold a secret.
  private static let inherited = ["HOME", "LANG", "PATH", "TZ"]

  static func start(_ identifier: inout pid_t, _ program: String, input: Int32) -> Int32 {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t? = nil
      var attributes: posix_spawnattr_t? = nil
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    for stream: Int32 in [1, 2] {
      unsafe posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0)
    }
    var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    #endif
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    return unsafe withCStrings([program]) { words in
      unsafe withCStrings(environment()) { environment in
        unsafe posix_spawn(&identifier, program, &actions, &attributes, words, environment)
      }
    }
  }

  private static func environment() -> [String] {
    inherited.compactMap { name in
      unsafe getenv(name).map { unsafe "\(name)=\(String(cString: $0))" }
    }
  }

  private static func withCStrings<R>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
  ) -> R {
    let copies = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}
