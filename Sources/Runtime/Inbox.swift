import Synchronization

/// The one bounded line in front of a driver: first in, first out, from any task.
///
/// The rule at the bound: `post` waits for room, in the order of the calls, so a fast source is
/// slowed down; `tryPost` is refused and counted. Nothing is dropped and nothing is merged: equal
/// neighbours may mean different things to a machine, and a journal must replay each of them.
public final class Inbox<Input: Sendable>: Sendable {
  private let state: Mutex<State>

  /// - Parameter limit: How many inputs may stand in line; at least 1.
  public init(limit: Int) {
    precondition(limit >= 1, "an inbox holds at least one input")
    state = Mutex(State(limit: limit))
  }

  /// What came through so far.
  public var counters: InboxCounters { state.withLock(\.counters) }

  /// Puts an input in line, when there is room for it.
  ///
  /// - Returns: False when it was not taken: the inbox is closed, or the task was cancelled while
  ///   it waited.
  @discardableResult
  public func post(_ input: Input) async -> Bool { await post(contentsOf: [input]) }

  /// Puts inputs in line, one behind the other, as room comes for them.
  ///
  /// - Returns: False when not all were taken: the inbox is closed, or the task was cancelled while
  ///   the rest waited.
  @discardableResult
  public func post(contentsOf inputs: [Input]) async -> Bool {
    let ticket = state.withLock { $0.ticket() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let wake = state.withLock { state in
          // Cancelled before: the handler below has run already and found nothing to remove.
          let cancelled = Task.isCancelled
          return state.post(
            .init(ticket: ticket, inputs: inputs[...], continuation: continuation),
            unless: cancelled)
        }
        wake()
      }
    } onCancel: {
      let wake = state.withLock { $0.withdraw(ticket) }
      wake()
    }
  }

  /// Puts an input in line if there is room now.
  ///
  /// - Returns: False when the inbox is full or closed.
  public func tryPost(_ input: Input) -> Bool {
    let (taken, wake) = state.withLock { $0.tryPost(input) }
    wake()
    return taken
  }

  /// Takes the oldest input out of the line; only the driver calls this.
  func take() -> Input? {
    let (input, wake) = state.withLock { $0.take() }
    wake()
    return input
  }

  /// Returns when an input stands in line, the inbox is closed, or the task is cancelled.
  ///
  /// One caller at a time: the driver.
  func waitForInput() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let wake = state.withLock { state in
          let cancelled = Task.isCancelled
          return state.read(continuation, unless: cancelled)
        }
        wake()
      }
    } onCancel: {
      let wake = state.withLock { $0.wakeReader() }
      wake()
    }
  }

  /// Takes no more; what stands in line can still be taken, who waits for room is refused.
  func close() {
    let wake = state.withLock { $0.close() }
    wake()
  }
}

/// What came through an inbox so far.
public struct InboxCounters: Sendable, Hashable, Codable {
  /// Inputs that were put in line.
  public var accepted: UInt64 = 0
  /// Inputs that had to wait for room first.
  public var delayed: UInt64 = 0
  /// Inputs that were not taken.
  public var refused: UInt64 = 0
  /// The longest the line ever was.
  public var longest = 0

  public init() {}
}
