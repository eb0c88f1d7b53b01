import HoldfastChildProcesses
import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastJSON
public import HoldfastPorts
public import HoldfastRelayData
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A sender that wakes phones through a program that the operator provides. It runs once per push.
///
/// The program starts without a shell and without arguments, in its own process group. Its
/// environment contains only `PATH`, `HOME`, `LANG` and `TZ`. Its output is discarded. It reads one
/// line from its standard input:
///
///     {"event":"wake","address":"…","expires_at":"2026-01-01T00:00:00Z","collapse_id":"…"}
///
/// The exit code determines the outcome of the push, as in sysexits.h: 0 is delivered, 67 or 68 (no
/// such user, no such host) is gone, 75 (try later) is too many, and any other code is failed.
public final class HookSender: PushSender {
  /// The maximum number of programs that run at once. A further push is refused with a retry-after
  /// of 1 s.
  public static let limit = 8
  /// The retry-after of a push whose program exited with 75.
  public static let patience = Duration.seconds(30)

  private let program: String
  private let timeLimit: Duration
  private let clock: any LinkClock
  private let running = Mutex(0)

  /// Creates a sender.
  ///
  /// - Parameters:
  ///   - program: The path of an executable file.
  ///   - timeLimit: The time after which the program and its process group are killed.
  public init(
    program: String, timeLimit: Duration = .seconds(10), clock: any LinkClock = BootClock()
  ) {
    (self.program, self.timeLimit, self.clock) = (program, timeLimit, clock)
  }

  /// The system's reason why the program cannot be run now; `nil` if it can be run.
  public var obstacle: String? {
    var status = stat()
    guard unsafe stat(program, &status) == 0 else { return ChildFailure(code: errno).reason }
    if status.st_mode & S_IFMT == S_IFDIR { return ChildFailure(code: EISDIR).reason }
    return unsafe access(program, X_OK) == 0 ? nil : ChildFailure(code: errno).reason
  }

  /// Runs the program for a push, and returns the outcome.
  public func send(_ push: Push) async -> PushOutcome {
    guard case .hook(let address) = push.address else {
      return .failed(cause: "the address does not belong to the hook")
    }
    guard enter() else { return .tooMany(retryAfter: .seconds(1)) }
    defer { running.withLock { $0 -= 1 } }
    do {
      return await outcome(of: try start(input: Self.line(push, address)))
    } catch {
      return .failed(cause: "the hook could not be started: \(error.reason)")
    }
  }

  private func enter() -> Bool {
    running.withLock { running in
      guard running < Self.limit else { return false }
      running += 1
      return true
    }
  }

  /// The names of the environment variables that the program receives. Others may contain a secret.
  private static let inherited = ["HOME", "LANG", "PATH", "TZ"]

  /// Starts the program with `input` in the pipe of its standard input. The input has at most a few
  /// KiB.
  private func start(input: [UInt8]) throws(ChildFailure) -> ChildProcess {
    let pipe = try Pipe()
    defer { close(pipe.reading) }
    // A pipe holds at least 16 KiB, so the whole input fits before the program reads it.
    let count = unsafe write(pipe.writing, input, input.count)
    close(pipe.writing)
    guard count == input.count else { throw ChildFailure(code: EIO) }
    var launch = ChildLaunch(program, [program])
    launch.environment = Self.inherited.compactMap { name in
      unsafe getenv(name).map { unsafe "\(name)=\(String(cString: $0))" }
    }
    launch.input = pipe.reading
    launch.leadsGroup = true
    launch.closesOthers = true
    return try ChildProcess(launch)
  }

  private func outcome(of process: ChildProcess) async -> PushOutcome {
    let deadline = clock.now.advanced(by: timeLimit)
    let (ending, isLate) = await withTaskGroup(of: Bool.self) { [clock] group in
      group.addTask {
        (try? await clock.wait(until: deadline)) != nil && process.signal(SIGKILL)
      }
      let ending = await process.ended()
      group.cancelAll()
      return (ending, await group.next() == true)
    }
    if isLate { return .failed(cause: "the hook took longer than \(timeLimit.text)") }
    switch ending {
    case .exited(0): return .delivered
    case .exited(67), .exited(68): return .gone
    case .exited(75): return .tooMany(retryAfter: Self.patience)
    case .exited(let code): return .failed(cause: "the hook exited with \(code)")
    case .signalled(let number): return .failed(cause: "the hook was ended by signal \(number)")
    }
  }

  private static func line(_ push: Push, _ address: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    for (name, value) in [
      ("event", "wake"), ("address", address), ("expires_at", RFC3339.format(push.expiresAt)),
      ("collapse_id", push.collapseID),
    ] {
      writer.entry(name, value)
    }
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
