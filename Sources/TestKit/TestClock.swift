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
  public func someoneWaits(for deadline: Instant) async {
    _ = await watch(for: deadline)
  }

  /// Waits until a task is waiting, then advances to the earliest awaited instant.
  ///
  /// - Returns: That instant, or `nil` if the calling task is cancelled first.
  @discardableResult
  public func advanceToNextDeadline() async -> Instant? {
    guard let next = await watch(for: nil) else { return nil }
    advance(to: next)
    return next
  }

  private func watch(for deadline: Instant?) async -> Instant? {
    let ticket = state.withLock { $0.ticket() }
    return await suspended { continuation in
      state.withLock {
        $0.watch(
          .init(ticket: ticket, deadline: deadline, continuation: continuation),
          unless: Task.isCancelled)
      }
    } onCancel: {
      state.withLock { $0.cancel(ticket) }
    }
  }
}

extension TestClock {
  fileprivate struct Sleeper {
    let ticket: UInt64
    let deadline: Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  fileprivate struct Watcher {
    let ticket: UInt64
    /// The deadline to watch for; `nil` for any deadline.
    let deadline: Instant?
    let continuation: CheckedContinuation<Instant?, Never>
  }

  fileprivate struct State {
    var now: Instant
    var origin: Timestamp
    var sleepers: [Sleeper] = []
    var watchers: [Watcher] = []
    var seen: Set<Instant> = []
    private var tickets: UInt64 = 0

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
      let woken = watchers.filter { ($0.deadline ?? deadline) == deadline }
      watchers.removeAll { ($0.deadline ?? deadline) == deadline }
      return { for watcher in woken { watcher.continuation.resume(returning: deadline) } }
    }

    mutating func watch(_ watcher: Watcher, unless cancelled: Bool) -> () -> Void {
      let known =
        if let deadline = watcher.deadline {
          seen.contains(deadline) ? deadline : nil
        } else {
          sleepers.map(\.deadline).min()
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

    mutating func advance(to instant: Instant) -> () -> Void {
      now = max(now, instant)
      let woken = sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
      sleepers.removeAll { $0.deadline <= now }
      return { for sleeper in woken { sleeper.continuation.resume(returning: true) } }
    }
  }
}
