import LinkCore
import LinkRuntime
import Synchronization

/// Tasks beside the driver. Each posts the input that it returns; all are cancelled on stop.
///
/// The number of tasks has no bound of its own: each answers one effect, and the machine bounds
/// what it has under way.
final class Jobs<M: Journaled, Name: Hashable & Sendable>: Sendable {
  typealias Work = @Sendable () async -> M.Input?

  private enum Key: Hashable, Sendable {
    case name(Name)
    case number(UInt64)
  }

  private struct State {
    var tasks: [Key: Task<Void, Never>] = [:]
    var last: UInt64 = 0
  }

  private let inlet: Inlet<M>
  private let state = Mutex(State())

  init(_ inlet: Inlet<M>) {
    self.inlet = inlet
  }

  /// Starts work that can be cancelled by its name; a name is used once.
  func start(_ name: Name, _ work: @escaping Work) {
    state.withLock { $0.tasks[.name(name)] = task(.name(name), work) }
  }

  /// Starts work that runs until it is done or everything stops.
  func start(_ work: @escaping Work) {
    state.withLock { state in
      state.last += 1
      state.tasks[.number(state.last)] = task(.number(state.last), work)
    }
  }

  /// Starts work that posts one input if it succeeds, and another one if it throws.
  func start<Failure: Error>(
    _ work: @escaping @Sendable () async throws(Failure) -> M.Input,
    failing: @escaping @Sendable (Failure) -> M.Input
  ) {
    start { await Self.outcome(work, failing) }
  }

  /// Starts work with a name that posts one input if it succeeds, and another one if it throws.
  func start<Failure: Error>(
    _ name: Name, _ work: @escaping @Sendable () async throws(Failure) -> M.Input,
    failing: @escaping @Sendable (Failure) -> M.Input
  ) {
    start(name) { await Self.outcome(work, failing) }
  }

  /// Cancels work; nothing of it is posted.
  func cancel(_ name: Name) {
    state.withLock { $0.tasks.removeValue(forKey: .name(name)) }?.cancel()
  }

  /// Cancels all work under way.
  func stop() {
    let tasks = state.withLock { state in
      defer { state.tasks = [:] }
      return state.tasks.values
    }
    for task in tasks { task.cancel() }
  }

  private func task(_ key: Key, _ work: @escaping Work) -> Task<Void, Never> {
    Task { [inlet] in
      if let input = await work(), !Task.isCancelled { await inlet.post([input]) }
      self.state.withLock { $0.tasks[key] = nil }
    }
  }

  private static func outcome<Failure: Error>(
    _ work: @Sendable () async throws(Failure) -> M.Input, _ failing: (Failure) -> M.Input
  ) async -> M.Input {
    do throws(Failure) {
      return try await work()
    } catch {
      return failing(error)
    }
  }
}
