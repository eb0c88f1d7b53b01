import HoldfastCore
import HoldfastPorts
public import Foundation
public import Holdfast

/// The state of a connection, in the form in which screens show it.
public struct ConnectionState: Sendable, Hashable {
  /// The phase of the connection.
  public var phase: Phase
  /// The time of the next retry, or `nil` if none is scheduled.
  public var retryAt: Date?
  /// A Boolean value that indicates whether the user has to sign in again.
  public var needsSignIn: Bool
  /// The failure of the last attempt, also while further attempts are made; `nil` if there is none.
  ///
  /// In the phase `off`, no retry helps: the failure is a 403 response, for example, or a
  /// certificate that is not trusted. The model's `reconnect()` tries again.
  public var failure: LinkFailure?
  /// A text to show: the state and its reason, such as
  /// `reconnecting, attempt 3 of 10: the connection was reset`.
  public var text: String
  /// A Boolean value that indicates whether all attempts failed and no more are made.
  ///
  /// The return to the foreground starts such a connection again.
  var isExhausted = false

  /// A phase of a connection.
  public enum Phase: Sendable, Hashable {
    /// The connection was not requested, or has ended.
    case off
    /// The first connection attempts are in progress.
    case connecting
    /// The connection is established, and data arrives as soon as the server sends it.
    case live
    /// The first attempt failed or the connection was lost, and further attempts are made.
    case reconnecting
    /// Data is fetched at intervals.
    case polling
  }

  /// Creates a state. By default, it describes a connection that has not been opened.
  public init(
    phase: Phase = .off, retryAt: Date? = nil, needsSignIn: Bool = false,
    failure: LinkFailure? = nil, text: String = "disconnected"
  ) {
    (self.phase, self.retryAt, self.needsSignIn) = (phase, retryAt, needsSignIn)
    (self.failure, self.text) = (failure, text)
  }

  /// Creates a state from the parts of a feature's status. Only a final status can be exhausted.
  init(
    _ phase: Phase, retryAt: Date?, _ reason: LinkStatus.Reason?, _ failure: LinkFailure?,
    text: String, isFinal: Bool
  ) {
    self.init(
      phase: phase, retryAt: retryAt, needsSignIn: reason == .signIn, failure: failure, text: text)
    if case .exhausted = reason { isExhausted = isFinal }
  }
}

/// A converter from the instants of a clock to dates.
struct Dates {
  let clock: any LinkClock

  var now: Date { Date(clock.wall) }

  func date(of instant: Instant) -> Date {
    Date(clock.wall.advanced(by: clock.now.duration(to: instant)))
  }
}

/// The results of numbered requests, and the tasks that wait for these results.
@MainActor final class Answers<Answer: Sendable> {
  private var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
  private var early: [UInt64: Answer] = [:]
  private var isOver = false

  /// Returns the result of a request, or `nil` if no more results arrive.
  ///
  /// Only one task may wait for each request.
  func answer(to number: UInt64) async -> Answer? {
    if let known = early.removeValue(forKey: number) { return known }
    if isOver { return nil }
    return await withCheckedContinuation { waiting[number] = $0 }
  }

  /// Delivers the result of a request.
  func give(_ answer: Answer, to number: UInt64) {
    if let task = waiting.removeValue(forKey: number) {
      task.resume(returning: answer)
    } else {
      early[number] = answer
    }
  }

  /// Ends all waiting tasks with `nil`.
  func end() {
    isOver = true
    let tasks = waiting.values
    waiting = [:]
    for task in tasks { task.resume(returning: nil) }
  }
}

/// A task that passes updates to a model on the main actor.
///
/// The task runs from the first call of `start` or `follow` until the sequence of updates ends,
/// even while no screen is shown. A screen that reappears therefore shows a complete model.
@MainActor final class Feed {
  private var pump: Task<Void, Never>?
  private var followers: [Int: AsyncStream<Never>.Continuation] = [:]
  private var last = 0
  private var isOver = false

  deinit { pump?.cancel() }

  /// Starts `run` unless it is already running.
  func start(_ run: @escaping @MainActor () async -> Void) {
    guard pump == nil else { return }
    pump = Task { [weak self] in
      await run()
      self?.end()
    }
  }

  /// Starts `run` unless it is already running. Returns when `run` has ended.
  ///
  /// Also returns when the current task is cancelled.
  func follow(_ run: @escaping @MainActor () async -> Void) async {
    start(run)
    guard !isOver else { return }
    last += 1
    let number = last
    let (wait, continuation) = AsyncStream.makeStream(of: Never.self)
    followers[number] = continuation
    for await _ in wait {}
    followers[number] = nil
  }

  private func end() {
    isOver = true
    for looker in followers.values { looker.finish() }
  }
}
