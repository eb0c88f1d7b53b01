import HoldfastCore
import HoldfastDriver
package import HoldfastPorts
import Synchronization

/// The callers that wait for the outcomes of commands. Each command has a key.
///
/// A caller registers the key, gives the command and then waits. The effect handler resolves the
/// key. An outcome that arrives before the wait is kept, so that no outcome is missed.
package final class OutcomeWaiters<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
  fileprivate enum Entry {
    case registered
    case waiting(CheckedContinuation<Outcome?, Never>)
    case resolved(Outcome)
  }

  fileprivate struct State {
    var entries: [Key: Entry] = [:]
    /// The outcome of all commands while none can succeed.
    var end: Outcome?
    var isOver = false
  }

  private let state = Mutex(State())

  package init() {}

  /// Registers a command. Its outcome is kept until a caller waits for it.
  package func register(_ key: Key) {
    state.withLock { state in state.entries[key] = state.end.map(Entry.resolved) ?? .registered }
  }

  /// Returns whether a caller waits, or is about to wait, for a command.
  package func isRegistered(_ key: Key) -> Bool { state.withLock { $0.entries[key] != nil } }

  /// Returns the outcome of a command; `late` if the time limit passes first, and `nil` if the task
  /// is cancelled first.
  ///
  /// Only one caller may wait for a key. Afterwards, the key is no longer registered.
  package func wait(
    for key: Key, within limit: Duration?, on clock: any LinkClock, late: Outcome
  ) async -> Outcome? {
    let end = limit.map { clock.now.advanced(by: $0) }
    let timer = end.map { end in
      Task { [weak self] in
        guard (try? await clock.wait(until: end)) != nil else { return }
        self?.resolve(key, late)
      }
    }
    defer { timer?.cancel() }
    return await wait(for: key)
  }

  /// Returns the outcome of a command without a time limit; `nil` if the task is cancelled first.
  package func wait(for key: Key) async -> Outcome? {
    await suspended { continuation in
      // The cancellation state is read under the lock. An earlier cancellation is detected here,
      // and a later one finds the waiting caller.
      let answer = state.withLock { $0.take(key, for: continuation, unless: Task.isCancelled) }
      return { if let answer { continuation.resume(returning: answer.outcome) } }
    } onCancel: {
      let caller = state.withLock { $0.cancel(key) }
      return { caller?.resume(returning: nil) }
    }
  }

  /// Ends the wait for a command. A key that is not registered is ignored.
  package func resolve(_ key: Key, _ outcome: Outcome) {
    let caller = state.withLock { $0.resolve(key, outcome) }
    caller?.resume(returning: outcome)
  }

  /// Ends the waits for all commands with `end`, or allows waits again if it is `nil`.
  package func change(end: Outcome?) {
    if let end { endAll(end) } else { reopen() }
  }

  /// Ends the waits for all commands, including later ones until waits are allowed again.
  ///
  /// - Parameter isOver: Whether later calls of this method and of `change(end:)` have no effect.
  package func endAll(_ outcome: Outcome, isOver: Bool = false) {
    let callers: [CheckedContinuation<Outcome?, Never>] = state.withLock { state in
      guard !state.isOver else { return [] }
      (state.end, state.isOver) = (outcome, isOver)
      let keys = Array(state.entries.keys)
      return keys.compactMap { state.resolve($0, outcome) }
    }
    for caller in callers { caller.resume(returning: outcome) }
  }

  /// Allows waits again after `endAll`.
  package func reopen() {
    state.withLock { state in
      if !state.isOver { state.end = nil }
    }
  }
}

extension OutcomeWaiters.State {
  /// Returns the outcome if it is known, or `nil` if the caller waits from now on.
  fileprivate mutating func take(
    _ key: Key, for caller: CheckedContinuation<Outcome?, Never>, unless isCancelled: Bool
  ) -> (outcome: Outcome?, Void)? {
    if case .resolved(let outcome) = entries[key] {
      entries[key] = nil
      return (outcome, ())
    }
    if isCancelled || end != nil {
      entries[key] = nil
      return (isCancelled ? nil : end, ())
    }
    entries[key] = .waiting(caller)
    return nil
  }

  /// Removes a caller, unless the outcome is known.
  fileprivate mutating func cancel(_ key: Key) -> CheckedContinuation<Outcome?, Never>? {
    switch entries[key] {
    case .waiting(let caller):
      entries[key] = nil
      return caller
    case .registered, .resolved, nil: return nil
    }
  }

  /// Stores an outcome for a registered key, or returns the caller that waits for it.
  fileprivate mutating func resolve(
    _ key: Key, _ outcome: Outcome
  ) -> CheckedContinuation<Outcome?, Never>? {
    switch entries[key] {
    case .waiting(let caller):
      entries[key] = nil
      return caller
    case .registered:
      entries[key] = .resolved(outcome)
      return nil
    case .resolved, nil: return nil
    }
  }
}
