import LinkCore
import LinkDriver
import Synchronization

/// A queue of the app's commands in front of the driver's inbox.
///
/// A command never waits, so an app that reads slowly can still act. While the inbox is full,
/// commands are queued here. The queue has no bound, because commands come from a person and none
/// may be lost.
final class CommandQueue<M: Journaled>: Sendable {
  private let driver: Driver<M>
  private let state = Mutex(State())

  private struct State {
    var waiting: [M.Input] = []
    /// The task that posts the queued commands; `nil` if there are none.
    var mover: Task<Void, Never>?
  }

  init(_ driver: Driver<M>) {
    self.driver = driver
  }

  /// Posts a command, or queues it.
  func put(_ input: M.Input) {
    let isFree = state.withLock { $0.mover == nil }
    if isFree, driver.tryPost(input) { return }
    state.withLock { state in
      state.waiting.append(input)
      if state.mover == nil { state.mover = Task { await self.move() } }
    }
  }

  /// Returns when the driver has received all earlier commands.
  func drained() async {
    while let mover = state.withLock(\.mover) { await mover.value }
  }

  private func move() async {
    while let input = next() { await driver.post(input) }
  }

  private func next() -> M.Input? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.mover = nil
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
