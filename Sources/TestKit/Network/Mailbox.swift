import HoldfastDriver
import Synchronization

/// A queue of values from the tested code to the test, in order. A reader waits for the next value.
///
///     let shown = Mailbox<String>()
///     let app = Task { for await case .text(let text) in socket { shown.put(text) } }
///     #expect(try await shown.next(within: .seconds(5)) == "rye")
///
/// The queue is unbounded, because a test is too short to fill the memory with unread values.
public final class Mailbox<Element: Sendable>: Sendable {
  private let state = Mutex(State())
  private let what: String
  private let hints: @Sendable () -> [String]

  /// Creates an empty mailbox.
  ///
  /// - Parameter what: A description of a value, for the text of a `WaitFailure`.
  public convenience init(of what: String = "the next value") {
    self.init(of: what) { [] }
  }

  init(of what: String, hints: @escaping @Sendable () -> [String]) {
    (self.what, self.hints) = (what, hints)
  }

  /// The number of unread values.
  public var count: Int { state.withLock(\.elements.count) }

  /// Adds a value. Returns false if the mailbox is closed.
  @discardableResult
  public func put(_ element: Element) -> Bool {
    let (taken, wake) = state.withLock { $0.put(element) }
    wake()
    return taken
  }

  /// Returns the next value, as soon as there is one.
  ///
  /// - Parameter limit: The maximum real time of the wait.
  /// - Throws: An error that states what the client waits for, if the limit is reached, the mailbox
  ///   is closed and empty, or the task is cancelled.
  public func next(
    within limit: Duration
  ) async throws(WaitFailure) -> Element {
    if let element = take() { return element }
    let element = await firstResult(within: limit, of: { await self.next() })
    if let element { return element }
    throw failure(Task.isCancelled ? .cancelled : isClosed ? .closed : .timeLimit(limit))
  }

  /// Whether no more values are accepted.
  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Returns the error of a wait that ended without a value.
  func failure(_ reason: WaitFailure.Reason) -> WaitFailure {
    WaitFailure(what, reason, hints: hints())
  }

  /// Removes and returns the oldest unread value; `nil` if there is none.
  func take() -> Element? {
    state.withLock { $0.elements.isEmpty ? nil : $0.elements.removeFirst() }
  }

  /// Returns the next value, or `nil` if the mailbox is closed and empty or if the task is
  /// cancelled.
  ///
  /// The wait has no limit; the suites of this package have one.
  package func next() async -> Element? {
    let ticket = state.withLock { $0.ticket() }
    return await suspended { continuation in
      state.withLock {
        $0.next(.init(ticket: ticket, continuation: continuation), unless: Task.isCancelled)
      }
    } onCancel: {
      state.withLock { $0.withdraw(ticket) }
    }
  }

  /// Returns the next `count` values, or fewer if the mailbox is closed.
  ///
  /// The wait has no limit; the suites of this package have one.
  package func next(_ count: Int) async -> [Element] {
    var elements: [Element] = []
    while elements.count < count, let element = await next() { elements.append(element) }
    return elements
  }

  /// Returns all unread values without waiting for more.
  public func takeAll() -> [Element] {
    state.withLock { state in
      defer { state.elements = [] }
      return state.elements
    }
  }

  /// Closes the mailbox. It then accepts no more values.
  public func close() {
    let wake = state.withLock { $0.close() }
    wake()
  }
}

extension Mailbox {
  fileprivate struct Waiter {
    let ticket: UInt64
    let continuation: CheckedContinuation<Element?, Never>
  }

  fileprivate struct State {
    var elements: [Element] = []
    private var waiters: [Waiter] = []
    private(set) var isClosed = false
    private var tickets: UInt64 = 0

    mutating func ticket() -> UInt64 {
      tickets += 1
      return tickets
    }

    mutating func put(_ element: Element) -> (Bool, () -> Void) {
      guard !isClosed else { return (false, {}) }
      guard !waiters.isEmpty else {
        elements.append(element)
        return (true, {})
      }
      let waiter = waiters.removeFirst()
      return (true, { waiter.continuation.resume(returning: element) })
    }

    mutating func next(_ waiter: Waiter, unless cancelled: Bool) -> () -> Void {
      guard elements.isEmpty, !isClosed, !cancelled else {
        let element = cancelled || elements.isEmpty ? nil : elements.removeFirst()
        return { waiter.continuation.resume(returning: element) }
      }
      waiters.append(waiter)
      return {}
    }

    mutating func withdraw(_ ticket: UInt64) -> () -> Void {
      guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return {} }
      let waiter = waiters.remove(at: index)
      return { waiter.continuation.resume(returning: nil) }
    }

    mutating func close() -> () -> Void {
      isClosed = true
      let left = waiters
      waiters = []
      return { for waiter in left { waiter.continuation.resume(returning: nil) } }
    }
  }
}
