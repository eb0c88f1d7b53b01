import LinkCore
import LinkWire

extension ShopServer {
  /// The input that begins a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { mode == .finished }

  /// Refuses new work from now on; what waits for the store may still end well.
  mutating func drain(within window: Duration) {
    guard
      mode.drain(
        within: window, at: now, grace: policy.drainGrace, limit: policy.drainLimit)
    else { return }
    for id in inPhase(\.isWaiting) {
      forget(id)
      refuse(id, .error(503, "draining", retryAfter: window))
    }
    let open = inPhase(\.isOpen)
    if !open.isEmpty { effects.append(.send(.draining(within: window), to: open)) }
  }

  mutating func advanceDrain() {
    if let window = mode.leave(at: now) {
      for id in inPhase(\.isOpen) { close(id, .draining(within: window)) }
    }
    guard mode.givesUp(at: now) else { return }
    let late = Answer.error(503, "the server stopped", retryAfter: policy.busyRetry)
    for id in requests.keys.sorted() { answer(id, late) }
    for id in connections.keys.sorted() { drop(id) }
    questions = [:]
  }

  /// Ends the drain once there are no connections, no requests and no questions to the store.
  mutating func finishIfEmpty() {
    guard connections.isEmpty, requests.isEmpty, questions.isEmpty, mode.finish() else { return }
    effects.append(.finished)
  }

  private func inPhase(_ matches: KeyPath<ShopSocket, Bool>) -> [ConnectionID] {
    connections.filter { $0.value[keyPath: matches] }.keys.sorted()
  }
}
