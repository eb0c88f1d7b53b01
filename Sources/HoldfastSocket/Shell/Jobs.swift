package import HoldfastCore
package import HoldfastPorts
import Synchronization

/// A set of tasks that run outside the driver and post the inputs that they return.
///
/// The set has no limit of its own. Each task handles one effect, and the machine limits the number
/// of effects in progress.
package final class EffectTasks<M: Journaled, Name: Hashable & Sendable>: Sendable {
  package typealias Work = @Sendable () async -> M.Input?

  fileprivate struct State {
    var tasks: [UInt64: Task<Void, Never>] = [:]
    var names: [Name: UInt64] = [:]
    var last: UInt64 = 0
    var isStopped = false
  }

  private let sink: InputSink<M>
  private let state = Mutex(State())

  /// Creates a set without tasks.
  package init(_ sink: InputSink<M>) {
    self.sink = sink
  }

  /// Starts work, unless the set is stopped.
  ///
  /// Named work can be cancelled by its name. It cancels and replaces earlier work of the same
  /// name.
  ///
  /// - Parameter thread: The thread of the caller, if the work begins on it, where it must not
  ///   compute for long; `nil` for the shared threads.
  package func start(
    _ name: Name? = nil, on thread: EventThread? = nil, _ work: @escaping Work
  ) {
    state.withLock { state in
      guard !state.isStopped else { return }
      if let name { state.cancel(name) }
      state.last += 1
      let id = state.last
      if let name { state.names[name] = id }
      let run: @Sendable () async -> Void = {
        let input = await work()
        // Cancelled work has already been removed, so its result is not posted.
        guard self.state.withLock({ $0.forget(id, name) }) != nil, let input else { return }
        await self.sink.post([input])
      }
      state.tasks[id] = thread?.start(run) ?? Task { await run() }
    }
  }

  /// Starts work that posts its result, or the input that `failing` returns for its error.
  package func start<Failure: Error>(
    _ name: Name? = nil, on thread: EventThread? = nil,
    _ work: @escaping @Sendable () async throws(Failure) -> M.Input,
    failing: @escaping @Sendable (Failure) -> M.Input
  ) {
    start(name, on: thread) {
      do throws(Failure) {
        return try await work()
      } catch {
        return failing(error)
      }
    }
  }

  /// Renews the token. The vault reports the result to the machine.
  package func renew(_ vault: TokenVault) {
    start {
      await vault.renew()
      return nil
    }
  }

  /// Cancels the work with a name. Its result is not posted.
  package func cancel(_ name: Name) {
    state.withLock { $0.cancel(name) }
  }

  /// Cancels all work in progress, and starts no more work.
  package func stop() {
    state.withLock { state in
      state.isStopped = true
      for task in state.tasks.values { task.cancel() }
      (state.tasks, state.names) = ([:], [:])
    }
  }
}

extension EffectTasks.State {
  fileprivate mutating func forget(_ id: UInt64, _ name: Name?) -> Task<Void, Never>? {
    if let name, names[name] == id { names[name] = nil }
    return tasks.removeValue(forKey: id)
  }

  fileprivate mutating func cancel(_ name: Name) {
    names[name].flatMap { forget($0, name) }?.cancel()
  }
}
