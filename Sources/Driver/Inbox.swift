import Synchronization

/// The bounded queue in front of a driver: first in, first out, from any task.
///
/// At the bound `post` waits for room, in the order of the calls, which slows a fast source down;
/// `tryPost` is refused and counted. Nothing is dropped or merged: equal neighbours may mean
/// different things to a machine, and a journal must replay each of them.
package final class Inbox<Input: Sendable>: Sendable {
  private let state: Mutex<State>

  /// - Parameter limit: The number of inputs that may be queued; at least 1.
  package init(limit: Int) {
    precondition(limit >= 1, "an inbox holds at least one input")
    state = Mutex(State(limit: limit))
  }

  /// The counts so far.
  package var counters: InboxCounters { state.withLock(\.counters) }

  /// Queues an input when there is room for it.
  ///
  /// - Returns: False if it was not taken: the inbox is closed, or the task was cancelled while
  ///   it waited.
  @discardableResult
  package func post(_ input: Input) async -> Bool { await post(contentsOf: [input]) }

  /// Queues inputs in order, each when there is room for it.
  ///
  /// - Returns: False if not all were taken: the inbox is closed, or the task was cancelled while
  ///   the rest waited.
  @discardableResult
  package func post(contentsOf inputs: [Input]) async -> Bool {
    let ticket = state.withLock { $0.ticket() }
    return await suspended { continuation in
      state.withLock {
        $0.post(
          .init(ticket: ticket, inputs: inputs[...], continuation: continuation),
          unless: Task.isCancelled)
      }
    } onCancel: {
      state.withLock { $0.withdraw(ticket) }
    }
  }

  /// Queues an input if there is room now.
  ///
  /// - Returns: False if the inbox is full or closed.
  package func tryPost(_ input: Input) -> Bool {
    let (taken, wake) = state.withLock { $0.tryPost(input) }
    wake()
    return taken
  }

  /// Removes and returns the oldest input; only the driver calls this.
  func take() -> Input? {
    let (input, wake) = state.withLock { $0.take() }
    wake()
    return input
  }

  /// Returns when an input is queued, the inbox is closed, or the task is cancelled.
  ///
  /// One caller at a time: the driver.
  func waitForInput() async {
    await suspended { continuation in
      state.withLock { $0.read(continuation, unless: Task.isCancelled) }
    } onCancel: {
      state.withLock { $0.wakeReader() }
    }
  }

  /// Refuses further inputs and those that wait for room; queued ones can still be taken.
  func close() {
    let wake = state.withLock { $0.close() }
    wake()
  }
}

/// The counts of an inbox.
package struct InboxCounters: Sendable, Hashable, Codable {
  /// Inputs that were queued.
  package var accepted: UInt64 = 0
  /// Inputs that had to wait for room first.
  package var delayed: UInt64 = 0
  /// Inputs that were not taken.
  package var refused: UInt64 = 0
  /// The most inputs that were queued at once.
  package var longest = 0

  package init() {}
}
