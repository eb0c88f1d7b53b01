import HoldfastCore
import HoldfastDriver
import Synchronization

/// A queue for the app's commands, which are then posted to the driver's inbox.
///
/// Sending a command never blocks, so an app that reads slowly can still send commands. The queue
/// holds the commands while the inbox is full. It has no limit, because commands come from a person
/// and none may be lost.
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

  /// Waits until the driver has received all earlier commands.
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
