import Dispatch
import Glibc
import HoldfastLinuxDevice
import Synchronization

/// The meaning of a signal for a command.
package enum CommandSignal: Sendable, Hashable {
  /// A request to stop in an orderly way: SIGTERM, SIGINT, or SIGHUP after the terminal has closed.
  case stop
  /// A request to reload the files: SIGHUP.
  case reload
}

/// The signals that a command handles. While a value of this type exists, they do not end the
/// process.
package struct CommandSignals: Sendable {
  /// The signals received after initialization. If more than 16 are unread, the oldest are dropped.
  package let stream: AsyncStream<CommandSignal>
  private let continuation: AsyncStream<CommandSignal>.Continuation

  private static let meanings: [(signal: Int32, meaning: CommandSignal)] = [
    (SIGTERM, .stop), (SIGINT, .stop), (SIGHUP, .reload),
  ]

  /// Creates a value that handles all of these signals.
  ///
  /// Both closures run on a separate queue, so they run even while all other threads are blocked.
  ///
  /// - Parameters:
  ///   - onSecondStop: A function that is called for the second stop request and for each later
  ///     one.
  ///   - stopping: A function that is called for the first stop request.
  package init(
    onSecondStop: @escaping @Sendable () -> Void = {}, stopping: @escaping @Sendable () -> Void = {}
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
        case .secondStop: onSecondStop()
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

  /// Ends the process after the second stop request.
  @Sendable package static func abandon(_ command: String) -> Never {
    Terminal.restore()
    Console.abandon("\(command): ended immediately by a second signal")
  }

  /// Makes the process end if standard output stays blocked for 2 s.
  ///
  /// Call this when the process begins to exit.
  @Sendable package static func watchOutput(of command: String) {
    Console.watchOutput {
      Terminal.restore()
      Console.abandon("\(command): standard output is blocked; ended without writing the rest")
    }
  }

  /// Runs `work`, and cancels it when one of the signals arrives.
  ///
  /// - Parameters:
  ///   - onSecondStop: A function that is called for the second stop request and for each later
  ///     one.
  ///   - stopping: A function that is called for the first stop request.
  ///   - output: An output whose failure also cancels the work; `nil` for none.
  package static func cancelling<Value: Sendable, Failure: Error>(
    onSecondStop: @escaping @Sendable () -> Void = {},
    stopping: @escaping @Sendable () -> Void = {}, output: OrderlyOutput? = nil,
    _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let signals = CommandSignals(onSecondStop: onSecondStop, stopping: stopping)
    let working = Task { () -> Result<Value, Failure> in
      do throws(Failure) {
        return .success(try await work())
      } catch {
        return .failure(error)
      }
    }
    output?.whenBroken { working.cancel() }
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

/// The stop requests that a program has received. The type distinguishes a second request from a
/// duplicate of the first.
public struct StopRequests: Sendable {
  /// The meaning of a signal.
  public enum Meaning: Sendable, Hashable {
    /// A request to stop in an orderly way.
    case stop
    /// A duplicate delivery of the first request.
    case echo
    /// A request to stop immediately.
    case secondStop
  }

  /// The interval after the first signal in which the same signal counts as a duplicate.
  ///
  /// `timeout` sends its signal both to the program and to the process group, some microseconds
  /// apart.
  public static let echo = Duration.milliseconds(100)

  private var first: (signal: Int32, at: ContinuousClock.Instant)?

  /// Creates a value that has recorded no signal.
  public init() {}

  /// Records a signal at the time of its delivery and returns its meaning.
  public mutating func take(_ signal: Int32, at now: ContinuousClock.Instant) -> Meaning {
    guard let first else {
      first = (signal, now)
      return .stop
    }
    return first.signal == signal && first.at.duration(to: now) < Self.echo ? .echo : .secondStop
  }
}
