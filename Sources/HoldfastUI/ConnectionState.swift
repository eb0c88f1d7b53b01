public import Foundation
public import Holdfast

/// What a screen shows of a connection.
public struct ConnectionState: Sendable, Hashable {
  /// Where it stands.
  public var phase: Phase
  /// When the next try is made; `nil` when none waits for a time.
  public var retryAt: Date?
  /// Whether the user has to sign in again.
  public var needsSignIn: Bool

  /// Where a connection stands.
  public enum Phase: Sendable, Hashable {
    /// Not wanted, or ended.
    case off
    /// First tries.
    case connecting
    /// Data arrives as it happens.
    case live
    /// Lost, and tried again.
    case reconnecting
    /// Data is asked for from time to time.
    case polling
  }

  /// A state; by default that of a connection that was not opened yet.
  public init(phase: Phase = .off, retryAt: Date? = nil, needsSignIn: Bool = false) {
    (self.phase, self.retryAt, self.needsSignIn) = (phase, retryAt, needsSignIn)
  }
}

/// Turns the instants of a clock into dates that can be shown.
struct Dates {
  let clock: any LinkClock

  var now: Date { Date(clock.wall) }

  func date(of instant: Instant) -> Date {
    Date(clock.wall.advanced(by: clock.now.duration(to: instant)))
  }
}

extension Date {
  /// The date of a time stamp.
  public init(_ timestamp: Timestamp) {
    self.init(timeIntervalSince1970: Double(timestamp.nanoseconds) / 1e9)
  }
}

/// Results of numbered requests, on their way to the tasks that wait for them.
@MainActor final class Answers<Answer: Sendable> {
  private var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
  private var early: [UInt64: Answer] = [:]
  private var isOver = false

  /// Returns the result of a request, or `nil` if none comes any more. One task waits for each.
  func answer(to number: UInt64) async -> Answer? {
    if let known = early.removeValue(forKey: number) { return known }
    if isOver { return nil }
    return await withCheckedContinuation { waiting[number] = $0 }
  }

  /// Takes the result of a request.
  func give(_ answer: Answer, to number: UInt64) {
    if let task = waiting.removeValue(forKey: number) {
      task.resume(returning: answer)
    } else {
      early[number] = answer
    }
  }

  /// Ends all waiting.
  func end() {
    isOver = true
    let tasks = waiting.values
    waiting = [:]
    for task in tasks { task.resume(returning: nil) }
  }
}

/// Feeds a model on the main actor from one sequence of updates, from the first call of `follow` on
/// until the sequence ends, whatever screen looks on.
///
/// A screen that comes back finds a model that is whole, since no update passed it by.
@MainActor final class Feed {
  private var pump: Task<Void, Never>?
  private var lookers: [Int: AsyncStream<Never>.Continuation] = [:]
  private var last = 0
  private var isOver = false

  deinit { pump?.cancel() }

  /// Starts `run` unless it runs already.
  func start(_ run: @escaping @MainActor () async -> Void) {
    guard pump == nil else { return }
    pump = Task { [weak self] in
      await run()
      self?.end()
    }
  }

  /// Starts `run` unless it runs already, and returns when it ended or the task is cancelled.
  func follow(_ run: @escaping @MainActor () async -> Void) async {
    start(run)
    guard !isOver else { return }
    last += 1
    let number = last
    let (wait, continuation) = AsyncStream.makeStream(of: Never.self)
    lookers[number] = continuation
    for await _ in wait {}
    lookers[number] = nil
  }

  private func end() {
    isOver = true
    for looker in lookers.values { looker.finish() }
  }
}
