import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts

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
  private let moments = Moments()
  private var isOver = false

  deinit { pump?.cancel() }

  /// Starts `run` unless it is already running.
  func start(_ run: @escaping @MainActor () async -> Void) {
    guard pump == nil, !isOver else { return }
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
    await moments.wait { isOver }
  }

  /// Returns when `run` has ended, after the sequence of updates has. Ends all followers if `run` was
  /// never started.
  func finish() async {
    if let pump { await pump.value } else { end() }
  }

  private func end() {
    isOver = true
    moments.end()
  }
}
