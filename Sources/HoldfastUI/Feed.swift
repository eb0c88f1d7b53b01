/// Feeds a model on the main actor from one sequence of updates, from the first call of `follow` on
/// until the sequence ends, whatever screen looks on.
///
/// A screen that comes back finds a model that is whole, since no update passed it by.
@MainActor final class Feed {
  private var pump: Task<Void, Never>?
  private var lookers: [Int: AsyncStream<Never>.Continuation] = [:]
  private var last = 0
  private var isOver = false

  deinit { pump?.cancel() }

  /// Starts `run` unless it runs already.
  func start(_ run: @escaping @MainActor () async -> Void) {
    guard pump == nil else { return }
    pump = Task { [weak self] in
      await run()
      self?.end()
    }
  }

  /// Starts `run` unless it runs already, and returns when it ended or the task is cancelled.
  func follow(_ run: @escaping @MainActor () async -> Void) async {
    start(run)
    guard !isOver else { return }
    last += 1
    let number = last
    let (wait, continuation) = AsyncStream.makeStream(of: Never.self)
    lookers[number] = continuation
    for await _ in wait {}
    lookers[number] = nil
  }

  private func end() {
    isOver = true
    for looker in lookers.values { looker.finish() }
  }
}
