public import HoldfastCore
import HoldfastDriver
public import HoldfastPorts
import Synchronization

/// A clock that advances only when the test advances it.
public final class TestClock: LinkClock {
  private let state: Mutex<State>

  /// Creates a clock.
  ///
  /// - Parameter wall: The time of the wall clock when `now` is zero.
  public init(now: Instant = .zero, wall: Timestamp = Timestamp(nanoseconds: 0)) {
    state = Mutex(State(now: now, origin: wall))
  }

  public var now: Instant { state.withLock(\.now) }

  public var wall: Timestamp {
    state.withLock { $0.origin.advanced(by: Instant.zero.duration(to: $0.now)) }
  }

  /// The instants for which tasks are waiting, earliest first.
  public var deadlines: [Instant] { state.withLock { $0.sleepers.map(\.deadline).sorted() } }

  public func wait(until deadline: Instant) async throws(CancellationError) {
    let ticket = state.withLock { $0.ticket() }
    let isOver = await suspended { continuation in
      state.withLock {
        $0.wait(
          .init(ticket: ticket, deadline: deadline, continuation: continuation),
          unless: Task.isCancelled)
      }
    } onCancel: {
      state.withLock { $0.cancel(ticket) }
    }
    guard isOver else { throw CancellationError() }
  }

  /// Advances the clock and resumes the tasks that are due, earliest first.
  ///
  /// The method does not wait for those tasks to run.
  public func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// Advances the clock to an instant. An instant before `now` has no effect.
  public func advance(to instant: Instant) {
    let wake = state.withLock { $0.advance(to: instant) }
    wake()
  }

  /// Sets the wall clock, as a user or the network may do.
  public func setWall(_ wall: Timestamp) {
    state.withLock { $0.origin = wall.advanced(by: $0.now.duration(to: .zero)) }
  }

  /// Returns once a task is waiting, or has waited, for exactly `deadline`.
  ///
  /// - Parameter limit: The maximum real time of the wait.
  public func someoneWaits(
    for deadline: Instant, within limit: Duration
  ) async throws(WaitFailure) {
    let found = await firstResult(within: limit, of: { await self.watch(for: .one(deadline)) })
    guard found == nil else { return }
    let rest = now.duration(to: deadline).inSeconds
    throw failure("a task that waits until \(rest) from now", limit)
  }

  /// Waits until a task is waiting, then advances to the earliest awaited instant.
  ///
  /// The method does not wait for the tasks that it resumes. To advance until a client opens a
  /// socket, use `FakeNetwork.nextSocket(advancing:within:)`.
  ///
  /// - Parameter limit: The maximum real time of the wait for a waiting task.
  /// - Returns: The instant to which the clock was advanced.
  @discardableResult
  public func advanceToNextDeadline(
    within limit: Duration
  ) async throws(WaitFailure) -> Instant {
    let next = await firstResult(within: limit, of: { await self.watch(for: .any) })
    guard let next else { throw failure("a task that waits for the test clock", limit) }
    advance(to: next)
    return next
  }

  /// Returns once a task is waiting, or has waited, for exactly `deadline`. The wait has no limit;
  /// the suites of this package have one.
  package func someoneWaits(for deadline: Instant) async {
    _ = await watch(for: .one(deadline))
  }

  /// Waits without a limit until a task is waiting, then advances to the earliest awaited instant.
  ///
  /// - Returns: That instant, or `nil` if the calling task is cancelled first.
  @discardableResult
  package func advanceToNextDeadline() async -> Instant? {
    guard let next = await watch(for: .any) else { return nil }
    advance(to: next)
    return next
  }

  private func failure(_ awaited: String, _ limit: Duration) -> WaitFailure {
    WaitFailure(awaited, Task.isCancelled ? .cancelled : .timeLimit(limit), hints: [hint])
  }

  private func watch(for wanted: Wanted) async -> Instant? {
    let ticket = state.withLock { $0.ticket() }
    return await suspended { continuation in
      state.withLock {
        $0.watch(
          .init(ticket: ticket, wanted: wanted, continuation: continuation),
          unless: Task.isCancelled)
      }
    } onCancel: {
      state.withLock { $0.cancel(ticket) }
    }
  }
}

/// The operations with which a fake network advances the clock until a client acts.
extension TestClock {
  /// The number of the newest wait. Later waits have greater numbers.
  var lastTicket: UInt64 { state.withLock(\.tickets) }

  /// Returns once a task is waiting whose wait has a number greater than `ticket`.
  func someoneWaits(since ticket: UInt64) async { _ = await watch(for: .since(ticket)) }

  /// Advances the clock, and returns the number of the newest wait before that.
  func advanceFromLastTicket(to instant: Instant) -> UInt64 {
    let (ticket, wake) = state.withLock { $0.advanceFromLastTicket(to: instant) }
    wake()
    return ticket
  }

  /// The sentence in a `WaitFailure` that states what the client waits for.
  var hint: String {
    guard let next = deadlines.first else { return "Nothing waits for the test clock." }
    let rest = now.duration(to: next).inSeconds
    return "The client waits until \(rest) from now: advance the clock, or use "
      + "nextSocket(advancing:)."
  }
}

extension TestClock {
  fileprivate struct Sleeper {
    let ticket: UInt64
    let deadline: Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// The waits that a watcher watches for.
  fileprivate enum Wanted: Sendable {
    /// Any wait.
    case any
    /// A wait for exactly this instant, even if it is over.
    case one(Instant)
    /// A wait with a greater number.
    case since(UInt64)

    func accepts(_ sleeper: Sleeper) -> Bool {
      switch self {
      case .any: true
      case .one(let deadline): sleeper.deadline == deadline
      case .since(let ticket): sleeper.ticket > ticket
      }
    }
  }

  fileprivate struct Watcher {
    let ticket: UInt64
    let wanted: Wanted
    let continuation: CheckedContinuation<Instant?, Never>
  }

  fileprivate struct State {
    var now: Instant
    var origin: Timestamp
    var sleepers: [Sleeper] = []
    var watchers: [Watcher] = []
    var seen: Set<Instant> = []
    private(set) var tickets: UInt64 = 0

    init(now: Instant, origin: Timestamp) {
      self.now = now
      self.origin = origin
    }

    mutating func ticket() -> UInt64 {
      tickets += 1
      return tickets
    }

    mutating func wait(_ sleeper: Sleeper, unless cancelled: Bool) -> () -> Void {
      guard !cancelled, now < sleeper.deadline else {
        return { sleeper.continuation.resume(returning: !cancelled) }
      }
      sleepers.append(sleeper)
      seen.insert(sleeper.deadline)
      let deadline = sleeper.deadline
      let woken = watchers.takeAll { $0.wanted.accepts(sleeper) }
      return { for watcher in woken { watcher.continuation.resume(returning: deadline) } }
    }

    mutating func watch(_ watcher: Watcher, unless cancelled: Bool) -> () -> Void {
      let known: Instant? =
        switch watcher.wanted {
        case .one(let deadline): seen.contains(deadline) ? deadline : nil
        case .any, .since: sleepers.filter(watcher.wanted.accepts).map(\.deadline).min()
        }
      guard known == nil, !cancelled else {
        return { watcher.continuation.resume(returning: cancelled ? nil : known) }
      }
      watchers.append(watcher)
      return {}
    }

    mutating func cancel(_ ticket: UInt64) -> () -> Void {
      if let index = sleepers.firstIndex(where: { $0.ticket == ticket }) {
        let sleeper = sleepers.remove(at: index)
        return { sleeper.continuation.resume(returning: false) }
      }
      guard let index = watchers.firstIndex(where: { $0.ticket == ticket }) else { return {} }
      let watcher = watchers.remove(at: index)
      return { watcher.continuation.resume(returning: nil) }
    }

    mutating func advanceFromLastTicket(to instant: Instant) -> (UInt64, () -> Void) {
      (tickets, advance(to: instant))
    }

    mutating func advance(to instant: Instant) -> () -> Void {
      now = max(now, instant)
      let woken = sleepers.takeAll { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
      return { for sleeper in woken { sleeper.continuation.resume(returning: true) } }
    }
  }
}
