import Dispatch
import Glibc
import LifecycleSystem
import Synchronization

/// A request that a signal makes.
package enum CommandSignal: Sendable, Hashable {
  /// SIGTERM or SIGINT, or SIGHUP of a terminal that was closed: end in an orderly way.
  case stop
  /// SIGHUP: read the files again.
  case reload
}

/// The signals that a command handles; while it exists they do not end the process by themselves.
package struct CommandSignals: Sendable {
  /// The requests from now on; of more than 16 unread ones the oldest are dropped.
  package let stream: AsyncStream<CommandSignal>
  private let continuation: AsyncStream<CommandSignal>.Continuation

  private static let meanings: [(signal: Int32, meaning: CommandSignal)] = [
    (SIGTERM, .stop), (SIGINT, .stop), (SIGHUP, .reload),
  ]

  /// Returns when all signals are handled.
  ///
  /// Both closures run on a queue of their own, also while all other threads are blocked.
  ///
  /// - Parameters:
  ///   - hurry: called for the second request to stop and each later one.
  ///   - stopping: called for the first request to stop.
  package init(
    hurry: @escaping @Sendable () -> Void = {}, stopping: @escaping @Sendable () -> Void = {}
  ) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CommandSignal.self, bufferingPolicy: .bufferingNewest(16))
    let requests = Mutex(StopRequests())
    let queue = DispatchQueue(label: "holdfast.command.signals")
    let signals = Self.meanings.map { (signal: $0.signal, meaning: $0) }
    let sources = SignalSources(signals, on: queue) { signal, found in
      let meaning = found == .reload && ControllingTerminal.isClosed ? .stop : found
      if meaning == .stop {
        switch requests.withLock({ $0.take(signal, at: .now) }) {
        case .stop: stopping()
        case .echo: return
        case .hurry: hurry()
        }
      }
      continuation.yield(meaning)
    }
    continuation.onTermination = { _ in sources.cancel() }
    self.stream = stream
    self.continuation = continuation
  }

  /// Ends the stream.
  package func finish() {
    continuation.finish()
  }

  /// Ends the process at the second request to stop.
  @Sendable package static func abandon(_ command: String) -> Never {
    Terminal.restore()
    Console.abandon("\(command): ended immediately by a second signal")
  }

  /// Ends the process, on its way out, if standard output stays blocked for 2 s.
  @Sendable package static func watchOutput(of command: String) {
    Console.watchOutput {
      Terminal.restore()
      Console.abandon("\(command): standard output is blocked; ended without writing the rest")
    }
  }

  /// Runs `work`, which any of the signals cancels.
  ///
  /// - Parameters:
  ///   - hurry: called for the second request to stop and each later one.
  ///   - stopping: called for the first request to stop.
  package static func cancelling<Value: Sendable, Failure: Error>(
    hurry: @escaping @Sendable () -> Void = {}, stopping: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let signals = CommandSignals(hurry: hurry, stopping: stopping)
    let working = Task { () -> Result<Value, Failure> in
      do throws(Failure) {
        return .success(try await work())
      } catch {
        return .failure(error)
      }
    }
    let listening = Task {
      for await _ in signals.stream { working.cancel() }
    }
    defer {
      signals.finish()
      listening.cancel()
    }
    return try await working.value.get()
  }
}

/// The signals that ask a program to end, and which of them is a second request.
public struct StopRequests: Sendable {
  /// The meaning of one signal.
  public enum Meaning: Sendable, Hashable {
    /// The program is to end in an orderly way.
    case stop
    /// Another delivery of the first request.
    case echo
    /// The program is to end immediately.
    case hurry
  }

  /// The same signal within this time of the first belongs to the first request: `timeout` sends it
  /// to the program and to its process group, some microseconds apart.
  public static let echo = Duration.milliseconds(100)

  private var first: (signal: Int32, at: ContinuousClock.Instant)?

  /// No signal yet.
  public init() {}

  /// Takes a signal at the time of its delivery.
  public mutating func take(_ signal: Int32, at now: ContinuousClock.Instant) -> Meaning {
    guard let first else {
      first = (signal, now)
      return .stop
    }
    return first.signal == signal && first.at.duration(to: now) < Self.echo ? .echo : .hurry
  }
}
