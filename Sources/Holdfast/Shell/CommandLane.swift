import LinkCore
import LinkRuntime
import Synchronization

/// Brings the app's commands to the driver in the order in which they were given.
///
/// A command never waits: an app that reads slowly must still be able to act. While the driver's
/// inbox is full the commands stand in line here. The line has no bound: a person gives commands,
/// and none may be lost.
final class CommandLane<M: Machine>: Sendable {
  private let driver: Driver<M>
  private let state = Mutex(State())

  private struct State {
    var waiting: [M.Input] = []
    /// Moves the line up; there while anything waits.
    var mover: Task<Void, Never>?
  }

  init(_ driver: Driver<M>) {
    self.driver = driver
  }

  func put(_ input: M.Input) {
    let isFree = state.withLock { $0.mover == nil }
    if isFree, driver.tryPost(input) { return }
    state.withLock { state in
      state.waiting.append(input)
      if state.mover == nil { state.mover = Task { await self.move() } }
    }
  }

  /// Returns when the driver has taken all that was put before.
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
