import LinkCore
import LinkJSON
public import LinkRuntime
public import LinkWire
import Synchronization

/// Wakes a phone by a program of the operator's: one run a push, told on its standard input.
///
/// Started without a shell and without words, in a process group of its own, with `PATH`, `HOME`,
/// `LANG` and `TZ` as its whole environment; what it prints is thrown away. It reads one line:
///
///     {"event":"wake","address":"…","expires_at":"2026-01-01T00:00:00Z","collapse_id":"…"}
///
/// It says what became of the push by its exit code, in the words of sysexits.h: 0 delivered, 67 or
/// 68 (no such user, no such host) gone, 75 (try later) too many, any other failed.
public final class HookSender: PushSender {
  /// Programs that run at once; a push beyond them is refused for a second.
  public static let limit = 8
  /// How long a program that asked for patience (75) is given.
  public static let patience = Duration.seconds(30)

  private let program: String
  private let timeLimit: Duration
  private let clock: any LinkClock
  private let running = Mutex(0)

  /// - Parameters:
  ///   - program: The path of an executable file.
  ///   - timeLimit: After it the program and what it started are killed.
  public init(
    program: String, timeLimit: Duration = .seconds(10), clock: any LinkClock = BootClock()
  ) {
    (self.program, self.timeLimit, self.clock) = (program, timeLimit, clock)
  }

  /// Why the program cannot be run as it is now, in the system's words; `nil` when it can.
  public var obstacle: String? { HookProcess.obstacle(to: program)?.reason }

  /// Runs the program once.
  public func send(_ push: Push) async -> PushOutcome {
    guard case .hook(let word) = push.address else {
      return .failed(cause: "the address is none of the hook")
    }
    guard enter() else { return .tooMany(retryAfter: .seconds(1)) }
    defer { running.withLock { $0 -= 1 } }
    switch HookProcess.start(program, input: Self.line(push, word)) {
    case .failure(let failure):
      return .failed(cause: "the hook could not be started: \(failure.reason)")
    case .success(let process): return await outcome(of: process)
    }
  }

  private func enter() -> Bool {
    running.withLock { running in
      guard running < Self.limit else { return false }
      running += 1
      return true
    }
  }

  private func outcome(of process: HookProcess) async -> PushOutcome {
    let deadline = clock.now.advanced(by: timeLimit)
    let ending = await withTaskGroup(of: Void.self) { [clock] group in
      group.addTask {
        guard (try? await clock.wait(until: deadline)) != nil else { return }
        process.stop()
      }
      let ending = await process.ended()
      group.cancelAll()
      return ending
    }
    switch ending {
    case .exited(0): return .delivered
    case .exited(67), .exited(68): return .gone
    case .exited(75): return .tooMany(retryAfter: Self.patience)
    case .exited(let code): return .failed(cause: "the hook exited with \(code)")
    case .stopped: return .failed(cause: "the hook took over \(timeLimit.text)")
    case .signalled(let number): return .failed(cause: "the hook was ended by signal \(number)")
    }
  }

  private static func line(_ push: Push, _ word: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    for (name, value) in [
      ("event", "wake"), ("address", word), ("expires_at", RFC3339.format(push.expiresAt)),
      ("collapse_id", push.collapseID),
    ] {
      writer.entry(name, value)
    }
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
