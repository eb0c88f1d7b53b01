import HoldfastPorts
import Synchronization

/// The bounded FIFO queue of a driver. Any task can use it.
///
/// At the limit, `post` waits for room in the order of the calls, which slows down a fast source.
/// `tryPost` is refused, and the refusal is counted. No input is dropped or merged: equal
/// consecutive inputs may have different effects on a machine, and a journal must replay each of
/// them.
package final class Inbox<Input: Sendable>: Sendable {
  private let state: Mutex<State>
  private let stopping = Atomic(false)

  /// Creates a queue.
  ///
  /// - Parameter limit: The maximum number of queued inputs; at least 1.
  package init(limit: Int) {
    precondition(limit >= 1, "an inbox holds at least one input")
    state = Mutex(State(limit: limit))
  }

  /// The counts so far.
  package var counters: InboxCounters { state.withLock(\.counters) }

  /// Queues an input as soon as there is room.
  ///
  /// - Returns: False if the input was not queued because the inbox is closed or the task was
  ///   cancelled while waiting.
  @discardableResult
  package func post(_ input: Input) async -> Bool { await post(contentsOf: [input]) }

  /// Queues inputs in order, each as soon as there is room.
  ///
  /// - Returns: False if not all were queued because the inbox is closed or the task was cancelled
  ///   while waiting.
  @discardableResult
  package func post(contentsOf inputs: [Input]) async -> Bool {
    if !Task.isCancelled, let wake = state.withLock({ $0.postAll(inputs[...]) }) {
      wake()
      return true
    }
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

  /// Removes and returns the oldest input. Only the driver calls this method.
  func take() -> Input? {
    var input: Input?
    let wake = state.withLock { $0.take(&input) }
    wake()
    return input
  }

  /// A turn of the driver, in which it takes inputs. It is isolated to the driver, so its task
  /// begins on the driver's thread.
  typealias Turn = @isolated(any) @Sendable () async -> Void

  /// Returns a turn that is isolated to the actor of the caller.
  static func turn(@_inheritActorContext _ body: @escaping Turn) -> Turn { body }

  /// Starts the first turn. Afterwards, news starts another turn whenever none is in progress.
  func open(_ turn: @escaping Turn) {
    let wake = state.withLock { $0.open(turn) }
    wake()
  }

  /// Ends a turn, unless there is news. Only a turn calls this method.
  ///
  /// - Returns: False if the turn goes on.
  func rest() -> Bool { state.withLock { $0.rest() } }

  /// Ends a turn and starts the next one, which runs after the other jobs of the thread.
  func continueLater() {
    let wake = state.withLock { $0.continueLater() }
    wake()
  }

  /// Starts a turn, or keeps the present one from ending.
  func nudge() {
    let wake = state.withLock { $0.nudge() }
    wake()
  }

  /// Requests the end of the driver, and starts a turn that ends it.
  func stop() {
    stopping.store(true, ordering: .releasing)
    nudge()
  }

  /// Whether the end of the driver was requested.
  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  /// Refuses further inputs, and the inputs that wait for room. Queued inputs can still be taken.
  func close() {
    let wake = state.withLock { $0.close() }
    wake()
  }
}

/// The counts of an inbox.
package struct InboxCounters: Sendable, Hashable, Codable {
  /// The number of inputs that were queued.
  package var accepted: UInt64 = 0
  /// The number of inputs that had to wait for room.
  package var delayed: UInt64 = 0
  /// The number of inputs that were not queued.
  package var refused: UInt64 = 0
  /// The maximum number of inputs that were queued at the same time.
  package var longest = 0

  package init() {}
}

extension Inbox {
  /// A function that must be called after the lock has been released.
  typealias Wake = () -> Void

  /// A call of `post` that waits for room.
  struct Waiting {
    let ticket: UInt64
    var inputs: ArraySlice<Input>
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// The queue. While calls wait for room, no input of another call is queued, so no call can
  /// overtake another.
  struct State {
    let limit: Int
    var counters = InboxCounters()
    private var arriving: [Input] = []
    /// The inputs to take next, with the oldest last. They are refilled from `arriving`, so that
    /// adding and taking are both fast.
    private var leaving: [Input] = []
    private var waiting: [Waiting] = []
    /// The driver's turn; `nil` before the driver runs and after it has ended.
    private var turn: Turn?
    /// Whether a turn is in progress.
    private var isInTurn = false
    private var isClosed = false
    /// Whether the present turn goes on even if no input is left.
    private var isNudged = false
    private var tickets: UInt64 = 0

    init(limit: Int) {
      self.limit = limit
    }

    private var count: Int { arriving.count + leaving.count }

    mutating func ticket() -> UInt64 {
      tickets += 1
      return tickets
    }

    mutating func post(_ poster: Waiting, unless cancelled: Bool) -> Wake {
      guard !isClosed, !cancelled else {
        counters.refused += UInt64(poster.inputs.count)
        return { poster.continuation.resume(returning: false) }
      }
      let fitting = poster.inputs.prefix(waiting.isEmpty ? limit - count : 0)
      let wake = append(fitting)
      guard fitting.count < poster.inputs.count else {
        return {
          poster.continuation.resume(returning: true)
          wake()
        }
      }
      var rest = poster
      rest.inputs.removeFirst(fitting.count)
      counters.delayed += UInt64(rest.inputs.count)
      waiting.append(rest)
      return wake
    }

    mutating func tryPost(_ input: Input) -> (Bool, Wake) {
      if let wake = postAll([input]) { return (true, wake) }
      counters.refused += 1
      return (false, {})
    }

    /// Queues inputs if there is room for all of them now. Otherwise it returns `nil`.
    mutating func postAll(_ inputs: ArraySlice<Input>) -> Wake? {
      guard !isClosed, waiting.isEmpty, count + inputs.count <= limit else { return nil }
      return append(inputs)
    }

    mutating func withdraw(_ ticket: UInt64) -> Wake {
      guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return {} }
      let poster = waiting.remove(at: index)
      counters.refused += UInt64(poster.inputs.count)
      return { poster.continuation.resume(returning: false) }
    }

    /// Removes the oldest input, and queues inputs of waiting calls once a quarter of the queue is
    /// free. Inputs that are queued one at a time cost more than everything else here.
    mutating func take(_ input: inout Input?) -> Wake {
      if leaving.isEmpty {
        // Swapping and reversing in place avoids copying the inputs.
        swap(&leaving, &arriving)
        leaving.reverse()
      }
      input = leaving.popLast()
      guard !waiting.isEmpty, limit - count >= max(limit / 4, 1) else { return {} }
      return refill()
    }

    private mutating func refill() -> Wake {
      var wakes: [Wake] = []
      while let poster = waiting.first, count < limit {
        let fitting = poster.inputs.prefix(limit - count)
        wakes.append(append(fitting))
        guard fitting.count == poster.inputs.count else {
          waiting[0].inputs.removeFirst(fitting.count)
          break
        }
        waiting.removeFirst()
        wakes.append { poster.continuation.resume(returning: true) }
      }
      return { [wakes] in for wake in wakes { wake() } }
    }

    mutating func open(_ turn: @escaping Turn) -> Wake {
      self.turn = turn
      return wakeReader()
    }

    mutating func rest() -> Bool {
      defer { isNudged = false }
      isInTurn = count > 0 || isNudged
      return !isInTurn
    }

    mutating func continueLater() -> Wake {
      isInTurn = false
      return wakeReader()
    }

    mutating func nudge() -> Wake {
      isNudged = isInTurn
      return wakeReader()
    }

    /// Starts a turn, unless one is in progress. Its task takes neither the priority nor the values
    /// of the task that brings the news.
    private mutating func wakeReader() -> Wake {
      guard !isInTurn, let turn else { return {} }
      isInTurn = true
      return { Task.detached(operation: turn) }
    }

    mutating func close() -> Wake {
      isClosed = true
      let refused = waiting
      waiting = []
      turn = nil
      counters.refused += refused.reduce(0) { $0 + UInt64($1.inputs.count) }
      return { for poster in refused { poster.continuation.resume(returning: false) } }
    }

    private mutating func append(_ inputs: ArraySlice<Input>) -> Wake {
      guard !inputs.isEmpty else { return {} }
      arriving += inputs
      counters.accepted += UInt64(inputs.count)
      counters.longest = max(counters.longest, count)
      return wakeReader()
    }
  }
}
